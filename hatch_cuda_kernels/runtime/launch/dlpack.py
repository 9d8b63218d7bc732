"""Arrays that offer DLPack alone (dlpack.h)."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.runtime.launch.elements import word_of_dlpack
from hatch_cuda_kernels.runtime.launch.unusable import UnusableError

if TYPE_CHECKING:
    from hatch_cuda_kernels.runtime.launch.elements import Element

__all__ = ["address", "device"]

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
    capsule = array.__dlpack__(stream=-1)  # -1: the launch is ordered by its stream, no synchronisation is needed
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(pointer(capsule, b"dltensor"))
    kind = type(array)
    element.check(word_of_dlpack(tensor.code, tensor.bits), f"{kind.__module__}.{kind.__qualname__} of ")
    return int(tensor.data or 0) + int(tensor.byte_offset)


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
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )
