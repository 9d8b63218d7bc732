"""One compile for each key: threads, processes, holders that die or fail, locks that do not work."""

from __future__ import annotations

import errno
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import filelock
import pytest
from cache_entries import entry_of, folder_of, key_of, reopen
from cache_processes import Worker, run_together
from waiting import HANG_SECONDS, on_turn, wait_until

from hatch_cuda_kernels.cache import DiskCache, publishing
from hatch_cuda_kernels.cache.files import open_folder
from hatch_cuda_kernels.cache.publishing import Once
from hatch_cuda_kernels.errors import CompileError

ERROR = ["m", "sm_90", "it failed", "line 1\nline 2", ["-O3"], ["k<int>"]]


@pytest.fixture
def path(tmp_path):
    """Return a cache folder that does not exist yet."""
    return tmp_path / "cache"


@pytest.fixture
def log(tmp_path):
    """Return a file that compiles are noted in."""
    file = tmp_path / "log"
    file.touch()
    return file


@pytest.fixture
def waiting(tmp_path):
    """Return a file that askers add a line to when they are about to wait for their turn."""
    file = tmp_path / "waiting"
    file.touch()
    return file


def wait_for_lines(file, count=1):
    """Wait until a file has so many lines."""
    wait_until(lambda: len(file.read_text().splitlines()) >= count)


@pytest.fixture
def hung(path, log):
    """Return a process that compiles, and will not end by itself."""
    holder = Worker("make", path=path, numbers=[0], log=log, seconds=2 * HANG_SECONDS).wait_ready().go()
    wait_for_lines(log)
    yield holder
    holder.kill()


@pytest.mark.slow
def test_of_many_processes_one_compiles(path, log, waiting):
    """Eight processes ask for one key at once: one makes it, and all have its bytes."""
    asking = {"path": path, "numbers": [0], "log": log, "waiting": waiting, "processes": 8}
    workers = [Worker("make", **asking) for _ in range(8)]
    made = run_together(*workers)
    assert log.read_text() == "0\n"
    assert sorted(answer["0"] for answer in made) == [False] * 7 + [True]


@pytest.mark.slow
def test_of_many_keys_each_is_compiled_once(path, log):
    """Six processes of two threads ask for the same ten keys in different orders: ten compiles."""
    orders = [[(start + step) % 10 for step in range(10)] for start in (0, 0, 3, 3, 7, 7)]
    run_together(*(Worker("make", path=path, numbers=order, log=log, seconds=0.02, threads=2) for order in orders))
    assert sorted(map(int, log.read_text().split())) == list(range(10))


@pytest.mark.parametrize("place", ["on disk", "in memory"])
def test_of_many_threads_one_compiles(path, place):
    """Eight threads ask at once, of one cache or of one that has no folder: one makes the image."""
    cache, made, asking = reopen(path if place == "on disk" else None), [], []

    def make():
        made.append(wait_until(lambda: len(asking) == 8))
        return entry_of(0)

    def ask():
        return cache.get_or_make(key_of(0), make)

    with on_turn(lambda: asking.append(None)), ThreadPoolExecutor(8) as pool:
        answers = [answer.result() for answer in [pool.submit(ask) for _ in range(8)]]
    assert len(made) == 1
    assert all(entry == entry_of(0) for entry, _ in answers)
    assert sorted(here for _, here in answers) == [False] * 7 + [True]


def test_a_holder_that_is_interrupted_releases_the_others(path):
    """Ctrl-C in the one that compiles is its own: one of those waiting compiles, and nothing is left half written."""
    cache, asking = reopen(path), []

    def interrupted():
        wait_until(lambda: asking)
        raise KeyboardInterrupt

    def ask():
        return reopen(path).get_or_make(key_of(0), lambda: entry_of(0))

    with on_turn(lambda: asking.append(None)), ThreadPoolExecutor(1) as pool:

        def begin():
            asking.clear()
            other.append(pool.submit(ask))
            interrupted()

        other = []
        with pytest.raises(KeyboardInterrupt):
            cache.get_or_make(key_of(0), begin)
        assert other[0].result() == (entry_of(0), True)
    assert cache.get_or_make(key_of(0), interrupted) == (entry_of(0), False)
    assert [stored.key for stored in cache._user.stored()] == [key_of(0)]


