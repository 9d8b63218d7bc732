"""How large a folder of entries may grow: a running total below the cap, the least recently used removed above it."""

from __future__ import annotations

import contextlib
import json
import time
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.cache.files import read_file, remove_tree, replace_file
from hatch_cuda_kernels.cache.leftovers import leftover_bytes, sweep
from hatch_cuda_kernels.cache.locks import held

if TYPE_CHECKING:
    from hatch_cuda_kernels.cache.folder import EntryFolder, StoredEntry

__all__ = ["Bounds"]

_LOCK_SECONDS: Final = 2.0
#: Above the cap, room is made down to this share of it, so that not every write has to.
_KEEP: Final = 0.9
#: A total that is off (a crash between a write and its count, a folder removed by hand) is off for no longer.
_RECOUNT_SECONDS: Final = 24 * 3600.0
#: As exact as uses are recorded. A use later than that from now was recorded before the clock was set back.
_FUTURE_SECONDS: Final = 3600.0


class Bounds:
    """The cap of one folder.

    A write adds its size to a total in a file, so that nothing is listed below the cap; the total is counted anew once
    a day, and whenever room is made. Without its lock, which only keeps it exact, all goes on.
    """

    def __init__(self, folder: EntryFolder, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._path = folder.root / "total.json"

    def added(self, key: str, size: int) -> None:
        """Account for an entry that was published just now, and keep it when the cap asks for room."""
        with held(self._folder.root / "total.lock", _LOCK_SECONDS):
            total, counted = self._read_total()
            total += size
            if total > self._max_bytes or not 0 <= time.time() - counted <= _RECOUNT_SECONDS:
                total, counted = self._shrink(self._max_bytes, int(self._max_bytes * _KEEP), keep=key), time.time()
            self._write_total(total, counted)

    def shrink(self, max_bytes: int) -> int:
        """Remove the least recently used entries until at most ``max_bytes`` are left; return the bytes left."""
        if not self._folder.root.is_dir():
            return 0
        with held(self._folder.root / "total.lock", _LOCK_SECONDS):
            total = self._shrink(max_bytes, max_bytes)
            self._write_total(total, time.time())
        return total

    def _shrink(self, most: int, goal: int, keep: str = "") -> int:
        """Count anew; of more than ``most`` bytes, leave no more than ``goal``. What is damaged goes first."""
        sweep(self._folder)
        entries = sorted(self._folder.stored(), key=_use_order)
        stored_bytes = sum(stored.bytes for stored in entries)
        if stored_bytes + leftover_bytes(self._folder) > most:
            remove_tree(self._folder.quarantined)
        total = stored_bytes + leftover_bytes(self._folder)
        for stored in entries if total > most else ():
            if stored.key != keep and total > goal and self._folder.remove(stored):
                total -= stored.bytes
        return total

    def _read_total(self) -> tuple[int, float]:
        """Return the total and when it was last counted, which is never where the file is missing or damaged."""
        try:
            data = json.loads(read_file(self._path))
            return max(int(data["bytes"]), 0), float(data["counted"])
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return 0, 0.0

    def _write_total(self, total: int, counted: float) -> None:
        data = json.dumps({"bytes": total, "counted": counted}).encode()
        with contextlib.suppress(OSError):  # the entry itself was written
            replace_file(self._path, data, self._folder.staging)


def _use_order(stored: StoredEntry) -> tuple[float, str]:
    """Return what sorts entries by use. A use in the future says nothing, so it counts as long ago."""
    return (0.0 if stored.used > time.time() + _FUTURE_SECONDS else stored.used), stored.key
