"""One folder of entries on disk: reading, publishing and removing them, whole or not at all.

Layout: ``v1/KK/KEY/`` with ``entry.json`` and the raw image; ``v1/tmp`` for what is being written or removed;
``v1/quarantine`` for what was found damaged. Nothing here decides about trust, size or locks.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.cache.entry import ENTRY_FILE, ENTRY_SCHEMA, BadEntryError, Entry
from hatch_cuda_kernels.cache.files import read_file, rename, write_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["EntryFolder", "Stored"]

#: Layout of the folder. Another layout gets another name and lives beside this one.
_LAYOUT: Final = "v1"
#: Temporaries older than this were left by a process that died; younger ones may be in use.
_STALE_SECONDS: Final = 3600.0
#: A hit renews an entry's record of use at most this often, so that hits do not write.
_USED_SECONDS: Final = 3600.0
_KINDS: Final = frozenset({"cubin", "ptx", "ltoir"})


class Stored(NamedTuple):
    """An entry as it lies on disk, unread: its key, size in bytes, and when it was last used (seconds since 1970)."""

    key: str
    bytes: int
    used: float


class EntryFolder:
    """The entries below one folder. Methods raise OSError for what the disk does; the cache decides what that means."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.root = path / _LAYOUT

    def read(self, key: str) -> Entry | None:
        """Return the entry of a key after checking its digest; None where there is none, or of another schema.

        Raises BadEntryError for a damaged one.
        """
        folder = self._folder(key)
        try:
            entry = _read(folder, key)
        except FileNotFoundError:
            return None
        except BadEntryError:
            if not folder.exists():  # removed while it was being read
                return None
            raise
        if entry is not None:
            self._renew(folder)
        return entry

    def publish(self, entry: Entry) -> bool:
        """Write an entry beside its place and rename it there; False where another process had published the key.

        A reader sees the whole entry or none. A folder without a description, left by a crash, is replaced.
        """
        final = self._folder(entry.key)
        if (final / ENTRY_FILE).exists():
            return False
        staged = self._staged(entry.key)
        staged.mkdir(mode=0o700, parents=True)
        try:
            write_file(staged / entry.file, entry.image)
            write_file(staged / ENTRY_FILE, entry.to_json().encode())
            final.parent.mkdir(mode=0o700, exist_ok=True)
            return self._place(staged, final)
        finally:
            shutil.rmtree(staged, ignore_errors=True)

    def remove(self, key: str) -> bool:
        """Remove an entry; False where it is gone already or (on Windows) in use.

        It disappears from its place in one step, so that a reader finds it whole or not at all.
        """
        return self._move_away(self._folder(key), "tmp", delete=True)

    def quarantine(self, key: str) -> None:
        """Set a damaged entry aside, for whoever wants to know what happened to it."""
        self._move_away(self._folder(key), "quarantine", delete=False)

    def stored(self) -> Iterator[Stored]:
        """Yield every entry with its size and last use, in no order."""
        for description in self.root.glob(f"??/*/{ENTRY_FILE}"):
            with contextlib.suppress(OSError):  # removed meanwhile
                size = sum(file.stat().st_size for file in description.parent.iterdir())
                yield Stored(description.parent.name, size, description.stat().st_mtime)

    def sweep(self) -> None:
        """Remove temporaries and quarantined entries that are old; young ones may be in use, or of interest."""
        for name, seconds in (("tmp", _STALE_SECONDS), ("quarantine", 24 * _STALE_SECONDS)):
            with contextlib.suppress(OSError):
                for path in list((self.root / name).iterdir()):
                    if time.time() - path.stat().st_mtime > seconds:
                        shutil.rmtree(path, ignore_errors=True)

    def clear(self) -> int:
        """Remove every entry and everything else of this layout; return how many entries there were."""
        count = sum(self.remove(stored.key) for stored in list(self.stored()))
        shutil.rmtree(self.root, ignore_errors=True)
        return count

    def image_path(self, entry: Entry) -> Path:
        """Return where an entry's image is, if it is here."""
        return self._folder(entry.key) / entry.file

    def _folder(self, key: str) -> Path:
        return self.root / key[:2] / key

    def _staged(self, key: str, name: str = "tmp") -> Path:
        return self.root / name / f"{key[:16]}.{os.getpid()}.{time.monotonic_ns()}"

    def _place(self, staged: Path, final: Path) -> bool:
        try:
            rename(staged, final)
        except OSError:
            if (final / ENTRY_FILE).exists():
                return False
            if not final.exists():
                raise
            self._move_away(final, "tmp", delete=True)
            rename(staged, final)
        return True

    def _move_away(self, folder: Path, name: str, *, delete: bool) -> bool:
        target = self._staged(folder.name, name)
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            rename(folder, target)
        except OSError:
            return False
        if delete:
            shutil.rmtree(target, ignore_errors=True)
        return True

    def _renew(self, folder: Path) -> None:
        """Record a use as the description's modification time, which nothing else changes; never atime, which lies."""
        with contextlib.suppress(OSError):  # a read-only folder keeps no record
            if abs(time.time() - (folder / ENTRY_FILE).stat().st_mtime) > _USED_SECONDS:
                os.utime(folder / ENTRY_FILE)


def _read(folder: Path, key: str) -> Entry | None:
    if folder.is_symlink():
        raise BadEntryError("the entry is a symbolic link")
    text = read_file(folder / ENTRY_FILE)
    try:
        data = json.loads(text)
        if data["schema"] != ENTRY_SCHEMA:
            return None
        kind = data["kind"]
    except (ValueError, KeyError, TypeError) as error:
        raise BadEntryError(f"entry.json is damaged: {error}") from error
    if data.get("key") != key:
        raise BadEntryError("entry.json names another key")
    if kind not in _KINDS:
        raise BadEntryError(f"unknown kind {kind!r}")
    try:
        image = read_file(folder / f"image.{kind}")
    except FileNotFoundError as error:
        raise BadEntryError("the image is missing") from error
    return Entry.from_json(data, image)
