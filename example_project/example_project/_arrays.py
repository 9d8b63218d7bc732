"""Arrays of any framework: reading what they are, and making another of the same kind.

No framework is imported here; one that is asked about is there already. Arrays must be on the current device.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["ArrayT", "CudaArray", "View", "current_stream", "new_empty", "out_or_empty", "require_disjoint", "view"]


class CudaArray(Protocol):
    """What every array here offers: those of torch, CuPy, Numba and others do."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


ArrayT = TypeVar("ArrayT", bound=CudaArray)


@dataclass(frozen=True, slots=True)
class View:
    """What the checks need to know of an array."""

    shape: tuple[int, ...]
    dtype: str
    address: int
    nbytes: int

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)


def view(
    array: CudaArray, name: str, dtypes: Collection[str], *, ndim: int | None = None, written: bool = False
) -> View:
    """Return a C-contiguous device array's shape, dtype and address.

    Raises TypeError for what is no device array or has another dtype, ValueError for another `ndim`, a layout that is
    not C-contiguous, or, where it will be `written`, a read-only array. Messages call the array `name`.
    """
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is None:
        raise TypeError(f"{name} is not an array on a CUDA device ({type(array).__name__}): move it there first")
    shape, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
    address, read_only = interface["data"]
    if dtype.name not in dtypes:
        raise TypeError(f"{name} must be {' or '.join(dtypes)}, not {dtype.name}: convert it first")
    if ndim is not None and len(shape) != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s), not shape {shape}: reshape it first")
    if not _is_contiguous(shape, interface.get("strides"), dtype.itemsize):
        raise ValueError(f"{name} must be C-contiguous (shape {shape}, strides {interface['strides']}): copy it first")
    if written and read_only:
        raise ValueError(f"{name} is read-only, and the result goes there: pass a writable array")
    return View(shape, dtype.name, address or 0, math.prod(shape) * dtype.itemsize)


def _is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...] | None, itemsize: int) -> bool:
    if strides is None or 0 in shape:
        return True
    expected = itemsize
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length != 1 and stride != expected:
            return False
        expected *= length
    return True


def require_disjoint(a: View, a_name: str, b: View, b_name: str) -> None:
    """Raise ValueError if two arrays share memory: the kernel's pointers are ``__restrict__``."""
    if a.nbytes and b.nbytes and a.address < b.address + b.nbytes and b.address < a.address + a.nbytes:
        raise ValueError(f"{a_name} and {b_name} must not overlap: pass a copy of one of them")


def new_empty(array: ArrayT, shape: tuple[int, ...]) -> ArrayT:
    """Return an uninitialised array of another shape in `array`'s framework, with its dtype and device.

    Raises TypeError where the framework has no way to make one.
    """
    own = getattr(array, "new_empty", None)  # torch
    if own is not None:
        return cast("ArrayT", own(shape))
    empty = getattr(sys.modules[type(array).__module__.partition(".")[0]], "empty", None)  # cupy
    if empty is None:
        raise TypeError(f"cannot make a new {type(array).__name__}: pass out=")
    return cast("ArrayT", empty(shape, dtype=cast("Any", array).dtype))


def out_or_empty(out: ArrayT | None, like: ArrayT, expected: View) -> tuple[ArrayT, View]:
    """Return the caller's `out`, checked to have the shape and dtype of `expected`, or else a new array like `like`."""
    result = new_empty(like, expected.shape) if out is None else out
    checked = view(result, "out", (expected.dtype,), written=True)
    if checked.shape != expected.shape:
        raise ValueError(f"out must have shape {expected.shape}, not {checked.shape}")
    return result, checked


def current_stream(array: CudaArray) -> int:
    """Return the handle of the stream that `array`'s framework is working on, 0 for the default stream."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):  # torch's interface does not say
        return int(torch.cuda.current_stream(array.device).cuda_stream)
    return int(array.__cuda_array_interface__.get("stream") or 0)
