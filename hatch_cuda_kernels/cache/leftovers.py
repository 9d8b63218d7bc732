"""What killed writers left behind, and what was set aside: counted, and removed when it is old. Nothing here raises.

Functions take the open folder of a schema, which holds both.
"""

from __future__ import annotations

import contextlib
import stat
import time
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.cache.folder import QUARANTINE, STAGING
from hatch_cuda_kernels.cache.writing import remove

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from hatch_cuda_kernels.cache.files import Folder

__all__ = ["leftover_bytes", "sweep"]

#: Temporaries older than this were left by a process that was killed; younger ones may be in use.
_STALE_SECONDS: Final = 3600.0
_QUARANTINE_SECONDS: Final = 24 * 3600.0
#: The last few damaged entries are enough to find out what happened to them.
_MOST_QUARANTINED: Final = 8


def sweep(root: Folder) -> None:
    """Remove temporaries and quarantined entries that are old, and all but the last few quarantined ones."""
    with contextlib.suppress(OSError), root.folder(STAGING) as staging:
        for name, found in _listed(staging):
            if _age(found) > _STALE_SECONDS:
                remove(staging, name)
    with contextlib.suppress(OSError), root.folder(QUARANTINE) as quarantine:
        ages = sorted((_age(found), name) for name, found in _listed(quarantine))
        for place, (age, name) in enumerate(ages):
            if place >= _MOST_QUARANTINED or age > _QUARANTINE_SECONDS:
                remove(quarantine, name)


def leftover_bytes(root: Folder) -> int:
    """Return the bytes of what is being written or removed, or was set aside."""
    total = 0
    for name in (STAGING, QUARANTINE):
        with contextlib.suppress(OSError), root.folder(name) as place:
            total += sum(_size(place, inside, found) for inside, found in _listed(place))
    return total


def _listed(folder: Folder) -> Iterator[tuple[str, os.stat_result]]:
    for name in folder.names():
        with contextlib.suppress(OSError):  # removed meanwhile
            yield name, folder.status(name)


def _age(found: os.stat_result) -> float:
    """Return seconds since the last change. One far in the future is as old: the clock was set back since."""
    return abs(time.time() - found.st_mtime)


def _size(place: Folder, name: str, found: os.stat_result) -> int:
    if not stat.S_ISDIR(found.st_mode):
        return found.st_size
    with contextlib.suppress(OSError), place.folder(name) as folder:
        return sum(inside.st_size for _, inside in _listed(folder))
    return 0
