"""Every kernel against its numpy reference, on the current device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import example_project as ours
from example_project import reference
from example_project._device_array import DeviceArray

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

__all__ = ["Check", "error_of", "run_checks"]

_SIZE = 1_000_003  # prime: no multiple of any block or tile
_WEIGHTS = np.arange(25, dtype=np.float32).reshape(5, 5) / 300  # no symmetry, so a flip or transposition shows


class Check(NamedTuple):
    """One comparison: the largest error, as a fraction of the largest value expected (or of 1), and what is allowed."""

    name: str
    error: float
    tolerance: float

    @property
    def ok(self) -> bool:
        """Whether the error is within the tolerance; NaN is not."""
        return self.error <= self.tolerance


def error_of(result: NDArray[Any], expected: NDArray[Any]) -> float:
    """Return the largest difference as a fraction of the largest expected value, or of 1 if that is greater."""
    if result.shape != expected.shape or result.dtype != expected.dtype:
        return float("inf")
    if not expected.size:
        return 0.0
    wide = expected.astype(np.float64)
    return float(np.abs(result.astype(np.float64) - wide).max() / max(1.0, np.abs(wide).max()))


def run_checks() -> Iterator[Check]:
    """Yield one result a kernel. A context must be current."""
    random = np.random.default_rng(7)
    for name, tolerance, run in _CASES:
        result, expected = run(random)
        yield Check(name, error_of(result, expected), tolerance)


_Pair = tuple["NDArray[Any]", "NDArray[Any]"]


def _saxpy(random: np.random.Generator) -> _Pair:
    x, y = random.standard_normal((2, _SIZE), dtype=np.float32)
    result = ours.saxpy(2.5, DeviceArray.copy_of(x), DeviceArray.copy_of(y))
    return result.numpy(), reference.saxpy(2.5, x, y)


def _total(dtype: type[np.floating[Any]]) -> Callable[[np.random.Generator], _Pair]:
    def run(random: np.random.Generator) -> _Pair:
        x = random.random(_SIZE).astype(dtype)
        return ours.total(DeviceArray.copy_of(x)).numpy(), reference.total(x)

    return run


def _softmax(columns: int) -> Callable[[np.random.Generator], _Pair]:
    def run(random: np.random.Generator) -> _Pair:
        x = (4 * random.standard_normal((333, columns))).astype(np.float16)
        return ours.softmax(DeviceArray.copy_of(x)).numpy(), reference.softmax(x)

    return run


def _sort(dtype: type[np.number[Any]]) -> Callable[[np.random.Generator], _Pair]:
    def run(random: np.random.Generator) -> _Pair:
        x = random.integers(0, 1 << 31, _SIZE).astype(dtype)
        return ours.sort_tiles(DeviceArray.copy_of(x)).numpy(), reference.sort_tiles(x, ours.TILE)

    return run


def _filter(side: int) -> Callable[[np.random.Generator], _Pair]:
    def run(random: np.random.Generator) -> _Pair:
        image = random.random((601, 1003), dtype=np.float32)
        weights = _WEIGHTS[:side, :side]
        return ours.filter2d(DeviceArray.copy_of(image), weights).numpy(), reference.filter2d(image, weights)

    return run


_CASES: tuple[tuple[str, float, Callable[[np.random.Generator], _Pair]], ...] = (
    ("saxpy", 1e-6, _saxpy),
    ("block_sum<float, 256>", 1e-6, _total(np.float32)),
    ("block_sum<double, 256>", 1e-14, _total(np.float64)),
    ("softmax<32>", 1e-3, _softmax(77)),
    ("softmax<256>", 1e-3, _softmax(1001)),
    ("sort_tiles<int, 128, 16>", 0.0, _sort(np.int32)),
    ("sort_tiles<unsigned int, 128, 16>", 0.0, _sort(np.uint32)),
    ("sort_tiles<float, 128, 16>", 0.0, _sort(np.float32)),
    ("filter2d<1, 32, 8>", 1e-6, _filter(3)),
    ("filter2d<2, 32, 8>", 1e-6, _filter(5)),
)

#: The kernels above, as ``get_kernel`` names them.
KERNELS = tuple(name for name, _, _ in _CASES)
