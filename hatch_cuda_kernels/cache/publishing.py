"""What changes a folder of entries: publish, remove, set aside, sweep, keep below the cap; one compile for each key.

Publishing, removing and setting aside take one step each, as readers see it. Of all threads and processes that want one
key, the first compiles it, and the others use its result or its error. Locks between processes are in files; the system
releases them when their holder dies.
"""

from __future__ import annotations

import contextlib
import copy
import errno
import json
import os
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple
from weakref import WeakSet, WeakValueDictionary

from hatch_cuda_kernels.cache.entry import (
    ENTRY_FILE,
    NOTES,
    QUARANTINE,
    STAGING,
    BadEntryError,
    EntryFolder,
    StoredEntry,
    has_entry,
    last_use,
    prefix_of,
    prefixes,
    read_entry,
    stored_in,
)
from hatch_cuda_kernels.cache.files import Folder, made, move, remove, replace, unique_name, write
from hatch_cuda_kernels.errors import CompileError, refuse_reentry
from hatch_cuda_kernels.integrity import check_shape

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


_FIRST_PAUSE: Final = 0.005
_LONGEST_PAUSE: Final = 0.1
#: What is waited for may also come by another way.
_ASK_SECONDS: Final = 1.0
#: So many compiles of one key may hang before everybody compiles for himself.
_MOST_TURNS: Final = 5
#: Lock files are shared by keys that begin alike, so that there is a bounded number of them, none ever removed.
_STRIPE_DIGITS: Final = 3
_LOCKS: Final = "locks"
_FAILED: Final = ".failed"
#: Failures remembered in this process, for threads that wait for the same key; far fewer wait at a time.
_MOST_FAILURES: Final = 256
_ERROR: Final = {
    **dict.fromkeys(("module", "arch", "message", "log"), str),
    **{name: [str] for name in ("flags", "bad_names", "faults")},
}
#: A longer error is damage, which must not fill the memory.
_MOST_ERROR_TEXT: Final = 64 << 20


@contextlib.contextmanager
def held(folder: Folder, name: str, timeout: float, until: Callable[[], bool] = bool) -> Iterator[bool]:
    """Hold a lock during the body and yield True, or yield False and go on without it. Raises nothing itself.

    It goes on without the lock after ``timeout`` seconds, once ``until`` returns True because there is nothing left to
    wait for, and if the folder or its file system cannot lock (some NFS). The folder need not stay open.
    """
    taken = False
    with contextlib.ExitStack() as stack:
        # RuntimeError is filelock's error for a wait that it believes will never end.
        with contextlib.suppress(OSError, NotImplementedError, RuntimeError):
            lock = _lock_file(folder, name, stack)
            taken = lock.take() or _wait(lock, timeout, until)
        yield taken


def _wait(lock: _Flock | _FileLock, timeout: float, until: Callable[[], bool]) -> bool:
    """Return whether a lock was taken before the timeout, and before there is nothing left to wait for.

    ``until`` reads the disk, and hundreds of processes may wait: it is asked when the lock is free, and rarely else.
    """
    deadline, pause, asked = time.monotonic() + timeout, _FIRST_PAUSE, 0.0
    while (now := time.monotonic()) < deadline:
        is_free = lock.is_free()
        if is_free or now - asked > _ASK_SECONDS:
            asked = now
            if until():
                return False
        if is_free and lock.take():
            return True
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
    return False


def _lock_file(folder: Folder, name: str, stack: contextlib.ExitStack) -> _Flock | _FileLock:
    """Open a lock until the stack is closed.

    This and its ``take`` raise OSError, NotImplementedError or RuntimeError if the folder or its file system cannot
    lock (some NFS).
    """
    lock = _FileLock(folder, name) if fcntl is None else _Flock(folder, name)
    stack.callback(lock.release)
    return lock


class _Flock:
    """A lock file that is open. A forked child closes it, or the lock would outlive a parent that is killed."""

    def __init__(self, folder: Folder, name: str) -> None:
        self._descriptor = folder.open(name, os.O_RDWR | os.O_CREAT)
        _FLOCKS.add(self)

    def take(self) -> bool:
        return self._lock(fcntl.LOCK_EX)

    def is_free(self) -> bool:
        """Return whether nobody holds the lock. All who wait may find that at the same time."""
        found = self._lock(fcntl.LOCK_SH)
        if found:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        return found

    def _lock(self, how: int) -> bool:
        try:
            fcntl.flock(self._descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # the latter after a fork
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)  # a process forked meanwhile has the descriptor as well
        self.close()

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        with contextlib.suppress(OSError):
            os.close(descriptor)