@pytest.mark.slow
def test_a_holder_that_is_killed_releases_the_others(path, log, waiting, hung):
    """The process that compiles is killed: one of those waiting compiles, the other uses that."""
    asking = {"path": path, "numbers": [0], "log": log, "waiting": waiting}
    workers = [Worker("make", **asking).wait_ready().go() for _ in range(2)]
    wait_for_lines(waiting, 2)
    assert log.read_text() == "0\n"
    hung.kill()
    assert sorted(worker.result()["0"] for worker in workers) == [False, True]
    assert log.read_text() == "0\n0\n"


@pytest.mark.slow
def test_a_failed_compile_fails_those_that_waited_for_it(path, log, waiting):
    """Four processes wait for a compile that fails: all raise its error, log and all, and it ran once."""
    asking = {"path": path, "log": log, "waiting": waiting, "processes": 4}
    assert run_together(*(Worker("fail", **asking) for _ in range(4))) == [ERROR] * 4
    assert log.read_text() == "tried\n"


@pytest.mark.slow
def test_a_later_process_tries_again(path, log):
    """A failure is not kept for who asks later, however the clocks stand."""
    assert run_together(Worker("fail", path=path, log=log)) == [ERROR]
    assert run_together(Worker("make", path=path, numbers=[0], log=log)) == [{"0": True}]


@pytest.mark.parametrize("place", ["on disk", "in memory"])
def test_a_failed_compile_fails_the_threads_that_waited(path, place):
    """Threads that wait for a compile that fails raise its error, each its own, and the next one tries again."""
    cache, tried, asking = reopen(path if place == "on disk" else None), [], []

    def fail():
        tried.append(wait_until(lambda: len(asking) == 4))
        raise CompileError("m", "sm_90", "it failed", log="line 1")

    def ask():
        with pytest.raises(CompileError, match="line 1") as caught:
            cache.get_or_make(key_of(0), fail)
        return caught.value

    with on_turn(lambda: asking.append(None)), ThreadPoolExecutor(4) as pool:
        errors = [answer.result() for answer in [pool.submit(ask) for _ in range(4)]]
    assert len(tried) == 1
    assert len(set(map(id, errors))) == 4
    assert cache.get_or_make(key_of(0), lambda: entry_of(0)) == (entry_of(0), True)


