"""Locks between processes, in files. The system releases them when their holder dies, however it dies."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Final

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from filelock import BaseFileLock

__all__ = ["held"]

_FIRST_PAUSE: Final = 0.005
_LONGEST_PAUSE: Final = 0.1


@contextlib.contextmanager
def held(path: Path, timeout: float, until: Callable[[], bool] = bool) -> Iterator[bool]:
    """Hold a lock for the body and yield True; or yield False and go on without.

    That is after ``timeout`` seconds, as soon as ``until`` says that there is nothing left to wait for, and where the
    folder or its file system cannot lock (some NFS).
    """
    lock = None
    deadline = time.monotonic() + timeout
    # RuntimeError is filelock's for a wait that it believes to be without an end.
    with contextlib.suppress(OSError, NotImplementedError, RuntimeError):
        if _wait(lambda: not _is_held(path) or until(), deadline) and not until():
            from filelock import FileLock  # a hit needs no lock, and who waits needs none yet

            # No soft lock: one that a dead process left would hold up every other for the whole timeout.
            lock = FileLock(path, mode=0o600, thread_local=False, fallback_to_soft=False)
            _wait(lambda: _take(lock) or until(), deadline)
    try:
        yield lock is not None and lock.is_locked
    finally:
        if lock is not None:
            with contextlib.suppress(OSError, NotImplementedError, RuntimeError):
                lock.release()


def _wait(true: Callable[[], bool], deadline: float) -> bool:
    """Wait until something is true, and return whether it became so before the deadline."""
    pause = _FIRST_PAUSE
    while not true():
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
    return True


def _take(lock: BaseFileLock) -> bool:
    with contextlib.suppress(TimeoutError):
        lock.acquire(blocking=False)
        return True
    return False


def _is_held(path: Path) -> bool:
    """Return whether another process has the lock just now; False where that cannot be told without filelock.

    Of many processes that miss one kernel all but one come here, and importing filelock takes longer than all else.
    It locks with ``flock`` wherever there is one.
    """
    if fcntl is None:
        return False
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
