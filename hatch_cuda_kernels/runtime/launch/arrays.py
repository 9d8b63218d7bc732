"""Addresses, devices and streams of any library's arrays, without importing any framework.

What can be passed for a pointer falls into families, by type; each new type is examined once. Which library was
imported when plays no part: a family is chosen by what the argument itself offers.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from numbers import Integral
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from hatch_cuda_kernels.driver import check, cuda, device_count, memory_device
from hatch_cuda_kernels.errors import DriverError
from hatch_cuda_kernels.runtime.launch import dlpack, tensors
from hatch_cuda_kernels.runtime.launch.elements import ANYTHING, Element, is_masked, word_of_numpy
from hatch_cuda_kernels.runtime.launch.maps import TensorMap
from hatch_cuda_kernels.runtime.launch.streams import checked_address
from hatch_cuda_kernels.runtime.launch.unusable import FATAL, MASKED, ElsewhereError, UnusableError
from hatch_cuda_kernels.runtime.launch.values import NUMBERS, remember_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hatch_cuda_kernels.runtime.launch.values import Found, Reader

__all__ = ["Family", "address_reader", "current_streams", "family", "read_address"]

#: Gives an array's address, as a Reader does, if a pointer to such an element takes it.
Address: TypeAlias = "Callable[[Any, int, Found, Element], Any]"


def _as_it_is(_: Any) -> None:
    """Find nothing wrong with what has no ways of being unusable."""


class Family(NamedTuple):
    """What is known of the arguments of a type that are passed for a pointer."""

    address: Address
    """Gives the address. Raises UnusableError, or as such ElsewhereError or MismatchError."""
    device: Callable[[Any], int | None]
    """The device's ordinal; None for what is on no device in particular."""
    examine: Callable[[Any], None] = _as_it_is
    """Raises UnusableError for what has an address, but not that of its elements; launches in a hurry do not ask."""


def read_address(arg: Any, ordinal: int, found: Found, element: Element = ANYTHING) -> int:
    """Return the address an argument stands for on a device: an array's data, an int itself, 0 for None.

    Takes torch and CuPy arrays, anything with ``__cuda_array_interface__`` or DLPack on that device, host arrays whose
    memory is pinned, pointers of ctypes. Raises UnusableError; as such ElsewhereError for an array of another device,
    MismatchError for one that a pointer to ``element`` does not take.
    """
    address: int = (_FAMILIES.get(arg.__class__) or family(arg))[0](arg, ordinal, found, element)
    return address


def address_reader(element: Element) -> Reader:
    """Return what reads the address of what a pointer to ``element`` takes."""
    if element == ANYTHING:
        return read_address

    def read(arg: Any, ordinal: int, found: Found) -> int:
        address: int = (_FAMILIES.get(arg.__class__) or family(arg))[0](arg, ordinal, found, element)
        return address

    return read


def family(arg: Any) -> Family:
    """Return the family of an argument. A type that is met for the first time is examined."""
    known = _NULL if arg is None else _FAMILIES.get(arg.__class__)
    if known is None:
        known = _family_of(arg)
        remember_type(_FAMILIES, arg.__class__, known)
    return known


def _nowhere(_: Any) -> None:
    """Answer for what is on no device in particular."""


def _family_of(arg: Any) -> Family:
    fixed = next((family for kinds, family in _OF_CLASSES.items() if isinstance(arg, kinds)), None)
    if fixed is not None:
        return fixed
    if tensors.learn(arg):
        return Family(tensors.address, tensors.device, tensors.examine)
    if _is_cupy(arg):
        return Family(_cupy_address, lambda array: int(array.data.device_id))
    for attribute, family in _PROTOCOLS.items():
        if hasattr(type(arg), attribute) or hasattr(arg, attribute):
            return family
    return Family(_handle_address, _nowhere)


def _integer_address(value: Any, *_: Any) -> int:
    number = int(value)
    if number < 0:
        raise UnusableError("not an address")
    return number


def current_streams(args: Sequence[Any]) -> list[Callable[[int], int]]:
    """Return what tells the current stream on a device of each framework that owns an argument, torch first."""
    found: list[Callable[[int], int]] = []
    args = [arg.array if isinstance(arg, TensorMap) else arg for arg in args]
    if any(map(tensors.learn, args)):
        found.append(tensors.FAST["torch_stream"])
    if any(map(_is_cupy, args)):
        found.append(_cupy_stream)
    return found


def _is_cupy(arg: Any) -> bool:
    return type(arg).__module__.partition(".")[0] == "cupy"


def _cupy_address(array: Any, ordinal: int, found: Found, element: Element) -> int:
    data = array.data
    if data.device_id != ordinal:
        raise ElsewhereError(int(data.device_id), ordinal)
    if element.dtypes:
        element.check(word_of_numpy(array.dtype), "a cupy.ndarray of ")
    found.append(_cupy_stream(ordinal))
    return data.ptr  # type: ignore[no-any-return]


