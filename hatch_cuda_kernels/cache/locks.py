"""Locks between processes, in files. The system releases them when their holder dies, however it dies."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from filelock import BaseFileLock

    from hatch_cuda_kernels.cache.files import Folder

__all__ = ["held", "taken"]

_FIRST_PAUSE: Final = 0.005
_LONGEST_PAUSE: Final = 0.1


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
    """Return a function that tries to take a lock; the stack releases it."""
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
