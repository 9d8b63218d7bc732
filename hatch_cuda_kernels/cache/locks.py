"""Locks between processes, in files. The system releases them when their holder dies, however it dies."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Final

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
    # RuntimeError is filelock's for a wait that it believes to be without an end.
    with contextlib.suppress(OSError, NotImplementedError, RuntimeError):
        from filelock import FileLock  # noqa: PLC0415 - a hit needs no lock

        # No soft lock: one that a dead process left would hold up every other for the whole timeout.
        lock = FileLock(path, mode=0o600, thread_local=False, fallback_to_soft=False)
        _acquire(lock, time.monotonic() + timeout, until)
    try:
        yield lock is not None and lock.is_locked
    finally:
        if lock is not None:
            with contextlib.suppress(OSError, NotImplementedError, RuntimeError):
                lock.release()


def _acquire(lock: BaseFileLock, deadline: float, until: Callable[[], bool]) -> None:
    pause = _FIRST_PAUSE
    while True:
        with contextlib.suppress(TimeoutError):
            lock.acquire(blocking=False)
            return
        if until() or time.monotonic() >= deadline:
            return
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