def _cupy_stream(ordinal: int) -> int:
    return sys.modules["cupy"].cuda.get_current_stream(ordinal).ptr  # type: ignore[no-any-return]


def _interface_address(array: Any, ordinal: int, found: Found, element: Element) -> int:
    """Read ``__cuda_array_interface__``; some types, such as JAX's, offer it for a part of their arrays only."""
    try:
        interface = array.__cuda_array_interface__
    except FATAL:
        raise
    except Exception:
        if not hasattr(array, "__dlpack__"):
            raise
        return _dlpack_address(array, ordinal, found, element)
    if element is not ANYTHING:
        element.check_interface(array, interface)
    if interface.get("mask") is not None:
        raise UnusableError(MASKED)
    address = int(interface["data"][0])
    device = _device_at(address)
    if device is not None and device != ordinal:
        raise ElsewhereError(device, ordinal)
    stream = interface.get("stream")
    if stream is not None:
        found.append(checked_address(int(stream)))
    return address


def _interface_device(array: Any) -> int | None:
    try:
        return _device_at(int(array.__cuda_array_interface__["data"][0]))
    except FATAL:
        raise
    except Exception:  # noqa: BLE001 - as above
        return dlpack.device(array) if hasattr(array, "__dlpack_device__") else None


def _device_at(address: int) -> int | None:
    """Return the device that memory is on; None where there is one device only, and for memory in reach of all."""
    return None if not address or _only_one() else memory_device(address)


@cache
def _only_one() -> bool:
    """Return whether there is one device only."""
    return device_count() == 1


def _host_address(array: Any, _: int, __: Found, element: Element) -> int:
    """Return the device address of a host array's memory, which must be pinned."""
    interface = array.__array_interface__
    element.check_interface(array, interface)
    if is_masked(array, interface):
        raise UnusableError(MASKED)
    host = int(interface["data"][0])
    driver = cuda()
    attribute = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_POINTER
    try:
        return int(check("cuPointerGetAttribute", driver.cuPointerGetAttribute(attribute, host)))
    except DriverError as error:
        raise UnusableError("the array is in ordinary host memory; copy it to the device or pin it") from error


def _dlpack_address(array: Any, ordinal: int, found: Found, element: Element) -> int:
    """Read an address by DLPack. The memory may be the capsule's alone, which is therefore kept."""
    device = dlpack.device(array)
    if device not in {None, ordinal}:
        raise ElsewhereError(device, ordinal)
    address, capsule = dlpack.address(array, element)
    found.append(capsule)
    return address


def _ctypes_address(value: Any, *_: Any) -> int:
    if isinstance(value, ctypes._Pointer):  # noqa: SLF001 - the base of all pointers
        return ctypes.cast(value, ctypes.c_void_p).value or 0
    if isinstance(value, ctypes.Array | ctypes.Structure):
        raise UnusableError("it is in host memory; pass an address on the device")
    return _integer_address(NUMBERS[type(value)](value) or 0)


def _handle_address(value: Any, *_: Any) -> int:
    """Return an address that an object stands for: CUdeviceptr, or a buffer of cuda.core by its handle."""
    if isinstance(value, float | str | bytes):
        raise UnusableError("not an address")
    try:
        return int(getattr(value, "handle", value))
    except (TypeError, ValueError) as error:
        raise UnusableError("neither an array, nor an address, nor None") from error


def _map_address(*_: Any) -> int:
    raise UnusableError("a tensor map is passed by value, for const __grid_constant__ CUtensorMap")


#: Families by class, numpy's integers first: they have an array interface, too.
_OF_CLASSES: Final[dict[Any, Family]] = {
    Integral: Family(_integer_address, _nowhere),
    TensorMap: Family(_map_address, lambda found: family(found.array).device(found.array)),
    ctypes._SimpleCData | ctypes._Pointer | ctypes.Array | ctypes.Structure: Family(  # noqa: SLF001 - bases of all
        _ctypes_address, _nowhere
    ),
}
#: The attribute that shows a protocol and the family that has it, cheapest first.
_PROTOCOLS: Final = {
    "__cuda_array_interface__": Family(_interface_address, _interface_device),
    "__array_interface__": Family(_host_address, _nowhere),
    "__dlpack__": Family(_dlpack_address, dlpack.device),
    "data_ptr": Family(lambda array, *_: int(array.data_ptr()), _nowhere),
}
#: The family of each type that was met, besides None's.
_FAMILIES: Final[dict[type, Family]] = {}
_NULL: Final = Family(lambda *_: 0, _nowhere)
