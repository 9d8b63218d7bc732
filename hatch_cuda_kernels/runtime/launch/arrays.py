"""Device addresses of any library's arrays, without importing any framework."""

from __future__ import annotations

import ctypes
from numbers import Integral
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.driver import check, cuda
from hatch_cuda_kernels.errors import DriverError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ADDRESS_READERS", "device_address"]

#: DLPack device types whose memory a kernel can reach: CUDA, pinned host, managed (dlpack.h, DLDeviceType).
_DLPACK_REACHABLE: Final = frozenset({2, 3, 13})


class NotAnArrayError(TypeError):
    """An argument for a pointer is neither an array that the device can access, nor an address, nor None."""


def device_address(arg: Any) -> int:  # any Python object may be passed
    """Return the address an argument stands for: an array's data, an int itself, 0 for None.

    Takes torch and CuPy arrays, anything with ``__cuda_array_interface__`` or DLPack on a CUDA device, and host arrays
    whose memory is pinned. Raises NotAnArrayError.
    """
    return ADDRESS_READERS[type(arg)](arg)


class _Readers(dict[type, "Callable[[Any], int]"]):
    """How to read the address of an argument, by its type; each new type is examined once."""

    def __missing__(self, kind: type) -> Callable[[Any], int]:
        def first(arg: Any) -> int:
            reader = self[kind] = _reader_for(arg)
            return reader(arg)

        return first


def _reader_for(arg: Any) -> Callable[[Any], int]:
    """Return how addresses of this argument's type are read; the answer is remembered by type."""
    if isinstance(arg, Integral):  # numpy integers, which have an array interface too
        return int
    if type(arg).__module__.partition(".")[0] == "cupy":
        return _cupy
    for attribute, reader in _PROTOCOLS.items():
        if hasattr(arg, attribute):
            return reader
    return _integer


def _torch(tensor: Any) -> int:
    if tensor.is_cuda or tensor.is_pinned():
        return tensor.data_ptr()  # type: ignore[no-any-return]
    raise NotAnArrayError(f"the tensor is on {tensor.device}, not on a CUDA device")


def _data_ptr(array: Any) -> int:
    return int(array.data_ptr())


def _cupy(array: Any) -> int:
    return array.data.ptr  # type: ignore[no-any-return]


def _cuda_array_interface(array: Any) -> int:
    return int(array.__cuda_array_interface__["data"][0])


def _host_array(array: Any) -> int:
    """Return the device address of a host array's memory, which must be pinned."""
    host = int(array.__array_interface__["data"][0])
    driver = cuda()
    attribute = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_POINTER
    try:
        return int(check("cuPointerGetAttribute", driver.cuPointerGetAttribute(attribute, host)))
    except DriverError as error:
        raise NotAnArrayError("the array is in ordinary host memory; copy it to the device or pin it") from error


def _dlpack(array: Any) -> int:
    """Read the address from a DLPack capsule (dlpack.h, DLTensor)."""
    device, _ = array.__dlpack_device__()
    if int(device) not in _DLPACK_REACHABLE:
        raise NotAnArrayError(f"the array is on DLPack device type {int(device)}, which kernels cannot reach")
    capsule = array.__dlpack__(stream=-1)  # -1: the launch is ordered by its stream, no synchronisation is needed
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(pointer(capsule, b"dltensor"))
    return int(tensor.data or 0) + int(tensor.byte_offset)


class _DLTensor(ctypes.Structure):
    """``DLTensor`` of dlpack.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint32),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


def _integer(value: Any) -> int:
    """Return an address given as a number: an int, or a handle that converts to one (CUdeviceptr, cuda.core)."""
    handle = getattr(value, "handle", value)
    if isinstance(value, float | str | bytes):
        raise NotAnArrayError("not an address")
    try:
        return int(handle)
    except (TypeError, ValueError) as error:
        raise NotAnArrayError("neither an array, nor an address, nor None") from error


#: The attribute that shows a protocol and how it is read, cheapest first.
_PROTOCOLS: Final[dict[str, Callable[[Any], int]]] = {
    "is_cuda": _torch,
    "data_ptr": _data_ptr,
    "__cuda_array_interface__": _cuda_array_interface,
    "__array_interface__": _host_array,
    "__dlpack__": _dlpack,
}
ADDRESS_READERS: Final = _Readers({int: lambda value: value, type(None): lambda _: 0})
