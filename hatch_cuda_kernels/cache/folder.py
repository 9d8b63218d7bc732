"""One folder of entries on disk, as readers see it; what changes it is in ``publishing``.

Layout: ``v1/KK/KEY/`` with ``entry.json`` and the raw image; ``v1/tmp`` for what is being written or removed;
``v1/quarantine`` for what was found damaged; ``notes`` for what was learnt of this machine. Nothing here decides about
size or locks.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.cache.entry import ENTRY_FILE, ENTRY_SCHEMA, BadEntryError, Entry, parse_description
from hatch_cuda_kernels.cache.files import long_path, open_folder
from hatch_cuda_kernels.cache.trust import DistrustedError

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.cache.files import Folder

__all__ = [
    "NOTES",
    "QUARANTINE",
    "STAGING",
    "EntryFolder",
    "StoredEntry",
    "has_entry",
    "last_use",
    "prefix_of",
    "read_entry",
]

#: Folders beside those of the entries.
STAGING: Final = "tmp"
QUARANTINE: Final = "quarantine"
#: The folder of notes, beside those of all schemas.
NOTES: Final = "notes"
#: A hit renews an entry's record of use at most this often, so that hits do not write.
_USED_SECONDS: Final = 3600.0
#: An entry may be removed and replaced under a reader, which then has parts of two; not every time.
_READS: Final = 3
_PREFIX_DIGITS: Final = 2
#: No module's names take more: a longer description is damage, which must not fill the memory.
_MOST_TEXT: Final = 64 << 20


class StoredEntry(NamedTuple):
    """An entry as it lies on disk, unread: its key, size in bytes, and when it was last used (seconds since 1970)."""

    key: str
    bytes: int
    used: float


class EntryFolder:
    """The entries below one folder. Methods raise OSError for what the disk does; the cache decides what that means.

    That includes DistrustedError, if another user could have put something there. A ``read_only`` folder (a site's) is
    never written to, not even to record a use or to set damage aside.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = long_path(path)
        self.read_only = read_only
        # Another schema gets another folder beside this one: versions that share a cache do not meet.
        self.root = self.path / f"v{ENTRY_SCHEMA}"

    def open_top(self, *, make: bool = False) -> Folder:
        """Open the cache's folder; ``make`` it if it is missing."""
        if make:
            from hatch_cuda_kernels.cache.writing import make_folder  # a hit needs none of it

            make_folder(self.path)
        return open_folder(self.path, shared=self.read_only)

    def open(self, *, make: bool = False) -> Folder:
        """Open the folder in it that holds everything of this schema; ``make`` both if they are missing."""
        with self.open_top(make=make) as top:
            if not make:
                return top.folder(self.root.name)
            from hatch_cuda_kernels.cache.writing import made  # a hit needs none of it

            return made(top, self.root.name)

    def read(self, key: str, *, use: bool = True) -> Entry | None:
        """Return the entry of a key after checking its digests; None where there is none, or of another schema.

        Raises BadEntryError for a damaged one. ``use`` records that the entry was wanted.
        """
        for attempt in range(1, _READS + 1):
            try:
                with self.open() as root, root.folder(prefix_of(key)) as prefix:
                    return read_entry(prefix, key, key, use=use and not self.read_only)
            except (FileNotFoundError, NotADirectoryError):
                return None
            except BadEntryError:
                if attempt == _READS:
                    raise
        return None

    def holds(self, key: str) -> bool:
        """Return whether an entry of this key is there, unread; raises nothing."""
        with contextlib.suppress(OSError), self.open() as root, root.folder(prefix_of(key)) as prefix:
            return has_entry(prefix, key)
        return False

    def stored(self) -> list[StoredEntry]:
        """Return every entry with its size and last use, in no order; raises nothing.

        One without a description, or that cannot be opened, counts as never used.
        """
        found: list[StoredEntry] = []
        with contextlib.suppress(OSError), self.open() as root:
            for name in root.names():
                if len(name) == _PREFIX_DIGITS:
                    with contextlib.suppress(OSError), root.folder(name) as prefix:
                        keys = [key for key in prefix.names() if prefix_of(key) == name]  # the rest is not ours
                        found += filter(None, [_stored(prefix, key) for key in keys])
        return found

    def is_writable(self) -> bool:
        """Return whether this process may write to the folder, or make it."""
        existing = next((path for path in (self.path, *self.path.parents) if path.exists()), self.path)
        return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)

    def image_path(self, entry: Entry) -> Path:
        """Return where an entry's image is, if it is here."""
        return self.root / prefix_of(entry.key) / entry.key / entry.file


def prefix_of(key: str) -> str:
    """Return the name of the folder that an entry's own folder is in."""
    return key[:_PREFIX_DIGITS]


def read_entry(place: Folder, name: str, key: str, *, use: bool = False) -> Entry | None:
    """Return the entry of a key from a folder of any name, or None if it is of another schema.

    Raises BadEntryError for a damaged one, also for one that another user could have written, and OSError.
    """
    try:
        with place.folder(name) as folder:
            data = parse_description(folder.read(ENTRY_FILE, _MOST_TEXT), key)
            entry = Entry.from_json(data, _read_image(folder, data)) if data is not None else None
            if entry is not None and use:
                _renew(folder)
    except DistrustedError as error:
        raise BadEntryError(str(error)) from error
    return entry


def has_entry(prefix: Folder, key: str) -> bool:
    """Return whether there is an entry of this key, or a part of one with a description; raises nothing."""
    with contextlib.suppress(OSError), prefix.folder(key) as folder:
        return folder.has(ENTRY_FILE)
    return False


def last_use(prefix: Folder, key: str) -> float:
    """Return when an entry was last used, in seconds since 1970, or 0 if that is not known; raises nothing."""
    with contextlib.suppress(OSError), prefix.folder(key) as folder:
        return folder.status(ENTRY_FILE).st_mtime
    return 0.0


def _read_image(folder: Folder, data: dict[str, Any]) -> bytes:
    try:
        return folder.read(data["file"], data["bytes"])
    except FileNotFoundError as error:
        raise BadEntryError("the image is missing") from error


def _renew(folder: Folder) -> None:
    """Record a use as the description's modification time, which nothing else changes; never atime, which lies."""
    with contextlib.suppress(OSError):  # a read-only file system keeps no record
        if abs(time.time() - folder.status(ENTRY_FILE).st_mtime) > _USED_SECONDS:
            folder.touch(ENTRY_FILE)


def _stored(prefix: Folder, key: str) -> StoredEntry | None:
    try:
        with prefix.folder(key) as folder:
            files = {name: folder.status(name) for name in folder.names()}
    except (FileNotFoundError, NotADirectoryError):  # removed meanwhile, or no entry
        return None
    except OSError:
        return StoredEntry(key, 0, 0.0)
    used = files[ENTRY_FILE].st_mtime if ENTRY_FILE in files else 0.0
    return StoredEntry(key, sum(found.st_size for found in files.values()), used)
