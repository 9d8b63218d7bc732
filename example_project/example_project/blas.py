"""Vector arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from example_project._arrays import require_disjoint, view
from example_project._store import STORE, blocks_for

if TYPE_CHECKING:
    from example_project._arrays import ArrayT, CudaArray

__all__ = ["saxpy"]

_BLOCK = 256


def saxpy(a: float, x: CudaArray, y: ArrayT) -> ArrayT:
    """Set ``y = a * x + y`` in place and return `y`.

    `x` and `y` are float32 arrays of one shape that do not overlap. Raises TypeError or ValueError for others.
    """
    source = view(x, "x", ("float32",))
    target = view(y, "y", ("float32",), written=True)
    if source.shape != target.shape:
        raise ValueError(f"x and y must have one shape, not {source.shape} and {target.shape}")
    require_disjoint(source, "x", target, "y")
    if target.size:
        STORE.get_kernel("saxpy")[blocks_for(target.size, _BLOCK), _BLOCK](a, x, y, target.size)
    return y
