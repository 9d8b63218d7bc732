"""Arrays that offer DLPack alone (dlpack.h)."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final, TypeVar

from hatch_cuda_kernels.runtime.launch.elements import type_name, word_of_dlpack
from hatch_cuda_kernels.runtime.launch.unusable import FATAL, UnusableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.runtime.launch.elements import Element

__all__ = ["address", "device", "layout"]

T = TypeVar("T")

_CUDA: Final = 2
#: Device types whose memory a kernel can reach: CUDA, pinned host, managed (DLDeviceType).
_REACHABLE: Final = frozenset({_CUDA, 3, 13})


def device(array: Any) -> int | None:
    """Return the ordinal of an array's device, None for memory that is on no CUDA device."""
    kind, ordinal = _device(array)
    return ordinal if kind == _CUDA else None


def address(array: Any, element: Element) -> tuple[int, Any]:
    """Return the address of an array, and the capsule that must be held as long as the address is used.

    Raises UnusableError for memory that kernels cannot reach, and what has no capsule; MismatchError.
    """
    kind, _ = _device(array)
    if kind not in _REACHABLE:
        raise UnusableError(f"the array is on DLPack device type {kind}, which kernels cannot reach")
    tensor, capsule = _tensor(array)
    if tensor.bits != 8 or hasattr(array, "dtype"):  # else it is memory and no array: a buffer of cuda.core
        element.check(word_of_dlpack(tensor.code, tensor.bits, tensor.lanes), f"{type_name(array)} of ")
    return int(tensor.data or 0) + int(tensor.byte_offset), capsule


def layout(array: Any) -> tuple[tuple[int, ...], tuple[int, ...] | None, str | None, int]:
    """Return shape, strides in elements (None for contiguous ones), what an element is called, and its bytes.

    Raises UnusableError for what has no capsule.
    """
    tensor, _capsule = _tensor(array)
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None
    word = word_of_dlpack(tensor.code, tensor.bits, tensor.lanes)
    return shape, strides, word, tensor.bits * tensor.lanes // 8


def _device(array: Any) -> tuple[int, int]:
    """Return the type of an array's device and its ordinal. Raises UnusableError for an array that does not tell."""

    def ask() -> tuple[int, int]:
        kind, ordinal = array.__dlpack_device__()
        return int(kind), int(ordinal)

    return _answer("__dlpack_device__", ask)


def _tensor(array: Any) -> tuple[_DLTensor, Any]:
    """Return the structure of an array, and the capsule that it is valid with. Raises UnusableError without one."""

    def ask() -> tuple[int, Any]:
        try:
            capsule = array.__dlpack__(stream=-1)  # -1: the launch is ordered by its stream, nothing has to wait
        except RecursionError:  # it is a RuntimeError, too
            raise
        except RuntimeError:  # of JAX, which takes it for a stream's address
            capsule = array.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        return pointer(capsule, b"dltensor"), capsule

    place, capsule = _answer("__dlpack__", ask)
    return _DLTensor.from_address(place), capsule


def _answer(method: str, ask: Callable[[], T]) -> T:
    """Return what a method of an array answers. Raises UnusableError for what that raises, of any class."""
    try:
        return ask()
    except FATAL:
        raise
    except Exception as error:
        raise UnusableError(f"its {method} failed: {type(error).__name__}: {error}") from error


class _DLTensor(ctypes.Structure):
    """``DLTensor``."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )
