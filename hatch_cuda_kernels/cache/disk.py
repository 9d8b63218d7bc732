"""A folder of entries: read never raises, write publishes whole or not at all, damage is a miss."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.cache.entry import ENTRY_FILE, ENTRY_SCHEMA, BadEntryError, Entry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["CacheInfo", "DiskCache"]

#: Layout of the folder; entries of other layouts live beside it and are never touched.
_LAYOUT: Final = "v1"


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """Where a cache is, what it holds, and whether this process may write to it."""

    path: str
    entries: int
    bytes: int
    max_bytes: int
    writable: bool


class DiskCache:
    """Entries by key, on disk and (read-through) in memory.

    ``get`` never raises for what it finds on disk: a damaged entry is moved aside and is a miss. ``put`` never raises
    for what the disk does: an entry that cannot be written is kept in memory for this process, with one warning.
    """

    def __init__(self, path: Path, *, max_bytes: int) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self._root = path / _LAYOUT
        self._memory: dict[str, Entry] = {}
        self._lock = threading.Lock()
        self._warned = False

    def get(self, key: str) -> Entry | None:
        """Return the entry of a key after checking its digest, or None."""
        with self._lock:
            known = self._memory.get(key)
        if known is not None:
            return known
        folder = self._folder(key)
        try:
            entry = _read(folder, key)
        except FileNotFoundError:
            return None
        except (BadEntryError, OSError) as error:
            self._quarantine(folder, error)
            return None
        if entry is not None:
            self._remember(entry)
        return entry

    def put(self, entry: Entry) -> None:
        """Keep an entry. Where another process wrote the same key first, its folder stays: equal keys, equal images."""
        self._remember(entry)
        try:
            self._publish(entry)
        except OSError as error:
            self._warn(f"cannot write to the kernel cache {self.path} ({error}); images live in memory only")

    def path_of(self, entry: Entry) -> Path | None:
        """Return an entry's image file, None when it lives in memory only."""
        path = self._folder(entry.key) / entry.file
        return path if path.is_file() else None

    def clear(self) -> int:
        """Remove every entry and return how many there were."""
        count = sum(1 for _ in self._folders())
        with self._lock:
            self._memory.clear()
        shutil.rmtree(self._root, ignore_errors=True)
        return count

    def info(self) -> CacheInfo:
        """Count entries and bytes."""
        sizes = [sum(file.stat().st_size for file in folder.iterdir()) for folder in self._folders()]
        return CacheInfo(str(self.path), len(sizes), sum(sizes), self.max_bytes, self._writable())

    def _folder(self, key: str) -> Path:
        return self._root / key[:2] / key

    def _folders(self) -> Iterator[Path]:
        yield from (path.parent for path in self._root.glob(f"??/*/{ENTRY_FILE}"))

    def _remember(self, entry: Entry) -> None:
        with self._lock:
            self._memory[entry.key] = entry

    def _writable(self) -> bool:
        existing = next((path for path in (self.path, *self.path.parents) if path.exists()), self.path)
        return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)

    def _publish(self, entry: Entry) -> None:
        """Write beside and rename into place, so that a reader sees the whole entry or none."""
        final = self._folder(entry.key)
        if (final / ENTRY_FILE).exists():
            return
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        staged = self._root / "tmp" / f"{entry.key[:16]}.{os.getpid()}.{time.monotonic_ns()}"
        staged.mkdir(parents=True)
        try:
            (staged / entry.file).write_bytes(entry.image)
            (staged / ENTRY_FILE).write_text(entry.to_json(), encoding="utf-8")
            final.parent.mkdir(exist_ok=True)
            with contextlib.suppress(FileExistsError):
                _rename(staged, final)
        finally:
            shutil.rmtree(staged, ignore_errors=True)

    def _quarantine(self, folder: Path, error: Exception) -> None:
        target = self._root / "quarantine" / f"{folder.name}.{os.getpid()}.{time.monotonic_ns()}"
        with contextlib.suppress(OSError):
            target.parent.mkdir(parents=True, exist_ok=True)
            folder.rename(target)
        self._warn(f"a damaged entry of the kernel cache was set aside ({folder}: {error})")

    def _warn(self, message: str) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(message, RuntimeWarning, stacklevel=4)


def _read(folder: Path, key: str) -> Entry | None:
    """Return the entry, None for a schema this version does not know. Raises OSError and BadEntryError."""
    text = (folder / ENTRY_FILE).read_bytes()
    try:
        data = json.loads(text)
        if data["schema"] != ENTRY_SCHEMA:
            return None
        kind = data["kind"]
    except (ValueError, KeyError, TypeError) as error:
        raise BadEntryError(f"entry.json is damaged: {error}") from error
    if data.get("key") != key:
        raise BadEntryError("entry.json names another key")
    if kind not in {"cubin", "ptx", "ltoir"}:
        raise BadEntryError(f"unknown kind {kind!r}")
    try:
        image = (folder / f"image.{kind}").read_bytes()
    except FileNotFoundError as error:
        raise BadEntryError("the image is missing") from error
    return Entry.from_json(data, image)


def _rename(staged: Path, final: Path) -> None:
    """Rename a folder into place; FileExistsError when another process was first."""
    try:
        staged.rename(final)
    except OSError:
        if (final / ENTRY_FILE).exists():
            raise FileExistsError(final) from None
        raise
