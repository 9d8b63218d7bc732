"""One compile for each key, across threads and processes: whoever comes second uses the first one's result or error.

Locks between processes are in files. The system releases them when their holder dies, however it dies.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakValueDictionary

from hatch_cuda_kernels.cache.files import Folder, made, remove, replace, unique_name
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.reentry import refuse_reentry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from filelock import BaseFileLock

    from hatch_cuda_kernels.cache.entry import EntryFolder

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


_FIRST_PAUSE: Final = 0.005
_LONGEST_PAUSE: Final = 0.1
#: Lock files are shared by keys that begin alike, so that there is a bounded number of them, none ever removed.
_STRIPE_DIGITS: Final = 3
_LOCKS: Final = "locks"
_FAILED: Final = ".failed"
#: Failures remembered in this process, for threads that wait for the same key; far fewer wait at a time.
_MOST_FAILURES: Final = 256
_TEXTS: Final = ("module", "arch", "message", "log")
_LISTS: Final = ("flags", "bad_names", "faults")
#: A longer error is damage, which must not fill the memory.
_MOST_TEXT: Final = 64 << 20


def taken(folder: Folder, name: str, stack: contextlib.ExitStack) -> bool:
    """Return whether a lock was free and is now held, until the stack is closed; nothing waits.

    Raises OSError, NotImplementedError or RuntimeError if the folder or its file system cannot lock (some NFS).
    """
    return _taker(folder, name, stack)()


@contextlib.contextmanager
def held(folder: Folder, name: str, timeout: float, until: Callable[[], bool] = bool) -> Iterator[bool]:
    """Hold a lock during the body and yield True, or yield False and go on without it.

    It goes on without the lock after ``timeout`` seconds, as soon as ``until`` returns True because there is nothing
    left to wait for, and if the folder or its file system cannot lock (some NFS). The folder need not stay open. Raises
    nothing itself.
    """
    taken = False
    with contextlib.ExitStack() as stack:
        # RuntimeError is filelock's error for a wait that it believes will never end.
        with contextlib.suppress(OSError, NotImplementedError, RuntimeError):
            take = _taker(folder, name, stack)
            deadline, pause = time.monotonic() + timeout, _FIRST_PAUSE
            while not (taken := take()) and not until() and time.monotonic() < deadline:
                time.sleep(pause)
                pause = min(pause * 1.5, _LONGEST_PAUSE)
        yield taken


def _taker(folder: Folder, name: str, stack: contextlib.ExitStack) -> Callable[[], bool]:
    return (_by_filelock if fcntl is None else _by_flock)(folder, name, stack)


def _by_flock(folder: Folder, name: str, stack: contextlib.ExitStack) -> Callable[[], bool]:
    descriptor = folder.open(name, os.O_RDWR | os.O_CREAT)
    stack.callback(_release, descriptor)

    def take() -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    return take


def _release(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # a process forked meanwhile has the descriptor as well
    with contextlib.suppress(OSError):
        os.close(descriptor)


def _by_filelock(folder: Folder, name: str, stack: contextlib.ExitStack) -> Callable[[], bool]:
    from filelock import FileLock  # only Windows needs it

    # No soft lock: one left by a killed process would make every other one wait for the whole timeout.
    lock = FileLock(Path(folder.path, name), mode=0o600, thread_local=False, fallback_to_soft=False)
    stack.callback(_release_filelock, lock)

    def take() -> bool:
        with contextlib.suppress(TimeoutError):
            lock.acquire(blocking=False)
        return lock.is_locked

    return take


def _release_filelock(lock: BaseFileLock) -> None:
    with contextlib.suppress(OSError, NotImplementedError, RuntimeError):
        lock.release()


class Failure(NamedTuple):
    """The last failed compile of a key, as this process and the folder know it; compared, so that no clock matters."""

    here: CompileError | None
    left: bytes


class Once:
    """Turns by key, between the threads of this process and, in a folder of entries, between processes."""

    def __init__(self, entries: EntryFolder | None, *, timeout: float) -> None:
        self._entries = entries
        self.timeout: Final = timeout
        """Seconds after which nobody waits for others any more."""
        self._threads: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        self._failures: dict[str, CompileError] = {}

    @contextlib.contextmanager
    def turn(self, key: str, ready: Callable[[], bool]) -> Iterator[None]:
        """Run the body while no other turn of the key runs, or once ``ready`` returns True.

        After the timeout, and where nothing can be locked, the body runs anyway: two compiles are better than none.
        Raises ReentryError within a turn of the same key.
        """
        with refuse_reentry((id(self), key), "a compile"):
            yield from self._turn(key, ready)

    def _turn(self, key: str, ready: Callable[[], bool]) -> Iterator[None]:
        thread = self._threads.setdefault(key, threading.Lock())
        deadline = time.monotonic() + self.timeout
        ours = thread.acquire(timeout=self.timeout)
        try:
            with contextlib.ExitStack() as stack:
                with contextlib.suppress(OSError), self._open(make=True) as locks:
                    left = deadline - time.monotonic()
                    stack.enter_context(held(locks, _lock_name(key), left, ready))
                yield
        finally:
            if ours:
                thread.release()

    def claim(self, keys: Iterable[str]) -> contextlib.ExitStack | None:
        """Return what keeps the turns of some keys until it is closed; None while others have one. Nothing waits.

        Where nothing can be locked, it keeps none.
        """
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError, NotImplementedError, RuntimeError), self._open(make=True) as locks:
                names = sorted({*map(_lock_name, keys)})  # in one order, or two could keep each other from all of them
                if not all(taken(locks, name, stack) for name in names):
                    return None
            return stack.pop_all()

    def failure(self, key: str) -> Failure:
        """Return the last failure of a key; another one later means that a compile failed meanwhile."""
        left = b""
        with contextlib.suppress(OSError), self._open() as locks:
            left = locks.read(f"{key}{_FAILED}", _MOST_TEXT)
        return Failure(self._failures.get(key), left)

    def error_since(self, before: Failure, key: str) -> CompileError | None:
        """Return the error of a compile that failed after ``before`` was taken, or None."""
        now = self.failure(key)
        if now.here is not None and now.here is not before.here:
            return copy.copy(now.here)  # each thread raises its own
        return _read_error(now.left) if now.left != before.left else None

    def failed(self, key: str, error: CompileError) -> None:
        """Leave the error for those who are waiting for the same key; raises nothing."""
        self._failures.pop(key, None)
        self._failures[key] = copy.copy(error)  # without the traceback, and all that it holds
        for old in [*self._failures][:-_MOST_FAILURES]:
            self._failures.pop(old, None)
        data: dict[str, Any] = {name: getattr(error, name) for name in _TEXTS + _LISTS} | {"id": unique_name("")}
        with contextlib.suppress(OSError), self._open() as locks:
            replace(locks, f"{key}{_FAILED}", json.dumps(data).encode(), locks)

    def sweep(self) -> None:
        """Remove errors that nobody can be waiting for any more; raises nothing."""
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


def _lock_name(key: str) -> str:
    return f"{key[:_STRIPE_DIGITS]}.lock"


def _read_error(data: bytes) -> CompileError | None:
    """Return the error that a file describes; None for anything else than this version writes."""
    try:
        found = json.loads(data)
        module, arch, message, log = (found[name] for name in _TEXTS)
        flags, bad_names, faults = (found[name] for name in _LISTS)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not all(isinstance(listed, list) for listed in (flags, bad_names, faults)):
        return None
    if not all(isinstance(text, str) for text in (module, arch, message, log, *flags, *bad_names, *faults)):
        return None
    return CompileError(module, arch, message, log=log, flags=flags, bad_names=bad_names, faults=faults)