_FLOCKS: Final[WeakSet[_Flock]] = WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: [*map(_Flock.close, _FLOCKS)])


class _FileLock:
    """The same on Windows, by filelock."""

    def __init__(self, folder: Folder, name: str) -> None:
        from filelock import FileLock  # only Windows needs it

        # No soft lock: one left by a killed process would make every other one wait for the whole timeout.
        self._lock = FileLock(Path(folder.path, name), mode=0o600, thread_local=False, fallback_to_soft=False)

    def take(self) -> bool:
        with contextlib.suppress(TimeoutError):
            self._lock.acquire(blocking=False)
        return self._lock.is_locked

    def is_free(self) -> bool:
        """Return True, so that the lock is tried."""
        return True

    def release(self) -> None:
        with contextlib.suppress(OSError, NotImplementedError, RuntimeError):
            self._lock.release()


class Failure(NamedTuple):
    """The last failed compile of a key, as this process and the folder know it; compared, so that no clock matters."""

    here: CompileError | None
    left: bytes


class Once:
    """Turns by key, between the threads of this process and, in a folder of entries, between processes."""

    def __init__(self, entries: EntryFolder | None, *, timeout: float) -> None:
        self._entries = entries
        self.timeout: Final = timeout
        """Seconds after which a wait for others ends."""
        self._threads: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        self._failures: dict[str, CompileError] = {}

    @contextlib.contextmanager
    def turn(self, key: str, ready: Callable[[], bool]) -> Iterator[None]:
        """Run the body while no other turn of the key runs, or once ``ready`` returns True.

        After the timeout, one of those who wait goes on: two compiles are better than none. The others wait for that
        one. Where nothing can be locked, the body runs at once. Raises ReentryError within a turn of the same key.
        """
        with refuse_reentry((id(self), key), "a compile"), contextlib.ExitStack() as stack:
            for number in range(_MOST_TURNS):
                if self._enter(f"{key}{number}", _lock_name(key, number), ready, stack):
                    break
            yield

    def _enter(self, turn: str, lock: str, ready: Callable[[], bool], stack: contextlib.ExitStack) -> bool:
        """Wait for a turn, which lasts until the stack is closed; return False if it is not free before the timeout."""
        deadline = time.monotonic() + self.timeout
        with contextlib.ExitStack() as entered:
            thread = self._threads.setdefault(turn, threading.Lock())
            if not thread.acquire(timeout=self.timeout):
                return False
            entered.callback(thread.release)
            with contextlib.suppress(OSError), self._open(make=True) as locks:
                taken = entered.enter_context(held(locks, lock, deadline - time.monotonic(), ready))
                if not taken and time.monotonic() >= deadline and not ready():
                    return False
            stack.push(entered.pop_all())
        return True

    def claim(self, keys: Iterable[str]) -> contextlib.ExitStack | None:
        """Return what keeps the turns of some keys until it is closed; None while others have one. Does not wait.

        It keeps none if nothing can be locked.
        """
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError, NotImplementedError, RuntimeError), self._open(make=True) as locks:
                names = sorted({*map(_lock_name, keys)})  # in one order, or two could keep each other from all of them
                if not all(_lock_file(locks, name, stack).take() for name in names):
                    return None
            return stack.pop_all()

    def failure(self, key: str) -> Failure:
        """Return the last failure of a key; another one later means that a compile failed meanwhile."""
        left = b""
        with contextlib.suppress(OSError), self._open() as locks:
            left = locks.read(f"{key}{_FAILED}", _MOST_ERROR_TEXT)
        return Failure(self._failures.get(key), left)

    def error_since(self, before: Failure, key: str) -> CompileError | None:
        """Return the error of a compile that failed after ``before`` was taken, or None."""
        now = self.failure(key)
        if now.here is not None and now.here is not before.here:
            return copy.copy(now.here)  # each thread raises its own
        if now.left == before.left:
            return None
        try:
            found = json.loads(now.left)
            check_shape(found, _ERROR)
        except (ValueError, RecursionError):  # this version writes nothing else
            return None
        return CompileError(**{name: found[name] for name in _ERROR})

    def failed(self, key: str, error: CompileError) -> None:
        """Leave the error for those who are waiting for the same key; raises nothing."""
        self._failures.pop(key, None)
        self._failures[key] = copy.copy(error)  # without the traceback, and all that it holds
        for old in [*self._failures][:-_MOST_FAILURES]:
            self._failures.pop(old, None)
        data: dict[str, Any] = {name: getattr(error, name) for name in _ERROR} | {"id": unique_name("")}
        with contextlib.suppress(OSError), self._open() as locks:
            replace(locks, f"{key}{_FAILED}", json.dumps(data).encode(), locks)

    def sweep(self) -> None:
        """Remove errors that are too old for anyone to wait for; raises nothing."""
        with contextlib.suppress(OSError), self._open() as locks:
            for name in locks.names():
                if _FAILED in name and time.time() - locks.status(name).st_mtime > self.timeout:
                    remove(locks, name)

    @contextlib.contextmanager
    def _open(self, *, make: bool = False) -> Iterator[Folder]:
        """Open the folder of locks and errors. Raises OSError, also if this cache has no folder at all."""
        if self._entries is None:
            raise FileNotFoundError
        with self._entries.open(make=make) as root, (made if make else Folder.folder)(root, _LOCKS) as locks:
            yield locks


