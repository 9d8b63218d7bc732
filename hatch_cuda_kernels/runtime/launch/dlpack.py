"""Arrays that offer DLPack alone (dlpack.h)."""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.runtime.launch.elements import type_name, word_of_dlpack
from hatch_cuda_kernels.runtime.launch.unusable import UnusableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.runtime.launch.elements import Element

__all__ = ["address", "device", "layout"]

_CUDA: Final = 2
#: Device types whose memory a kernel can reach: CUDA, pinned host, managed (DLDeviceType).
_REACHABLE: Final = frozenset({_CUDA, 3, 13})


def device(array: Any) -> int | None:
    """Return the ordinal of an array's device, None for memory that is on no CUDA device."""
    kind, ordinal = array.__dlpack_device__()
    return int(ordinal) if int(kind) == _CUDA else None


def address(array: Any, element: Element) -> int:
    """Read the address from a capsule. Raises UnusableError for memory that kernels cannot reach, MismatchError."""
    kind, _ = array.__dlpack_device__()
    if int(kind) not in _REACHABLE:
        raise UnusableError(f"the array is on DLPack device type {int(kind)}, which kernels cannot reach")
    with _tensor(array) as tensor:
        if tensor.bits != 8 or hasattr(array, "dtype"):  # else it is memory and no array: a buffer of cuda.core
            element.check(word_of_dlpack(tensor.code, tensor.bits), f"{type_name(array)} of ")
        return int(tensor.data or 0) + int(tensor.byte_offset)


def layout(array: Any) -> tuple[tuple[int, ...], tuple[int, ...] | None, str | None, int]:
    """Return shape, strides in elements (None for contiguous ones), what an element is called, and its bytes."""
    with _tensor(array) as tensor:
        shape = tuple(tensor.shape[: tensor.ndim])
        strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None
        return shape, strides, word_of_dlpack(tensor.code, tensor.bits), tensor.bits // 8


@contextmanager
def _tensor(array: Any) -> Iterator[_DLTensor]:
    """Give the structure of an array, which is valid while its capsule is held."""
    try:
        capsule = array.__dlpack__(stream=-1)  # -1: the launch is ordered by its stream, no synchronisation is needed
    except RuntimeError:  # of JAX, which takes it for a stream's address
        capsule = array.__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    yield _DLTensor.from_address(pointer(capsule, b"dltensor"))
    del capsule


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
