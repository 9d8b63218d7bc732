"""How large a folder of entries may grow: a running total below the cap, the least recently used removed above it."""

from __future__ import annotations

import contextlib
import json
import os
import time
from typing import TYPE_CHECKING, Final

from filelock import FileLock, Timeout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.cache.folder import EntryFolder

__all__ = ["Bounds"]

_LOCK_SECONDS: Final = 2.0
#: Above the cap, room is made down to this share of it, so that not every write has to.
_KEEP: Final = 0.9


class Bounds:
    """The cap of one folder.

    A write adds its size to a total in a file: no listing below the cap. A crash between the write and the total lets
    them drift apart; every eviction counts anew.
    """

    def __init__(self, folder: EntryFolder, max_bytes: int) -> None:
        self._folder = folder
        self.max_bytes = max_bytes

    def added(self, size: int) -> None:
        """Account for an entry that was published just now, and make room where that passes the cap."""
        with self._lock():
            total = self._read_total()
            total = self._count() if total is None else total + size
            self._write_total(self.shrink(self.max_bytes) if total > self.max_bytes else total)

    def shrink(self, max_bytes: int) -> int:
        """Remove the least recently used entries until the rest is well below ``max_bytes``; return the bytes left.

        An entry that another process removed meanwhile, or (on Windows) has open, is passed over.
        """
        self._folder.sweep()
        entries = sorted(self._folder.stored(), key=lambda stored: (min(stored.used, time.time()), stored.key))
        total = sum(stored.bytes for stored in entries)
        if total > max_bytes:
            for stored in entries:
                if total <= max_bytes * _KEEP:
                    break
                if self._folder.remove(stored.key):
                    total -= stored.bytes
        return total

    def _count(self) -> int:
        return sum(stored.bytes for stored in self._folder.stored())

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        """Hold the total's lock, or go on without: a total that is off only moves the next count."""
        lock = FileLock(self._folder.root / "total.lock", timeout=_LOCK_SECONDS)
        try:
            lock.acquire()
        except (OSError, NotImplementedError, Timeout):
            yield
            return
        try:
            yield
        finally:
            lock.release()

    def _read_total(self) -> int | None:
        try:
            return int(json.loads((self._folder.root / "total.json").read_bytes())["bytes"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _write_total(self, total: int) -> None:
        path = self._folder.root / "total.json"
        staged = path.with_name(f"total.{os.getpid()}.tmp")
        staged.write_text(json.dumps({"bytes": total}), encoding="utf-8")
        staged.replace(path)