def _lock_name(key: str, turn: int = 0) -> str:
    return f"{key[:_STRIPE_DIGITS]}.{turn}.lock" if turn else f"{key[:_STRIPE_DIGITS]}.lock"


#: Temporaries older than this were left by a process that was killed; younger ones may be in use.
_STALE_SECONDS: Final = 3600.0
_QUARANTINE_SECONDS: Final = 24 * 3600.0
#: The last few damaged entries are enough to find out what happened to them.
_MOST_QUARANTINED: Final = 8
_TOTAL: Final = "total.json"
_LOCK: Final = "total.lock"
_LOCK_SECONDS: Final = 2.0
_MOST_TEXT: Final = 1000
#: Above the cap, room is made down to this share of it, so that not every write has to.
_KEEP: Final = 0.9
#: Entries that are looked at, and removed beyond what is needed, by a process that meets the cap: 0.1 s each.
_MOST_LISTED: Final = 4000
_MOST_EXTRA: Final = 200
#: A wrong total (a crash between a write and its count, a folder removed by hand) is corrected after this time.
_RECOUNT_SECONDS: Final = 24 * 3600.0
#: As exact as uses are recorded. A use later than that from now was recorded before the clock was set back.
_FUTURE_SECONDS: Final = 3600.0


def publish_all(entries: EntryFolder, listed: Iterable[tuple[str, dict[str, bytes]]]) -> int:
    """Write entries' files beside their places and rename them there; return the bytes of those that are new.

    A reader sees a whole entry or none. Anything else in its place, such as half a folder, is set aside. Raises
    OSError.
    """
    size, left, again = 0, deque(listed), False
    while left:
        try:
            with entries.open(make=True) as root, made(root, STAGING) as staging:
                while left:
                    key, files = left[0]
                    size += _publish(root, staging, key, files) * sum(map(len, files.values()))
                    left.popleft()
        except FileNotFoundError:  # somebody removed a folder on the way
            if again:
                raise
            again = True
    return size


def evict(root: Folder, stored: StoredEntry) -> bool:
    """Remove an entry and return whether it is gone; one that was used or replaced since it was listed stays.

    It disappears from its place in one step, so a reader finds it whole or not at all; one in a lower layer of an
    overlay loses its description first. Raises OSError if it cannot be removed, on Windows also while it is in use.
    """
    key = stored.key
    try:
        with root.folder(prefix_of(key)) as prefix, made(root, STAGING) as staging:
            if last_use(prefix, key) == stored.used and (moved := _move_away(prefix, key, staging)) is not None:
                remove(staging, moved)
            return not prefix.has(key)
    except FileNotFoundError:
        return True


class Stuck(NamedTuple):
    """What could not be removed: how many entries, their bytes, and why."""

    entries: int = 0
    bytes: int = 0
    reason: str = ""

    def after(self, root: Folder, stored: StoredEntry) -> tuple[bool, Stuck]:
        """Remove an entry; return whether it is gone, and what is stuck then."""
        try:
            return evict(root, stored), self
        except OSError as error:
            return False, Stuck(self.entries + 1, self.bytes + stored.bytes, str(error))


