"""One folder of entries on disk: reading, publishing and removing them, whole or not at all.

Layout: ``v1/KK/KEY/`` with ``entry.json`` and the raw image; ``v1/tmp`` for what is being written or removed;
``v1/quarantine`` for what was found damaged; ``notes`` for what was learnt of this machine. Nothing here decides about
trust, size or locks.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.cache.entry import ENTRY_FILE, ENTRY_SCHEMA, BadEntryError, Entry, check_description
from hatch_cuda_kernels.cache.files import (
    list_folder,
    long_path,
    make_folder,
    read_file,
    remove_tree,
    rename,
    unique_name,
    write_file,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["EntryFolder", "StoredEntry"]

#: A hit renews an entry's record of use at most this often, so that hits do not write.
_USED_SECONDS: Final = 3600.0
#: An entry may be removed and replaced under a reader, which then has parts of two; not every time.
_READS: Final = 3
_PREFIX_DIGITS: Final = 2


class StoredEntry(NamedTuple):
    """An entry as it lies on disk, unread: its key, size in bytes, and when it was last used (seconds since 1970)."""

    key: str
    bytes: int
    used: float


class EntryFolder:
    """The entries below one folder. Methods raise OSError for what the disk does; the cache decides what that means.

    A ``read_only`` one (a site's) is never written to, not even to record a use or to set damage aside.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = long_path(path)
        self.read_only = read_only
        # Another schema gets another folder beside this one: versions that share a cache do not meet.
        self.root = self.path / f"v{ENTRY_SCHEMA}"
        self.staging = self.root / "tmp"
        self.quarantined = self.root / "quarantine"
        self.notes = self.path / "notes"

    def read(self, key: str, *, use: bool = True) -> Entry | None:
        """Return the entry of a key after checking its digests; None where there is none, or of another schema.

        Raises BadEntryError for a damaged one. ``use`` records that the entry was wanted.
        """
        folder = self._folder(key)
        for attempt in range(1, _READS + 1):
            try:
                entry = _read(folder, key)
            except (FileNotFoundError, NotADirectoryError):
                return None
            except BadEntryError:
                if attempt == _READS:
                    raise
            else:
                if entry is not None and use and not self.read_only:
                    _renew(folder)
                return entry
        return None

    def holds(self, key: str) -> bool:
        """Return whether an entry of this key is there, unread."""
        return (self._folder(key) / ENTRY_FILE).exists()

    def publish(self, key: str, files: dict[str, bytes]) -> bool:
        """Write an entry's files beside its place and rename them there; False where the key had been published.

        A reader sees the whole entry or none. What else is in its place, such as half a folder, is set aside.
        """
        with contextlib.suppress(FileNotFoundError):
            return self._publish(key, files)
        return self._publish(key, files)  # somebody removed a folder on the way

    def remove(self, stored: StoredEntry) -> bool:
        """Remove an entry and return whether it is gone; one that was used or replaced since it was listed stays.

        It disappears from its place in one step, so that a reader finds it whole or not at all. On Windows one that is
        in use stays, too.
        """
        folder = self._folder(stored.key)
        moved = self._move_away(folder, self.staging) if _last_use(folder) == stored.used else None
        if moved is not None:
            remove_tree(moved)
        return not os.path.lexists(folder)

    def quarantine(self, key: str) -> bool:
        """Set a damaged entry aside, for whoever wants to know what happened to it; False where it is not damaged.

        Another process that found the same may have replaced it since it was read.
        """
        folder = self._folder(key)
        moved = self._move_away(folder, self.quarantined)
        if moved is None:
            return os.path.lexists(folder)
        with contextlib.suppress(BadEntryError, OSError):
            _read(moved, key)
            rename(moved, folder)
            return False
        return True

    def stored(self) -> Iterator[StoredEntry]:
        """Yield every entry with its size and last use, in no order. What has no description was never used."""
        for prefix in list_folder(self.root):
            for found in list_folder(prefix.path) if len(prefix.name) == _PREFIX_DIGITS else ():
                if found.is_dir(follow_symlinks=False):
                    yield StoredEntry(found.name, _size(found.path), _last_use(found.path))

    def tidy(self) -> None:
        """Remove empty folders of entries, and the notes: what they say is found out again when it is needed."""
        remove_tree(self.notes)
        for prefix in list_folder(self.root):
            if len(prefix.name) == _PREFIX_DIGITS:
                with contextlib.suppress(OSError):  # it is not empty
                    (self.root / prefix.name).rmdir()

    def image_path(self, entry: Entry) -> Path:
        """Return where an entry's image is, if it is here."""
        return self._folder(entry.key) / entry.file

    def _folder(self, key: str) -> Path:
        return self.root / key[:_PREFIX_DIGITS] / key

    def _publish(self, key: str, files: dict[str, bytes]) -> bool:
        if self.holds(key):
            return False
        final, staged = self._folder(key), self.staging / unique_name(key[:16])
        make_folder(staged)
        placed = False
        try:
            for name, data in files.items():
                write_file(staged / name, data)
            make_folder(final.parent)
            placed = self._place(staged, final)
        finally:
            if not placed:
                remove_tree(staged)
        return placed

    def _place(self, staged: Path, final: Path) -> bool:
        """Rename a finished entry to its place, False where another is there by now."""
        for last in (False, True):
            try:
                rename(staged, final)
            except OSError:
                if self.holds(final.name):
                    return False
                if last or not os.path.lexists(final):
                    raise
                self._move_away(final, self.quarantined)
            else:
                break
        return True

    @staticmethod
    def _move_away(folder: Path, place: Path) -> Path | None:
        """Rename a folder to another place, and return where it is; None where that cannot be done."""
        target = place / unique_name(folder.name[:16])
        try:
            make_folder(place)
            rename(folder, target)
            os.utime(target, follow_symlinks=False)  # its age counts from now
        except OSError:
            return target if os.path.lexists(target) else None
        return target


def _read(folder: Path, key: str) -> Entry | None:
    if stat.S_ISLNK(folder.lstat().st_mode):
        raise BadEntryError("the entry is a symbolic link")
    text = read_file(folder / ENTRY_FILE)
    try:
        data = json.loads(text)
        check_description(data, key)
    except (ValueError, RecursionError) as error:
        raise BadEntryError(f"entry.json is damaged: {error}") from error
    if data["schema"] != ENTRY_SCHEMA:
        return None
    try:
        image = read_file(folder / data["file"])
    except FileNotFoundError as error:
        raise BadEntryError("the image is missing") from error
    return Entry.from_json(data, image)


def _renew(folder: Path) -> None:
    """Record a use as the description's modification time, which nothing else changes; never atime, which lies."""
    with contextlib.suppress(OSError):  # a read-only file system keeps no record
        if abs(time.time() - _last_use(folder)) > _USED_SECONDS:
            os.utime(folder / ENTRY_FILE)


def _last_use(folder: Path | str) -> float:
    try:
        return os.lstat(os.path.join(folder, ENTRY_FILE)).st_mtime  # noqa: PTH118 - thousands of times in a listing
    except OSError:
        return 0.0


def _size(folder: str) -> int:
    size = 0
    for found in list_folder(folder):
        with contextlib.suppress(OSError):  # removed meanwhile
            size += found.stat(follow_symlinks=False).st_size
    return size
