"""What the kernels should compute, in numpy: for the tests and for ``python -m example_project``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["block_sums", "filter2d", "saxpy", "softmax", "sort_tiles", "total"]


def saxpy(a: float, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """Return ``a * x + y``, rounded once."""
    return np.asarray(np.float64(np.float32(a)) * x.astype(np.float64) + y, dtype=np.float32)


def block_sums(x: NDArray[Any], block: int, blocks: int) -> NDArray[Any]:
    """Return `blocks` sums; sum b covers the elements i with ``i // block % blocks == b``."""
    flat = x.astype(np.float64).ravel()
    padded = np.pad(flat, (0, -flat.size % (block * blocks)))
    return np.asarray(padded.reshape(-1, blocks, block).sum(axis=(0, 2)), dtype=x.dtype)


def total(x: NDArray[Any]) -> NDArray[Any]:
    """Return the sum as an array of shape ()."""
    return np.asarray(x.sum(dtype=np.float64), dtype=x.dtype)


def softmax(x: NDArray[Any]) -> NDArray[Any]:
    """Return the softmax over the last axis."""
    if not x.size:
        return x.copy()
    wide = x.astype(np.float64)
    with np.errstate(invalid="ignore"):  # -inf minus -inf, for a row that is all masked
        powers = np.exp(wide - wide.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True), dtype=x.dtype)


def sort_tiles(x: NDArray[Any], tile: int) -> NDArray[Any]:
    """Sort each run of `tile` keys on its own."""
    return np.concatenate([x[:0], *(np.sort(x[start : start + tile]) for start in range(0, x.size, tile))])


def filter2d(image: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
    """Correlate with a square of weights; pixels outside take the value of the nearest inside."""
    if not image.size:
        return image.copy()
    side = weights.shape[0]
    padded = np.pad(image.astype(np.float64), side // 2, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (side, side))
    return np.asarray(np.einsum("ijkl,kl->ij", windows, weights.astype(np.float64)), dtype=image.dtype)