def evict_all(entries: EntryFolder) -> tuple[int, Stuck]:
    """Remove all entries, those set aside, and the notes; return how many of the first are gone. Raises nothing."""
    count, stuck = 0, Stuck()
    with contextlib.suppress(OSError), entries.open_top() as top:
        remove(top, NOTES)
    with contextlib.suppress(OSError), entries.open() as root:
        for stored in entries.stored():
            gone, stuck = stuck.after(root, stored)
            count += gone
        remove(root, QUARANTINE)
        for name in prefixes(root):
            with contextlib.suppress(OSError):  # it is not empty
                os.rmdir(root.at(name), dir_fd=root.descriptor)
    return count, stuck


def quarantine(entries: EntryFolder, key: str) -> bool:
    """Set a damaged entry aside for inspection; return False if it is not damaged.

    Another process that found the damage may have replaced the entry since. Raises OSError if it cannot be moved.
    """
    with entries.open() as root, root.folder(prefix_of(key)) as prefix, made(root, QUARANTINE) as aside:
        try:
            moved = _move_away(prefix, key, aside)
        except FileNotFoundError:
            return False
        with contextlib.suppress(BadEntryError, OSError):
            if moved is not None and read_entry(aside, moved, key):
                move(aside, moved, prefix, key)
                return False
    return True


def _publish(root: Folder, staging: Folder, key: str, files: dict[str, bytes]) -> bool:
    with made(root, prefix_of(key)) as prefix:
        if has_entry(prefix, key):
            return False
        staged, placed = unique_name(key[:16]), False
        try:
            with made(staging, staged) as folder:
                for name, data in files.items():
                    write(folder, name, data)
            placed = _place(root, staging, staged, prefix, key)
        finally:
            if not placed:
                remove(staging, staged)
    return placed


def _place(root: Folder, staging: Folder, staged: str, prefix: Folder, key: str) -> bool:
    """Rename a finished entry to its place, False where another is there by now."""
    for last in (False, True):
        try:
            move(staging, staged, prefix, key)
        except OSError:
            if has_entry(prefix, key):
                return False
            if last or not prefix.has(key):
                raise
            with contextlib.suppress(OSError), made(root, QUARANTINE) as aside:
                _move_away(prefix, key, aside)
        else:
            break
    return True


def _move_away(prefix: Folder, key: str, place: Folder) -> str | None:
    """Rename an entry's folder into another place and return its name there. Raises OSError.

    A folder in a lower layer of an overlay cannot be renamed (Linux: overlayfs, "Renaming directories"). It is removed
    where it is, the description first, without which it is no entry; None is returned.
    """
    moved = unique_name(key[:16])
    try:
        move(prefix, key, place, moved)
        place.touch(moved)  # its age counts from now
    except OSError as error:
        if error.errno == errno.EXDEV:
            with prefix.folder(key) as folder, contextlib.suppress(FileNotFoundError):
                os.unlink(folder.at(ENTRY_FILE), dir_fd=folder.descriptor)
            remove(prefix, key)
            return None
        if not place.has(moved):
            raise
    return moved


def sweep(root: Folder) -> None:
    """Remove temporaries and quarantined entries that are old, and all but the last few quarantined ones."""
    with contextlib.suppress(OSError), root.folder(STAGING) as staging:
        for name, found in _listed(staging):
            if _age(found) > _STALE_SECONDS:
                remove(staging, name)
    with contextlib.suppress(OSError), root.folder(QUARANTINE) as quarantine:
        ages = sorted((_age(found), name) for name, found in _listed(quarantine))
        for place, (age, name) in enumerate(ages):
            if place >= _MOST_QUARANTINED or age > _QUARANTINE_SECONDS:
                remove(quarantine, name)


def leftover_bytes(root: Folder) -> int:
    """Return the bytes of what is being written or removed, or was set aside."""
    total = 0
    for name in (STAGING, QUARANTINE):
        with contextlib.suppress(OSError), root.folder(name) as place:
            total += sum(_size(place, inside, found) for inside, found in _listed(place))
    return total


def _listed(folder: Folder) -> Iterator[tuple[str, os.stat_result]]:
    for name in folder.names():
        with contextlib.suppress(OSError):  # removed meanwhile
            yield name, folder.status(name)


def _age(found: os.stat_result) -> float:
    """Return seconds since the last change. One far in the future is as old: the clock was set back since."""
    return abs(time.time() - found.st_mtime)


