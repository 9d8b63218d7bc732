"""How large a folder of entries may grow: a running total below the cap, the least recently used removed above it."""

from __future__ import annotations

import contextlib
import json
import time
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.cache.folder import QUARANTINE, STAGING
from hatch_cuda_kernels.cache.leftovers import leftover_bytes, sweep
from hatch_cuda_kernels.cache.locks import held
from hatch_cuda_kernels.cache.publishing import evict
from hatch_cuda_kernels.cache.writing import made, remove, replace

if TYPE_CHECKING:
    from hatch_cuda_kernels.cache.files import Folder
    from hatch_cuda_kernels.cache.folder import EntryFolder, StoredEntry

__all__ = ["Bounds"]

_TOTAL: Final = "total.json"
_LOCK: Final = "total.lock"
_LOCK_SECONDS: Final = 2.0
_MOST_TEXT: Final = 1000
#: Above the cap, room is made down to this share of it, so that not every write has to.
_KEEP: Final = 0.9
#: A wrong total (a crash between a write and its count, a folder removed by hand) is corrected after this time.
_RECOUNT_SECONDS: Final = 24 * 3600.0
#: As exact as uses are recorded. A use later than that from now was recorded before the clock was set back.
_FUTURE_SECONDS: Final = 3600.0


class Bounds:
    """The cap of one folder.

    A write adds its size to a total in a file, so that nothing is listed below the cap. The total is counted anew once
    a day, and whenever room is made. Its lock only keeps it exact: without one, everything goes on. Nothing raises.
    """

    def __init__(self, entries: EntryFolder, max_bytes: int) -> None:
        self._entries = entries
        self._max_bytes = max_bytes

    def added(self, key: str, size: int) -> None:
        """Count an entry that was just published, and keep it if the cap requires others to go."""
        with contextlib.suppress(OSError), self._entries.open() as root, held(root, _LOCK, _LOCK_SECONDS):
            total, counted = _read_total(root)
            total += size
            if total > self._max_bytes or not 0 <= time.time() - counted <= _RECOUNT_SECONDS:
                goal = int(self._max_bytes * _KEEP)
                total, counted = self._shrink(root, self._max_bytes, goal, keep=key), time.time()
            _write_total(root, total, counted)

    def shrink(self, max_bytes: int) -> int:
        """Remove the least recently used entries until at most ``max_bytes`` are left; return the bytes left."""
        total = 0
        with contextlib.suppress(OSError), self._entries.open() as root, held(root, _LOCK, _LOCK_SECONDS):
            total = self._shrink(root, max_bytes, max_bytes)
            _write_total(root, total, time.time())
        return total

    def _shrink(self, root: Folder, most: int, goal: int, keep: str = "") -> int:
        """Count anew; of more than ``most`` bytes, leave no more than ``goal``. What is damaged goes first."""
        sweep(root)
        stored = sorted(self._entries.stored(), key=_use_order)
        stored_bytes = sum(entry.bytes for entry in stored)
        if stored_bytes + leftover_bytes(root) > most:
            remove(root, QUARANTINE)
        total = stored_bytes + leftover_bytes(root)
        for entry in stored if total > most else ():
            if entry.key != keep and total > goal and evict(self._entries, entry):
                total -= entry.bytes
        return total


def _read_total(root: Folder) -> tuple[int, float]:
    """Return the total and when it was last counted, which is never where the file is missing or damaged."""
    try:
        data = json.loads(root.read(_TOTAL, _MOST_TEXT))
        return max(int(data["bytes"]), 0), float(data["counted"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return 0, 0.0


def _write_total(root: Folder, total: int, counted: float) -> None:
    data = json.dumps({"bytes": total, "counted": counted}).encode()
    with contextlib.suppress(OSError), made(root, STAGING) as staging:  # the entry itself was written
        replace(root, _TOTAL, data, staging)


def _use_order(stored: StoredEntry) -> tuple[float, str]:
    """Return what sorts entries by use. A use in the future says nothing, so it counts as long ago."""
    return (0.0 if stored.used > time.time() + _FUTURE_SECONDS else stored.used), stored.key
