"""One compile for each key, across threads and processes: who comes second uses the first one's result or error."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from typing import TYPE_CHECKING, Final

from filelock import FileLock, Timeout

from hatch_cuda_kernels.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Once"]

#: Lock files are shared by keys that begin alike, so that there is a bounded number of them, none ever removed.
_STRIPE_DIGITS: Final = 3
_POLL_SECONDS: Final = 0.05


class Once:
    """Locks by key in one folder, with what a failed compile said."""

    def __init__(self, root: Path, *, timeout: float) -> None:
        self._root = root / "locks"
        self._timeout = timeout
        self._threads: dict[str, threading.Lock] = {}

    @contextlib.contextmanager
    def turn(self, key: str) -> Iterator[None]:
        """Hold the key's lock for the body.

        After the timeout, and where the folder or its file system cannot lock (some NFS), the body runs all the same:
        two compiles are better than none.
        """
        with self._threads.setdefault(key, threading.Lock()), contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError, NotImplementedError, Timeout):
                self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
                path = self._root / f"{key[:_STRIPE_DIGITS]}.lock"
                lock = FileLock(path, timeout=self._timeout, poll_interval=_POLL_SECONDS, thread_local=False)
                stack.enter_context(lock)
            yield

    def failed(self, key: str, error: CompileError) -> None:
        """Leave the error for those who are waiting for the same key."""
        data = {
            "module": error.module,
            "arch": error.arch,
            "message": error.message,
            "log": error.log,
            "flags": error.flags,
            "bad_names": error.bad_names,
        }
        with contextlib.suppress(OSError):
            self._failure(key).write_text(json.dumps(data), encoding="utf-8")

    def failure_since(self, key: str, began: float) -> CompileError | None:
        """Return the error that another process left for this key after ``began`` (seconds since 1970), or None."""
        path = self._failure(key)
        try:
            if path.stat().st_mtime < began:
                return None
            data = json.loads(path.read_bytes())
            return CompileError(
                data["module"],
                data["arch"],
                data["message"],
                log=data["log"],
                flags=data["flags"],
                bad_names=data["bad_names"],
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def sweep(self) -> None:
        """Remove errors that nobody can be waiting for any more."""
        with contextlib.suppress(OSError):
            for path in list(self._root.glob("*.failed")):
                if time.time() - path.stat().st_mtime > self._timeout:
                    path.unlink(missing_ok=True)

    def _failure(self, key: str) -> Path:
        return self._root / f"{key}.failed"
