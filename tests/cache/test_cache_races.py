"""Processes that read, write and evict at one time, and the behaviours that cuda.core promises of its program cache.

Counterparts of ``FileStreamProgramCache``'s (cuda-python, ``test_program_cache*.py``): writers of one key do not
corrupt it; writers of many keys lose none; a reader never sees a torn file; eviction and clearing spare an entry that
was replaced meanwhile; a removed folder of temporaries is made again (``test_cache_changes``); stale temporaries are
swept, young ones survive a clear; a clear does not break a writer; a write below the cap scans nothing, one above it
does, and the total heals (``test_cache_bounds``).
"""

from __future__ import annotations

import threading
import time

import pytest
from cache_entries import disk_bytes, entry_of, folder_of, key_of, reopen, total_bytes
from cache_processes import Worker, run_together

from hatch_cuda_kernels.cache import publishing
from hatch_cuda_kernels.cache.entry import EntryFolder
from hatch_cuda_kernels.cache.files import Folder

SIZE = disk_bytes(entry_of(0))


@pytest.fixture
def path(tmp_path):
    """Return a cache folder that does not exist yet."""
    return tmp_path / "cache"


@pytest.fixture
def run_mixed(tmp_path):
    """Return a function that runs workers (function, rounds, arguments) together until each has had its rounds."""
    together = tmp_path / "together"
    together.mkdir()

    def run(*workers):
        until = {"together": together, "processes": len(workers)}
        return run_together(*(Worker(name, enough=enough, **until, **given) for name, enough, given in workers))

    return run


@pytest.mark.slow
def test_writers_of_one_key(path):
    """Six processes put one key at once: all succeed, one folder is there, and no temporary is left."""
    assert run_together(*(Worker("put", path=path, numbers=[0] * 5) for _ in range(6))) == [True] * 6
    assert reopen(path).get(key_of(0)) == entry_of(0)
    assert reopen(path).info().entries == 1
    assert not list((path / "v1" / "tmp").iterdir())


@pytest.mark.slow
def test_writers_of_many_keys_lose_none(path):
    """Four processes put 25 keys each, half of them shared: every one is there, whole, and counted once."""
    ranges = [range(start, start + 25) for start in (0, 12, 25, 37)]
    assert run_together(*(Worker("put", path=path, numbers=list(numbers)) for numbers in ranges)) == [True] * 4
    cache = reopen(path)
    assert all(cache.get(key_of(number)) == entry_of(number) for number in range(62))
    assert cache.info().entries == 62
    assert cache.prune(1 << 20) == total_bytes(path)


@pytest.mark.slow
def test_readers_among_writers_and_evictors(path, run_mixed):
    """While two processes write above the cap and evict, two readers see no error, no warning and no wrong byte."""
    numbers = list(range(12))
    write = {"path": path, "max_bytes": 5 * SIZE}
    reading = ("read", 10, {"path": path, "numbers": numbers})
    *_, first, second = run_mixed(
        ("churn", 5, {**write, "numbers": numbers}), ("churn", 5, {**write, "numbers": numbers[::-1]}), reading, reading
    )
    assert min(*first, *second) > 0  # both hits and misses
    assert not list(path.glob("v1/quarantine/*"))
    reopen(path, 5 * SIZE).put(entry_of(99))
    assert total_bytes(path) <= 5 * SIZE


@pytest.mark.slow
def test_writers_and_readers_among_those_who_empty_the_cache(path, run_mixed):
    """Processes that prune and clear all the time cost misses, and no process an error or a warning."""
    there = {"path": path, "numbers": list(range(8))}
    run_mixed(
        ("prune", 50, {"path": path}),
        ("prune", 50, {"path": path}),
        ("churn", 10, {**there, "max_bytes": 1 << 20}),
        ("read", 30, there),
    )
    assert not list(path.glob("v1/quarantine/*"))
    assert reopen(path).put(entry_of(0))


@pytest.mark.slow
def test_a_reader_of_an_entry_that_stays_never_misses(path, run_mixed):
    """An entry that nobody evicts is a hit each time, however much is written around it."""
    reopen(path).put(entry_of(0))
    _, (hits, misses) = run_mixed(
        ("churn", 8, {"path": path, "numbers": list(range(1, 40)), "max_bytes": 1 << 20}),
        ("read", 400, {"path": path, "numbers": [0]}),
    )
    assert hits >= 400
    assert misses == 0


def test_an_entry_replaced_while_it_is_read(path, monkeypatch):
    """An entry that is evicted and written anew between the reads of its two files is read right, and not set aside."""
    reopen(path).put(entry_of(0))
    real = Folder.read

    def replaced(self, name, most):
        monkeypatch.setattr(Folder, "read", real)
        data = real(self, name, most)
        reopen(path).prune(0)
        reopen(path).put(entry_of(0, size=900))
        return data

    monkeypatch.setattr(Folder, "read", replaced)
    assert reopen(path).get(key_of(0)) == entry_of(0, size=900)
    assert not list(path.glob("v1/quarantine/*"))


def test_an_entry_evicted_while_it_is_read(path, monkeypatch):
    """An entry that is gone before its image is read is a miss, without a warning."""
    reopen(path).put(entry_of(0))
    real = Folder.read

    def evicted(self, name, most):
        data = real(self, name, most)
        reopen(path).prune(0)
        return data

    monkeypatch.setattr(Folder, "read", evicted)
    assert reopen(path).get(key_of(0)) is None


def test_a_clear_spares_what_was_replaced(path, monkeypatch):
    """An entry that another process writes anew between the listing and the removal is not removed."""
    reopen(path).put(entry_of(0))
    reopen(path).put(entry_of(1))
    listed = EntryFolder.stored

    def replaced_after(self):
        found = list(listed(self))
        monkeypatch.undo()
        reopen(path).prune(0)
        time.sleep(0.02)  # beyond the coarsest clock of a local file system
        reopen(path).put(entry_of(0))
        return iter(found)

    monkeypatch.setattr(EntryFolder, "stored", replaced_after)
    reopen(path).clear()
    assert reopen(path).get(key_of(0)) == entry_of(0)
    assert not folder_of(path, 1).exists()


def test_a_clear_in_the_middle_of_a_write(path, monkeypatch):
    """A cache that is cleared while an image is written has that image afterwards."""
    real = publishing.move

    def cleared_before(*arguments):
        monkeypatch.undo()
        reopen(path).clear()
        real(*arguments)

    monkeypatch.setattr(publishing, "move", cleared_before)
    assert reopen(path).put(entry_of(0))
    assert reopen(path).get(key_of(0)) == entry_of(0)


def test_two_threads_evict_at_one_time(path):
    """Evictors that list the same entries remove what is too much once, not each its share."""
    for number in range(20):
        reopen(path).put(entry_of(number))
    start = threading.Barrier(4)

    def evict():
        start.wait()
        reopen(path).prune(10 * SIZE)

    threads = [threading.Thread(target=evict) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reopen(path).info().entries == 10


def test_evictors_without_a_lock_do_not_evict_twice(path, monkeypatch):
    """What another evictor removed since the listing counts as room made."""
    for number in range(20):
        reopen(path).put(entry_of(number))
    evict, others = publishing.evict, []

    def after_another(root, stored):
        if not others:
            others.append(None)
            evict(root, stored)
        return evict(root, stored)

    monkeypatch.setattr(publishing, "evict", after_another)
    assert reopen(path).prune(10 * SIZE) == 10 * SIZE
    assert reopen(path).info().entries == 10
