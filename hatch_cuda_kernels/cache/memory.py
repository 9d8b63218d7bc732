"""Images in the memory of this process, so that a key is read from the disk once."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hatch_cuda_kernels.cache.entry import Entry

__all__ = ["Memory"]


class Memory:
    """Entries by key. Beyond ``max_bytes``, those that are also on disk are forgotten, least recently used first."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._on_disk: OrderedDict[str, Entry] = OrderedDict()
        self._only_here: dict[str, Entry] = {}
        self._lock = Lock()

    def get(self, key: str) -> Entry | None:
        """Return the entry of a key, or None."""
        with self._lock:
            entry = self._on_disk.get(key)
            if entry is not None:
                self._on_disk.move_to_end(key)
            return entry or self._only_here.get(key)

    def keep(self, entry: Entry, *, on_disk: bool) -> None:
        """Remember an entry; one that is nowhere else is never forgotten."""
        with self._lock:
            self._forget(entry.key)
            if not on_disk:
                self._only_here[entry.key] = entry
                return
            self._on_disk[entry.key] = entry
            self._bytes += len(entry.image)
            while self._bytes > self._max_bytes and len(self._on_disk) > 1:
                self._forget(next(iter(self._on_disk)))

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._on_disk.clear()
            self._only_here.clear()
            self._bytes = 0

    def _forget(self, key: str) -> None:
        self._only_here.pop(key, None)
        entry = self._on_disk.pop(key, None)
        self._bytes -= len(entry.image) if entry is not None else 0