def test_other_errors_stay_where_they_happen(path):
    """What is no CompileError is raised here and does not bind anybody else."""
    cache = reopen(path)
    with pytest.raises(ZeroDivisionError):
        cache.get_or_make(key_of(0), lambda: 1 // 0)
    assert cache.get_or_make(key_of(0), lambda: entry_of(0)) == (entry_of(0), True)


def test_who_waits_too_long_compiles_alone(path, hung):
    """A compile that hangs holds the others up for the timeout and no longer."""
    start = time.monotonic()
    assert reopen(path, lock_seconds=0.3).get_or_make(key_of(0), lambda: entry_of(0)) == (entry_of(0), True)
    assert time.monotonic() - start >= 0.3
    assert hung.process.poll() is None


def test_who_just_missed_an_image_does_not_wait_for_another_compile(path, hung, monkeypatch):
    """An image that is put after the first look is no damage, whoever holds the lock that its key shares."""
    cache, look = reopen(path), DiskCache.get
    puts = [lambda: reopen(path).put(entry_of(0))]

    def look_too_early(cache, key):
        found = look(cache, key)
        while puts:
            puts.pop()()
        return found

    monkeypatch.setattr(DiskCache, "get", look_too_early)
    start = time.monotonic()
    assert cache.get_or_make(key_of(0), lambda: pytest.fail("compiled")) == (entry_of(0), False)
    assert time.monotonic() - start < HANG_SECONDS / 2
    assert hung.process.poll() is None


@pytest.mark.slow
def test_of_those_who_wait_too_long_one_compiles(path, log, hung):
    """Six processes and threads wait for a compile that hangs: after the timeout one compiles, for all of them."""
    asking = {"path": path, "numbers": [0], "log": log, "lock_seconds": 0.5, "seconds": 0.3}
    workers = [Worker("make", threads=2, **asking) for _ in range(3)]
    assert sorted(answer["0"] for answer in run_together(*workers)) == [False, False, True]
    assert log.read_text() == "0\n0\n"
    assert hung.process.poll() is None


def test_threads_wait_no_longer_than_the_timeout_either(path):
    """A thread that hangs in a compile holds another thread up for the timeout and no longer."""
    cache, begun, done = reopen(path, lock_seconds=0.2), threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(cache.get_or_make, key_of(0), lambda: begun.set() or (done.wait() and entry_of(0)))
        begun.wait()
        assert cache.get_or_make(key_of(0), lambda: entry_of(0)) == (entry_of(0), True)
        done.set()
        assert hanging.result()[0] == entry_of(0)


def test_who_waits_takes_the_image_as_soon_as_it_is_there(path, hung):
    """An image that arrives by another way (an import, say) ends the wait for a compile that hangs."""
    asking = threading.Event()
    with on_turn(asking.set), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(reopen(path).get_or_make, key_of(0), lambda: pytest.fail("compiled"))
        asking.wait()
        reopen(path).put(entry_of(0))
        assert waiting.result() == (entry_of(0), False)
    assert hung.process.poll() is None


BROKEN_LOCKS = {
    "not supported": OSError(errno.ENOSYS, "flock"),
    "no locks on this NFS": OSError(errno.ENOLCK, "flock"),
    "stale handle": OSError(errno.ESTALE, "flock"),
    "not implemented": NotImplementedError("no flock"),
    "held by this thread": RuntimeError("Deadlock"),
}


CASES = [(of, name) for of in ("system", "filelock") for name in list(BROKEN_LOCKS)[: 3 if of == "system" else 5]]


@pytest.mark.parametrize(("locks_of", "trouble"), CASES)
def test_without_locks_all_goes_on(path, monkeypatch, locks_of, trouble):
    """Where locking fails, an image is made and kept all the same."""
    asked = []

    def fail(*_, **__):
        asked.append(None)
        raise BROKEN_LOCKS[trouble]

    if locks_of == "filelock":
        monkeypatch.setattr(publishing, "fcntl", None)
        monkeypatch.setattr(filelock.FileLock, "acquire", fail)
    else:
        monkeypatch.setattr(publishing.fcntl, "flock", fail)
    assert reopen(path).get_or_make(key_of(0), lambda: entry_of(0)) == (entry_of(0), True)
    assert reopen(path).get(key_of(0)) == entry_of(0)
    assert asked


@pytest.mark.parametrize("locks_of", ["system", "filelock"])
def test_a_lock_that_cannot_be_released_loses_nothing(path, monkeypatch, locks_of):
    """An error from the unlock, as some network file systems give, does not reach who asked for an image."""
    flock, release, failed = publishing.fcntl.flock, filelock.FileLock.release, []

    def fail(self, *arguments, **settings):
        release(self, *arguments, **settings)
        raise OSError(errno.EIO, failed.append("flock"))

    def fail_to_unlock(descriptor, operation):
        flock(descriptor, operation)
        if operation == publishing.fcntl.LOCK_UN:
            raise OSError(errno.EIO, failed.append("flock"))

    if locks_of == "filelock":
        monkeypatch.setattr(filelock.FileLock, "release", fail)
        monkeypatch.setattr(publishing, "fcntl", None)
    else:
        monkeypatch.setattr(publishing.fcntl, "flock", fail_to_unlock)
    assert reopen(path).get_or_make(key_of(0), lambda: entry_of(0)) == (entry_of(0), True)
    assert folder_of(path, 0).is_dir()
    assert failed


def test_locks_of_filelock_keep_others_waiting(path, monkeypatch):
    """On Windows, threads and processes wait for each other by filelock's means."""
    monkeypatch.setattr(publishing, "fcntl", None)
    reopen(path).put(entry_of(0))
    with (
        open_folder(path) as folder,
        publishing.held(folder, "a.lock", 0.0) as first,
        publishing.held(folder, "a.lock", 0.1) as two,
    ):
        assert (first, two) == (True, False)
    with open_folder(path) as folder, publishing.held(folder, "a.lock", 0.0) as again:
        assert again


def test_turns_and_failures_without_end_do_not_pile_up():
    """A process that keeps trying new sources keeps neither a lock nor an error for each."""
    once = Once(None, timeout=1)
    for number in range(1000):
        with once.turn(str(number), lambda: False):
            once.failed(str(number), CompileError("m", "sm_90", "refused"))
    assert len(once._threads) <= 1
    assert len(once._failures) <= 256
    assert once.failure("999").here is not None