def _size(place: Folder, name: str, found: os.stat_result) -> int:
    if not stat.S_ISDIR(found.st_mode):
        return found.st_size
    with contextlib.suppress(OSError), place.folder(name) as folder:
        return sum(inside.st_size for _, inside in _listed(folder))
    return 0


def count_entry(entries: EntryFolder, key: str, size: int, *, max_bytes: int) -> None:
    """Count what was just published, and keep it if the cap requires others to go. Raises nothing.

    A write adds its size to a total in a file, so that nothing is listed below the cap. All is counted again once a
    day. The lock only keeps the total exact: without one, everything goes on.
    """
    with contextlib.suppress(OSError), entries.open() as root, held(root, _LOCK, _LOCK_SECONDS):
        total, counted = _read_total(root)
        total += size
        if not 0 <= time.time() - counted <= _RECOUNT_SECONDS:
            total, counted = _count(root, entries.stored()), time.time()
        if total > max_bytes:
            total = _make_room(root, total, max_bytes, keep=key)
        _write_total(root, total, counted)


def shrink(entries: EntryFolder, max_bytes: int) -> tuple[int, Stuck]:
    """Remove the least recently used entries until at most ``max_bytes`` are left; return the bytes left."""
    total, stuck = 0, Stuck()
    with contextlib.suppress(OSError), entries.open() as root, held(root, _LOCK, _LOCK_SECONDS):
        sweep(root)
        stored = entries.stored()
        total = _count(root, stored)
        if total > max_bytes:
            remove(root, QUARANTINE)
            total = _count(root, stored)
        for entry in sorted(stored, key=_last_use) if total > max_bytes else ():
            if total > max_bytes:
                gone, stuck = stuck.after(root, entry)
                total -= entry.bytes * gone
        _write_total(root, total - stuck.bytes, time.time())
    return total, stuck


def _make_room(root: Folder, total: int, most: int, *, keep: str) -> int:
    """Remove entries until at most ``most`` bytes are left, and somewhat more; return the bytes left.

    Where there are very many entries, those of some prefixes are looked at, drawn at random, and the least recently
    used of them go: nobody who compiles a kernel shall pay for a list of all.
    """
    sweep(root)
    remove(root, QUARANTINE)
    names = sorted(prefixes(root), key=lambda _: os.urandom(4))
    listed: list[StoredEntry] = []
    while names and len(listed) < _MOST_LISTED:
        listed += stored_in(root, names.pop())
    if not names:  # so all was counted
        total = _count(root, listed)
    rest = (entry for name in names for entry in stored_in(root, name))
    for stored in (listed, rest):
        if total > most:
            total = _evict_oldest(root, stored, total, most, keep=keep)
    return total


def _evict_oldest(root: Folder, stored: Iterable[StoredEntry], total: int, most: int, *, keep: str) -> int:
    """Remove the least recently used entries; return the bytes left.

    What cannot be removed takes no room, or nothing but the entry to ``keep`` would stay.
    """
    stuck, extra = Stuck(), 0
    for entry in sorted(stored, key=_last_use):
        left = total - stuck.bytes
        extra += left <= most
        if left <= most * _KEEP or extra > _MOST_EXTRA:
            break
        if entry.key != keep:
            gone, stuck = stuck.after(root, entry)
            total -= entry.bytes * gone
    return total - stuck.bytes


def _count(root: Folder, stored: list[StoredEntry]) -> int:
    return sum(entry.bytes for entry in stored) + leftover_bytes(root)


def _last_use(entry: StoredEntry) -> tuple[float, str]:
    """Return what entries are sorted by. A use in the future says nothing, so it counts as long ago."""
    return 0.0 if entry.used > time.time() + _FUTURE_SECONDS else entry.used, entry.key


def _read_total(root: Folder) -> tuple[int, float]:
    """Return the total and when it was last counted, which is never where the file is missing or damaged."""
    try:
        data = json.loads(root.read(_TOTAL, _MOST_TEXT))
        return max(int(data["bytes"]), 0), float(data["counted"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return 0, 0.0


def _write_total(root: Folder, total: int, counted: float) -> None:
    data = json.dumps({"bytes": total, "counted": counted}).encode()
    with contextlib.suppress(OSError), made(root, STAGING) as staging:  # the entry itself was written
        replace(root, _TOTAL, data, staging)
