"""Layers of neural networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from example_project._arrays import out_or_empty, view
from example_project._store import MAX_BLOCKS, STORE

if TYPE_CHECKING:
    from example_project._arrays import ArrayT

__all__ = ["softmax"]

_WARP_COLUMNS = 512


def softmax(x: ArrayT, *, out: ArrayT | None = None) -> ArrayT:
    """Return the softmax over the last axis of `x`, a float16 array of shape (rows, columns), computed in float32.

    The result goes to `out`, which may be `x`, or to a new array. A row of -inf alone, or with NaN or +inf in it, gives
    NaN. Raises TypeError or ValueError for other dtypes, shapes and layouts.
    """
    source = view(x, "x", ("float16",), ndim=2)
    result, _ = out_or_empty(out, x, source)
    rows, columns = source.shape
    if source.size:
        block = 32 if columns <= _WARP_COLUMNS else 256
        STORE.instantiate("softmax", BLOCK=block)[min(rows, MAX_BLOCKS), block](x, result, rows, columns)
    return result
