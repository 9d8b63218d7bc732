"""What changes a folder of entries. Publishing, removing and setting aside take one step each, as readers see it."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from hatch_cuda_kernels.cache.entry import BadEntryError
from hatch_cuda_kernels.cache.folder import NOTES, QUARANTINE, STAGING, has_entry, last_use, prefix_of, read_entry
from hatch_cuda_kernels.cache.writing import made, move, remove, unique_name, write

if TYPE_CHECKING:
    from hatch_cuda_kernels.cache.files import Folder
    from hatch_cuda_kernels.cache.folder import EntryFolder, StoredEntry

__all__ = ["evict", "evict_all", "publish", "quarantine"]


def publish(entries: EntryFolder, key: str, files: dict[str, bytes]) -> bool:
    """Write an entry's files beside its place and rename them there; return False if the key had been published.

    A reader sees the whole entry or none. Anything else in its place, such as half a folder, is set aside. Raises
    OSError.
    """
    with contextlib.suppress(FileNotFoundError):
        return _publish(entries, key, files)
    return _publish(entries, key, files)  # somebody removed a folder on the way


def evict(entries: EntryFolder, stored: StoredEntry) -> bool:
    """Remove an entry and return whether it is gone; one that was used or replaced since it was listed stays.

    It disappears from its place in one step, so a reader finds it whole or not at all. On Windows, one that is in use
    stays as well. Raises nothing.
    """
    key = stored.key
    try:
        with entries.open() as root, root.folder(prefix_of(key)) as prefix, made(root, STAGING) as staging:
            if last_use(prefix, key) == stored.used:
                remove(staging, _move_away(prefix, key, staging))
            return not prefix.has(key)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def evict_all(entries: EntryFolder) -> int:
    """Remove all entries, those that were set aside, and the notes; return how many of the first are gone.

    Raises nothing.
    """
    count = sum(evict(entries, stored) for stored in entries.stored())
    with contextlib.suppress(OSError), entries.open_top() as top:
        remove(top, NOTES)
    with contextlib.suppress(OSError), entries.open() as root:
        remove(root, QUARANTINE)
        for name in (name for name in root.names() if prefix_of(name) == name):
            with contextlib.suppress(OSError):  # it is not empty
                os.rmdir(root.at(name), dir_fd=root.descriptor)
    return count


def quarantine(entries: EntryFolder, key: str) -> bool:
    """Set a damaged entry aside, for whoever wants to know what happened to it; return False if it is not damaged.

    Another process that found the same may have replaced it since it was read. Raises OSError if it cannot be moved.
    """
    with entries.open() as root, root.folder(prefix_of(key)) as prefix, made(root, QUARANTINE) as aside:
        try:
            moved = _move_away(prefix, key, aside)
        except FileNotFoundError:
            return False
        with contextlib.suppress(BadEntryError, OSError):
            read_entry(aside, moved, key)
            move(aside, moved, prefix, key)
            return False
    return True


def _publish(entries: EntryFolder, key: str, files: dict[str, bytes]) -> bool:
    with entries.open(make=True) as root, made(root, prefix_of(key)) as prefix, made(root, STAGING) as staging:
        if has_entry(prefix, key):
            return False
        staged, placed = unique_name(key[:16]), False
        try:
            with made(staging, staged) as folder:
                for name, data in files.items():
                    write(folder, name, data)
            placed = _place(root, staging, staged, prefix, key)
        finally:
            if not placed:
                remove(staging, staged)
    return placed


def _place(root: Folder, staging: Folder, staged: str, prefix: Folder, key: str) -> bool:
    """Rename a finished entry to its place, False where another is there by now."""
    for last in (False, True):
        try:
            move(staging, staged, prefix, key)
        except OSError:
            if has_entry(prefix, key):
                return False
            if last or not prefix.has(key):
                raise
            with contextlib.suppress(OSError), made(root, QUARANTINE) as aside:
                _move_away(prefix, key, aside)
        else:
            break
    return True


def _move_away(prefix: Folder, key: str, place: Folder) -> str:
    """Rename an entry's folder into another place and return its name there. Raises OSError."""
    moved = unique_name(key[:16])
    try:
        move(prefix, key, place, moved)
        place.touch(moved)  # its age counts from now
    except OSError:
        if not place.has(moved):
            raise
    return moved
