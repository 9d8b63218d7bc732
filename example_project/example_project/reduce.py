"""Sums that have the same bits on every run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from example_project._arrays import new_empty, view
from example_project._store import STORE

if TYPE_CHECKING:
    from example_project._arrays import ArrayT

__all__ = ["block_sums", "total"]

_CPP = {"float32": "float", "float64": "double"}
_MAX_SUMS = 1024
_PREBUILT_BLOCK = 256


def block_sums(x: ArrayT, *, block: int = _PREBUILT_BLOCK) -> ArrayT:
    """Return 1 to 1024 partial sums of `x`, a float32 or float64 array of any shape.

    Sum b covers the elements i, in C order, with ``i // block % len(sums) == b``. `block` is a power of two from 32 to
    1024: the package carries 128 and 256, and compiles others at first use. Raises TypeError or ValueError for other
    arguments.
    """
    if block not in (32, 64, 128, 256, 512, 1024):
        raise ValueError(f"block must be a power of two from 32 to 1024, not {block}")
    source = view(x, "x", _CPP)
    blocks = max(1, min(-(-source.size // block), _MAX_SUMS))
    sums = new_empty(x, (blocks,))
    STORE.instantiate("block_sum", T=_CPP[source.dtype], BLOCK=block)[blocks, block](x, sums, source.size)
    return sums


def total(x: ArrayT) -> ArrayT:
    """Return the sum of a float32 or float64 array of any shape, as an array of shape () on the device.

    Raises TypeError or ValueError as `block_sums` does. Nothing is added atomically, so the result is reproducible.
    """
    sums = block_sums(x)
    source = view(sums, "sums", _CPP)
    result = new_empty(x, ())
    kernel = STORE.instantiate("block_sum", T=_CPP[source.dtype], BLOCK=_PREBUILT_BLOCK)
    kernel[1, _PREBUILT_BLOCK](sums, result, source.size)
    return result
