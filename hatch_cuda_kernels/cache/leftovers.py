"""What writers that died left behind, and what was set aside: counted, and removed when it is old."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.cache.files import list_folder, remove_tree

if TYPE_CHECKING:
    import os

    from hatch_cuda_kernels.cache.folder import EntryFolder

__all__ = ["leftover_bytes", "sweep"]

#: Temporaries older than this were left by a process that died; younger ones may be in use.
_STALE_SECONDS: Final = 3600.0
_QUARANTINE_SECONDS: Final = 24 * 3600.0
#: The last few damaged entries are enough to find out what happened.
_MOST_QUARANTINED: Final = 8


def sweep(folder: EntryFolder) -> None:
    """Remove temporaries and quarantined entries that are old, and all but the last few quarantined ones."""
    for found in list_folder(folder.staging):
        if _age(found) > _STALE_SECONDS:
            remove_tree(folder.staging / found.name)
    quarantined = sorted(list_folder(folder.quarantined), key=_age)
    for place, found in enumerate(quarantined):
        if place >= _MOST_QUARANTINED or _age(found) > _QUARANTINE_SECONDS:
            remove_tree(folder.quarantined / found.name)


def leftover_bytes(folder: EntryFolder) -> int:
    """Return the bytes of what is being written or removed, or was set aside."""
    found = (*list_folder(folder.staging), *list_folder(folder.quarantined))
    return sum(map(_size, found))


def _age(found: os.DirEntry[str]) -> float:
    """Return seconds since the last change. One far in the future is as old: the clock was set back since."""
    try:
        return abs(time.time() - found.stat(follow_symlinks=False).st_mtime)
    except OSError:
        return 0.0


def _size(found: os.DirEntry[str]) -> int:
    try:
        inside = list_folder(found.path) if found.is_dir(follow_symlinks=False) else [found]
        return sum(file.stat(follow_symlinks=False).st_size for file in inside)
    except OSError:  # removed meanwhile
        return 0
