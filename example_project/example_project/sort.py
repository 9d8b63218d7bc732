"""Sorting in tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from example_project._arrays import out_or_empty, view
from example_project._store import STORE, blocks_for

if TYPE_CHECKING:
    from example_project._arrays import ArrayT

__all__ = ["TILE", "sort_tiles"]

_CPP = {"int32": "int", "uint32": "unsigned int", "float32": "float"}
_BLOCK = 128
_ITEMS = 16

#: Keys in a tile.
TILE = _BLOCK * _ITEMS


def sort_tiles(x: ArrayT, *, out: ArrayT | None = None) -> ArrayT:
    """Sort each run of `TILE` keys of `x` on its own, ascending; the last run may be shorter.

    `x` is a one-dimensional int32, uint32 or float32 array. The result goes to `out`, which may be `x`, or to a new
    array. NaN sorts last, or first where its sign bit is set. Raises TypeError or ValueError for other arrays.
    """
    source = view(x, "x", _CPP, ndim=1)
    result, _ = out_or_empty(out, x, source)
    if source.size:
        kernel = STORE.instantiate("sort_tiles", KEY=_CPP[source.dtype])
        kernel[blocks_for(source.size, TILE), _BLOCK](x, result, source.size)
    return result
