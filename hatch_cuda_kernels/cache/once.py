"""One compile for each key, across threads and processes: who comes second uses the first one's result or error."""

from __future__ import annotations

import contextlib
import copy
import json
import threading
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.cache.entry import BadEntryError
from hatch_cuda_kernels.cache.files import make_folder, read_file, replace_file, unique_name
from hatch_cuda_kernels.cache.locks import held
from hatch_cuda_kernels.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["Failure", "Once"]

#: Lock files are shared by keys that begin alike, so that there is a bounded number of them, none ever removed.
_STRIPE_DIGITS: Final = 3
_FIELDS: Final = ("module", "arch", "message", "log", "flags", "bad_names")


class Failure(NamedTuple):
    """The last failed compile of a key, as this process and the folder know it; compared, so that no clock matters."""

    here: CompileError | None
    left: bytes


class Once:
    """Turns by key, between the threads of this process and, below a folder, between processes."""

    def __init__(self, root: Path | None, *, timeout: float) -> None:
        self._locks = root / "locks" if root is not None else None
        self._timeout = timeout
        self._threads: dict[str, threading.Lock] = {}
        self._failures: dict[str, CompileError] = {}

    @contextlib.contextmanager
    def turn(self, key: str, ready: Callable[[], bool]) -> Iterator[None]:
        """Run the body while no other turn of the key runs, or once ``ready``.

        After the timeout, and where nothing can be locked, the body runs all the same: two compiles are better than
        none.
        """
        thread = self._threads.setdefault(key, threading.Lock())
        deadline = time.monotonic() + self._timeout
        ours = thread.acquire(timeout=self._timeout)
        try:
            with contextlib.ExitStack() as stack:
                if self._locks is not None:
                    with contextlib.suppress(OSError):
                        make_folder(self._locks)
                        path = self._locks / f"{key[:_STRIPE_DIGITS]}.lock"
                        stack.enter_context(held(path, deadline - time.monotonic(), ready))
                yield
        finally:
            if ours:
                thread.release()

    def failure(self, key: str) -> Failure:
        """Return the last failure of a key; another one later means that a compile failed meanwhile."""
        left = b""
        if self._locks is not None:
            with contextlib.suppress(OSError, BadEntryError):
                left = read_file(_failed(self._locks, key))
        return Failure(self._failures.get(key), left)

    def error_since(self, before: Failure, key: str) -> CompileError | None:
        """Return the error of a compile that failed after ``before`` was taken, or None."""
        now = self.failure(key)
        if now.here is not None and now.here is not before.here:
            return copy.copy(now.here)  # each thread raises its own
        return _read_error(now.left) if now.left != before.left else None

    def failed(self, key: str, error: CompileError) -> None:
        """Leave the error for those who are waiting for the same key."""
        self._failures[key] = copy.copy(error)  # without the traceback, and all that it holds
        if self._locks is None:
            return
        data: dict[str, Any] = {name: getattr(error, name) for name in _FIELDS} | {"id": unique_name("")}
        with contextlib.suppress(OSError):
            replace_file(_failed(self._locks, key), json.dumps(data).encode(), self._locks.parent / "tmp")

    def sweep(self) -> None:
        """Remove errors that nobody can be waiting for any more."""
        for path in self._locks.glob("*.failed") if self._locks is not None else ():
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > self._timeout:
                    path.unlink()


def _failed(locks: Path, key: str) -> Path:
    return locks / f"{key}.failed"


def _read_error(data: bytes) -> CompileError | None:
    try:
        found = json.loads(data)
        module, arch, message, log, flags, bad_names = (found[name] for name in _FIELDS)
        return CompileError(module, arch, message, log=log, flags=flags, bad_names=bad_names)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
