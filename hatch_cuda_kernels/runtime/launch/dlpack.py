"""Arrays that offer DLPack alone (dlpack.h)."""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.runtime.launch.unusable import UnusableError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["address", "device", "layout"]

_CUDA: Final = 2
#: Device types whose memory a kernel can reach: CUDA, pinned host, managed (DLDeviceType).
_REACHABLE: Final = frozenset({_CUDA, 3, 13})
#: DLDataTypeCode.
_CODES: Final = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}


def device(array: Any) -> int | None:
    """Return the ordinal of an array's device, None for memory that is on no CUDA device."""
    kind, ordinal = array.__dlpack_device__()
    return int(ordinal) if int(kind) == _CUDA else None


def address(array: Any) -> int:
    """Read the address from a capsule. Raises UnusableError for memory that kernels cannot reach."""
    kind, _ = array.__dlpack_device__()
    if int(kind) not in _REACHABLE:
        raise UnusableError(f"the array is on DLPack device type {int(kind)}, which kernels cannot reach")
    with _tensor(array) as tensor:
        return int(tensor.data or 0) + int(tensor.byte_offset)


def layout(array: Any) -> tuple[tuple[int, ...], tuple[int, ...] | None, str, int]:
    """Return shape, strides in elements (None for contiguous ones), element type and its bytes."""
    with _tensor(array) as tensor:
        bits, code = tensor.dtype >> 8 & 0xFF, tensor.dtype & 0xFF
        shape = tuple(tensor.shape[: tensor.ndim])
        strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None
        name = _CODES.get(code, "other")
        return shape, strides, name if name == "bool" else f"{name}{bits}", bits // 8


@contextmanager
def _tensor(array: Any) -> Iterator[_DLTensor]:
    """Give the structure of an array, which is valid while its capsule is held."""
    capsule = array.__dlpack__(stream=-1)  # -1: the launch is ordered by its stream, no synchronisation is needed
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
        ("dtype", ctypes.c_uint32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )
