"""Image filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from example_project._arrays import current_stream, out_or_empty, require_disjoint, view
from example_project._store import STORE, blocks_for

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from example_project._arrays import ArrayT

__all__ = ["filter2d"]

_RADIUS = {(3, 3): 1, (5, 5): 2}
_TILE_W = 32
_TILE_H = 8


def filter2d(image: ArrayT, weights: ArrayLike, *, out: ArrayT | None = None) -> ArrayT:
    """Correlate `image`, float32 of shape (height, width), with `weights`; outside, the nearest pixel counts.

    `weights` are 3 x 3 or 5 x 5 numbers on the host. The result goes to `out`, which must not overlap `image`, or to a
    new array. Calls on several streams are safe, and run one after the other. Not for stream capture.
    Raises TypeError or ValueError for other arguments.
    """
    # The driver may read this after the call has returned, so it must be a copy that the caller cannot change.
    taps = np.array(weights, dtype=np.float32, order="C")
    radius = _RADIUS.get(taps.shape)
    if radius is None:
        raise ValueError(f"weights must be 3 x 3 or 5 x 5, not of shape {taps.shape}")
    source = view(image, "image", ("float32",), ndim=2)
    result, target = out_or_empty(out, image, source)
    require_disjoint(source, "image", target, "out")
    height, width = source.shape
    if not source.size:
        return result

    from example_project._constant import holding

    stream = current_stream(image)
    kernel = STORE.instantiate("filter2d", RADIUS=radius)
    grid = blocks_for(-(-height // _TILE_H) * -(-width // _TILE_W), 1)
    with holding(kernel.get_global("d_filter"), taps, stream):
        kernel.launch(grid, _TILE_W * _TILE_H, (image, result, height, width), stream=stream)
    return result
