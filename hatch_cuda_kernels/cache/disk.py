"""The cache: memory, then read-only site folders, then this user's own folder.

``get`` never raises for what it finds on disk, ``put`` never for what the disk does: damage is a miss, a place that
cannot be used leaves the memory of this process. Each trouble is told once.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.cache.entry import BadEntryError
from hatch_cuda_kernels.cache.folder import EntryFolder
from hatch_cuda_kernels.cache.trust import distrust
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.warn import warn_user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from hatch_cuda_kernels.cache.bounds import Bounds
    from hatch_cuda_kernels.cache.entry import Entry
    from hatch_cuda_kernels.cache.once import Once

__all__ = ["CacheInfo", "DiskCache"]

#: Images kept in memory besides those on disk, in bytes.
_MEMORY_BYTES: Final = 256 << 20
#: A heavy template library compiles for a minute; who waits longer than this compiles for itself.
_LOCK_SECONDS: Final = 300.0


class CacheInfo(NamedTuple):
    """Where a cache is, what it holds, and whether this process may write to it."""

    path: str
    entries: int
    bytes: int
    max_bytes: int
    writable: bool


class DiskCache:
    """Entries by key. Thread-safe; any number of processes may use one folder at a time."""

    def __init__(
        self,
        path: Path | None,
        *,
        max_bytes: int,
        sites: Sequence[Path] = (),
        lock_seconds: float = _LOCK_SECONDS,
    ) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self._memory: OrderedDict[str, Entry] = OrderedDict()
        self._memory_bytes = 0
        self._lock = Lock()
        self._told: set[str] = set()
        self._lock_seconds = lock_seconds
        self._turns: Once | None = None
        self._sites = [EntryFolder(site) for site in sites if self._trusted(site, shared=True)]
        self._own = EntryFolder(path) if path is not None and self._trusted(path) else None

    def get(self, key: str) -> Entry | None:
        """Return the entry of a key after checking its digest, or None."""
        with self._lock:
            known = self._memory.get(key)
            if known is not None:
                self._memory.move_to_end(key)
                return known
        for folder in self._folders():
            entry = self._read(folder, key)
            if entry is not None:
                self._remember(entry)
                return entry
        return None

    def put(self, entry: Entry) -> None:
        """Keep an entry. Where another process wrote the same key first, its folder stays: equal keys, equal images.

        An entry larger than the cap is kept in memory only.
        """
        self._remember(entry)
        if self._own is None or len(entry.image) > self.max_bytes:
            return
        try:
            self._own.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._own.publish(entry):
                self._bounds(self._own).added(len(entry.image))
        except OSError as error:
            self._tell("write", f"cannot write to the kernel cache {self.path} ({error}); images live in memory only")

    def get_or_make(self, key: str, make: Callable[[], Entry]) -> tuple[Entry, bool]:
        """Return the entry of a key, made by ``make`` if need be, and whether it was made here.

        Of all threads and processes that ask for one key at a time, one makes it. What ``make`` raises is raised; a
        CompileError is raised in those that waited for it too, without compiling again.
        """
        entry = self.get(key)
        if entry is not None:
            return entry, False
        if self._own is None:
            return self._make(make), True
        once, began = self._once(self._own), time.time()
        with once.turn(key):
            entry = self.get(key)
            if entry is not None:
                return entry, False
            failure = once.failure_since(key, began)
            if failure is not None:
                raise failure
            try:
                return self._make(make), True
            except CompileError as error:
                once.failed(key, error)
                raise

    def path_of(self, entry: Entry) -> Path | None:
        """Return an entry's image file, None when it lives in memory only."""
        paths = (folder.image_path(entry) for folder in self._folders())
        return next((path for path in paths if path.is_file()), None)

    def entries(self) -> Iterator[tuple[Entry, int, float]]:
        """Yield the readable entries of the user's own folder with bytes on disk and last use (seconds since 1970)."""
        for stored in sorted(self._own.stored() if self._own is not None else (), key=lambda stored: stored.key):
            entry = self._read(self._own, stored.key) if self._own is not None else None
            if entry is not None:
                yield entry, stored.bytes, stored.used

    def prune(self, max_bytes: int) -> int:
        """Remove the least recently used entries beyond ``max_bytes`` and stale leftovers; return the bytes left."""
        if self._own is None:
            return 0
        self._once(self._own).sweep()
        return self._bounds(self._own).shrink(max_bytes)

    def clear(self) -> int:
        """Remove every entry of the user's own folder and return how many there were."""
        with self._lock:
            self._memory.clear()
            self._memory_bytes = 0
        return self._own.clear() if self._own is not None else 0

    def info(self) -> CacheInfo:
        """Count entries and bytes of the user's own folder."""
        sizes = [stored.bytes for stored in self._own.stored()] if self._own is not None else []
        return CacheInfo(str(self.path or ""), len(sizes), sum(sizes), self.max_bytes, self._writable())

    def _folders(self) -> list[EntryFolder]:
        return self._sites if self._own is None else [*self._sites, self._own]

    def _read(self, folder: EntryFolder, key: str) -> Entry | None:
        try:
            return folder.read(key)
        except BadEntryError as error:
            folder.quarantine(key)
            self._tell("damage", f"a damaged entry of the kernel cache was set aside ({folder.path}, {key}: {error})")
        except OSError as error:  # too many open files, say: the entry itself may be good
            self._tell("read", f"cannot read from the kernel cache {folder.path} ({error})")
        return None

    def _make(self, make: Callable[[], Entry]) -> Entry:
        entry = make()
        self.put(entry)
        return entry

    def _remember(self, entry: Entry) -> None:
        with self._lock:
            replaced = self._memory.pop(entry.key, None)
            self._memory[entry.key] = entry
            self._memory_bytes += len(entry.image) - (len(replaced.image) if replaced is not None else 0)
            # Where nothing is on disk, memory is all there is: then it keeps everything.
            while self._own is not None and self._memory_bytes > _MEMORY_BYTES and len(self._memory) > 1:
                _, oldest = self._memory.popitem(last=False)
                self._memory_bytes -= len(oldest.image)

    def _trusted(self, path: Path, *, shared: bool = False) -> bool:
        reason = distrust(path, shared=shared)
        if reason is not None:
            self._tell(str(path), f"the kernel cache is not used: {reason}")
        return reason is None

    def _writable(self) -> bool:
        if self._own is None:
            return False
        existing = next((path for path in (self._own.path, *self._own.path.parents) if path.exists()), self._own.path)
        return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)

    def _bounds(self, folder: EntryFolder) -> Bounds:
        from hatch_cuda_kernels.cache.bounds import Bounds  # noqa: PLC0415 - a hit needs no lock

        return Bounds(folder, self.max_bytes)

    def _once(self, folder: EntryFolder) -> Once:
        from hatch_cuda_kernels.cache.once import Once  # noqa: PLC0415 - a hit needs no lock

        with self._lock:
            if self._turns is None:
                self._turns = Once(folder.root, timeout=self._lock_seconds)
            return self._turns

    def _tell(self, trouble: str, message: str) -> None:
        if trouble not in self._told:
            self._told.add(trouble)
            warn_user(message)
