"""Addresses, devices and streams of any library's arrays, without importing any framework.

The type of an argument for a pointer says how it is read. Each new type is examined once, by what it offers: the order
in which libraries were imported does not matter.

Torch tensors are the usual argument, and the generated launch functions read them without a call from here. They get
torch's functions when the first tensor arrives, since torch is imported completely by then. Other arrays offer the
array interface or DLPack (dlpack.h).
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from hatch_cuda_kernels.driver import call, cuda, device_count, memory_device, remember
from hatch_cuda_kernels.errors import DriverError
from hatch_cuda_kernels.records import NamedTuple
from hatch_cuda_kernels.runtime.launch.accelerator import learn
from hatch_cuda_kernels.runtime.launch.elements import (
    ANYTHING,
    FATAL,
    MASKED,
    WORDS,
    Element,
    ElsewhereError,
    UnusableError,
    is_masked,
    type_name,
    word_of_dlpack,
    word_of_numpy,
)
from hatch_cuda_kernels.runtime.launch.values import NUMBERS, counts_as

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hatch_cuda_kernels.runtime.launch.values import Found, Reader


#: 0 and 1 are the legacy default stream (CU_STREAM_LEGACY).
_LEGACY: Final = frozenset({0, 1})
_MOST: Final = (1 << 64) - 1
_NO_TIMING: Final = 2  # CU_EVENT_DISABLE_TIMING


def stream_address(stream: Any) -> int:  # any framework's stream
    """Return the handle of any framework's stream as a number. Raises TypeError for anything else."""
    known = _STREAM_READERS.get(stream.__class__)
    if known is None:
        remember(_STREAM_READERS, stream.__class__, known := _stream_reader(stream))
    try:
        return known(stream)
    except AttributeError:  # not all objects of the type offer the same
        return _stream_reader(stream)(stream)


#: How to read the handle of a stream, by its type.
_STREAM_READERS: Final[dict[type, Callable[[Any], int]]] = {int: int}


def _stream_reader(stream: Any) -> Callable[[Any], int]:
    for name in ("cuda_stream", "ptr"):  # torch and CuPy: quicker than by the protocol
        if isinstance(getattr(stream, name, None), int):
            return attrgetter(name)
    protocol = getattr(stream, "__cuda_stream__", None)
    if callable(protocol):
        return lambda stream: int(stream.__cuda_stream__()[1])
    if protocol is not None:
        return lambda stream: int(stream.__cuda_stream__[1])
    if getattr(stream, "handle", None) is not None:  # numba and the bindings; None is ctypes' null pointer
        return lambda stream: int(getattr(stream.handle, "value", stream.handle) or 0)
    return _stream_number


def _stream_number(stream: Any) -> int:
    if not hasattr(type(stream), "__int__") or isinstance(stream, float):
        raise TypeError(f"not a CUDA stream: {stream!r}")
    return int(stream)


def check_address(stream: int) -> int:
    """Return the address of a stream. Raises TypeError for a number that is not an address."""
    if not 0 <= stream <= _MOST:
        raise TypeError(f"not a CUDA stream: {stream} is not an address")
    return stream


def join(found: Found, chosen: int | None) -> int | None:
    """Return the stream to launch on, ``chosen`` or else the first, after all work that the others have by now.

    None stands for the legacy default stream. Raises DriverError.
    """
    for stream in found if len(found) == 1 else dict.fromkeys(found):
        if stream.__class__ is not int:
            continue
        if chosen is None:
            chosen = stream
        elif stream != chosen and not _LEGACY.issuperset((stream, chosen)):
            _order(stream, chosen)
    return chosen


def _order(before: int, after: int) -> None:
    """Let a stream wait for the work that another one has by now. A stream in a capture cannot wait for others."""
    driver = cuda()
    first, second = driver.CUstream(before), driver.CUstream(after)
    if int(call("cuStreamIsCapturing", second)):
        return
    event = call("cuEventCreate", _NO_TIMING)
    try:
        call("cuEventRecord", event, first)
        call("cuStreamWaitEvent", second, event, 0)
    finally:
        driver.cuEventDestroy(event)


#: Of a CUtensorMap (cuda.h).
MAP_BYTES: Final = 128


class TensorMap:
    """An array as the device's tensor memory access sees it; see ``tensor_map``. It keeps the array alive."""

    __slots__ = ("_data", "_kept", "_text", "address", "array", "shape")

    def __init__(
        self, array: Any, address: int, shape: tuple[int, ...], data: bytes, text: str, kept: object = None
    ) -> None:
        self.array = array
        self.shape = shape
        self.address = address
        """Of the array when the map was made."""
        self._data = data
        self._kept = kept
        self._text = text

    def tobytes(self) -> bytes:
        """Return the 128 bytes of the CUtensorMap, for a copy to the device."""
        return self._data

    def __repr__(self) -> str:
        return f"<TensorMap {self._text}>"


class _NoTensor:
    """Stands for torch's class until there is a tensor: nothing is of it."""


def _never(*_: Any) -> Any:
    raise AssertionError


def _if_empty(tensor: Any) -> int:
    if tensor.numel() == 0:
        return 0
    raise UnusableError(_reason(tensor))


#: Names of the generated launch functions: two classes, and functions of their instances.
FAST: Final[dict[str, Any]] = {
    "tensor": _NoTensor,
    "parameter": _NoTensor,
    "data_ptr": _never,
    "get_device": _never,
    "torch_stream": _never,
    "if_empty": _if_empty,
}


def is_tensor(arg: Any) -> bool:
    """Return whether an argument is a tensor; launch functions then read tensors by torch's own functions.

    A torch without CUDA has no tensors on a device, so its functions are not used.
    """
    torch: Any = sys.modules.get("torch")
    tensor = getattr(torch, "Tensor", None)
    if tensor is None or not isinstance(arg, tensor):
        return False
    # The public torch.cuda.current_stream() builds an object in 4 us; this is what it calls.
    stream = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    if stream is not None:
        read = {"data_ptr": tensor.data_ptr, "get_device": tensor.get_device, "torch_stream": stream}
        dtypes = {f"torch_{word}": getattr(torch, word, None) for word in WORDS}  # None: no tensor has it
        FAST.update(read | dtypes | {"parameter": torch.nn.Parameter, "tensor": tensor})
        learn(tensor, torch.nn.Parameter)
    return True


def _tensor_address(tensor: Any, ordinal: int, found: Found, element: Element) -> int:
    """Return a tensor's address on a device; its framework's current stream comes first in what was found.

    Raises UnusableError for a tensor without memory there, ElsewhereError for one of another device, MismatchError.
    """
    if not any(tensor.dtype is FAST.get(f"torch_{word}") for word in element.dtypes):
        element.check(str(tensor.dtype).removeprefix("torch."), "torch.")
    here = tensor.get_device()
    if here == ordinal:
        found.insert(0, FAST["torch_stream"](ordinal))
    elif here >= 0:
        raise ElsewhereError(here, ordinal)
    elif _oddity(tensor) or not tensor.is_pinned():
        raise UnusableError(_reason(tensor))
    return tensor.data_ptr() or _if_empty(tensor)


def _reason(tensor: Any) -> str:
    return _oddity(tensor) or (
        "its memory was freed"
        if tensor.is_cuda
        else f"the tensor is on {tensor.device}, not on a CUDA device; move it there, as with .cuda()"
    )


def _oddity(tensor: Any) -> str | None:
    """Return why a tensor has no memory, or a value that its memory does not have."""
    torch = sys.modules["torch"]
    return next((reason for test, reason in _ODDITIES.items() if test(torch, tensor)), None)


_TRACED: Final = "while torch traces, call the kernel as an operator: store.torch_ops(...)"
_LAYOUT: Final = "has no single block of elements; pass its .values(), or .to_dense()"
#: Tests of tensors that are no block of memory, each with what to do. The first that is true counts.
_ODDITIES: Final[dict[Callable[[Any, Any], bool], str]] = {
    lambda _, tensor: "FakeTensor" in {kind.__name__ for kind in type(tensor).__mro__}: (
        f"a fake tensor has no memory; {_TRACED}"
    ),
    lambda torch, tensor: torch._C._functorch.is_functorch_wrapped_tensor(tensor): (  # noqa: SLF001 - no public test
        "inside vmap, grad and other transforms of torch.func a tensor has no memory; "
        "call the kernel as an operator: store.torch_ops(...)"
    ),
    lambda torch, tensor: torch._is_functional_tensor(tensor): (  # noqa: SLF001 - no public test
        f"a functional tensor has no memory; {_TRACED}"
    ),
    lambda _, tensor: tensor.is_meta: "a meta tensor has no memory; create it on a CUDA device",
    lambda _, tensor: tensor.is_nested: f"a nested tensor {_LAYOUT}",
    lambda torch, tensor: tensor.layout is not torch.strided: f"a sparse tensor, or one of a special layout, {_LAYOUT}",
    lambda _, tensor: tensor.is_conj(): "its elements are conjugated only when they are read; pass x.resolve_conj()",
    lambda _, tensor: tensor.is_neg(): "its elements are negated only when they are read; pass x.resolve_neg()",
    lambda _, tensor: tensor._is_zerotensor(): (  # noqa: SLF001 - no public test
        "a tensor of zeros that has no memory; pass x.clone()"
    ),
}


T = TypeVar("T")

_CUDA: Final = 2
#: Device types whose memory a kernel can reach: CUDA, pinned host, managed (DLDeviceType).
_REACHABLE: Final = frozenset({_CUDA, 3, 13})


def dlpack_device(array: Any) -> int | None:
    """Return the ordinal of an array's device, None for memory that is on no CUDA device."""
    kind, ordinal = _dlpack_place(array)
    return ordinal if kind == _CUDA else None


def dlpack_layout(array: Any) -> tuple[tuple[int, ...], tuple[int, ...] | None, str | None, int]:
    """Return shape, strides in elements (None if contiguous), name and bytes of an element. Raises UnusableError."""
    tensor, _capsule = _dlpack_tensor(array)
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None
    word = word_of_dlpack(tensor.code, tensor.bits, tensor.lanes)
    return shape, strides, word, tensor.bits * tensor.lanes // 8


def _dlpack_place(array: Any) -> tuple[int, int]:
    """Return the type of an array's device and its ordinal. Raises UnusableError for an array that does not say."""

    def ask() -> tuple[int, int]:
        kind, ordinal = array.__dlpack_device__()
        return int(kind), int(ordinal)

    return _dlpack_answer("__dlpack_device__", ask)


def _dlpack_tensor(array: Any) -> tuple[Any, Any]:
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

    place, capsule = _dlpack_answer("__dlpack__", ask)
    return _tensor_type().from_address(place), capsule


def _dlpack_answer(method: str, ask: Callable[[], T]) -> T:
    """Return what a method of an array answers. Raises UnusableError for what that raises, of any class."""
    try:
        return ask()
    except FATAL:
        raise
    except Exception as error:
        raise UnusableError(f"its {method} failed: {type(error).__name__}: {error}") from error


@cache
def _tensor_type() -> Any:
    """Return the class of DLTensor (dlpack.h). Few launches need it, and it takes as long as four of Python's own."""

    class DLTensor(ctypes.Structure):
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

    return DLTensor


#: Gives an array's address, as a Reader does, if a pointer to such an element takes it.
Address: TypeAlias = "Callable[[Any, int, Found, Element], Any]"


def _nothing(_: Any) -> None:
    """Return None: the argument is on no particular device, or has its elements at its address."""


class Access(NamedTuple):
    """How arguments of one type are read that are passed for a pointer."""

    address: Address
    """Gives the address. Raises UnusableError, or as such ElsewhereError or MismatchError."""
    device: Callable[[Any], int | None]
    """Gives the device's ordinal, or None for an argument on no particular device."""
    oddity: Callable[[Any], str | None] = _nothing
    """Gives why the address is not that of the elements, if so."""


def address_reader(element: Element) -> Reader:
    """Return what reads the address that an argument stands for: an array's data, an int itself, 0 for None.

    It takes torch and CuPy arrays, anything with ``__cuda_array_interface__`` or DLPack on the device, host arrays in
    pinned memory, and pointers of ctypes. It raises UnusableError: ElsewhereError for an array of another device,
    MismatchError for one that a pointer to ``element`` does not take.
    """

    def read(arg: Any, ordinal: int, found: Found) -> int:
        address: int = (_ACCESSES.get(arg.__class__) or access_of(arg))[0](arg, ordinal, found, element)
        return address

    return read


read_address: Final = address_reader(ANYTHING)


def access_of(arg: Any) -> Access:
    """Return how an argument for a pointer is read. A type that is met for the first time is examined."""
    known = _NULL if arg is None else _ACCESSES.get(arg.__class__)
    if known is None:
        known = _find_access(arg)
        remember(_ACCESSES, arg.__class__, known)
    return known


def check_elements(arg: Any) -> None:
    """Raise UnusableError if an argument's address is not that of its elements. The fast way of a launch does not."""
    if reason := access_of(arg).oddity(arg):
        raise UnusableError(reason)


def _find_access(arg: Any) -> Access:
    if counts_as(type(arg), "Integral", int):  # numpy's have an array interface, too
        return Access(_integer_address, _nothing)
    fixed = next((access for kinds, access in _OF_CLASSES.items() if isinstance(arg, kinds)), None)
    if fixed is not None:
        return fixed
    if is_tensor(arg):
        return Access(_tensor_address, lambda tensor: tensor.get_device() if tensor.is_cuda else None, _oddity)
    if _is_cupy(arg):
        return Access(_cupy_address, lambda array: int(array.data.device_id))
    for attribute, access in _PROTOCOLS.items():
        if hasattr(type(arg), attribute) or hasattr(arg, attribute):
            return access
    return Access(_handle_address, _nothing)


def _integer_address(value: Any, *_: Any) -> int:
    number = int(value)
    if number < 0:
        raise UnusableError("not an address")
    return number


def current_streams(args: Sequence[Any]) -> list[Callable[[int], int]]:
    """Return a function for each framework that owns an argument, torch first: device to current stream."""
    found: list[Callable[[int], int]] = []
    args = [arg.array if isinstance(arg, TensorMap) else arg for arg in args]
    if any(map(is_tensor, args)):
        found.append(FAST["torch_stream"])
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
        found.append(check_address(int(stream)))
    return address


def _interface_device(array: Any) -> int | None:
    try:
        return _device_at(int(array.__cuda_array_interface__["data"][0]))
    except FATAL:
        raise
    except Exception:  # noqa: BLE001 - as above
        return dlpack_device(array) if hasattr(array, "__dlpack_device__") else None


def _device_at(address: int) -> int | None:
    """Return the device that memory is on; None where there is one device only, and for memory in reach of all."""
    return None if not address or _only_one() else memory_device(address)


@cache
def _only_one() -> bool:
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
        return int(call("cuPointerGetAttribute", attribute, host))
    except DriverError as error:
        raise UnusableError("the array is in ordinary host memory; copy it to the device or pin it") from error


def _dlpack_address(array: Any, ordinal: int, found: Found, element: Element) -> int:
    """Read an address by DLPack. The capsule may own the memory, so it is kept."""
    kind, device = _dlpack_place(array)
    if kind == _CUDA and device != ordinal:
        raise ElsewhereError(device, ordinal)
    if kind not in _REACHABLE:
        raise UnusableError(f"the array is on DLPack device type {kind}, which kernels cannot reach")
    tensor, capsule = _dlpack_tensor(array)
    if tensor.bits != 8 or hasattr(array, "dtype"):  # else it is memory and no array: a buffer of cuda.core
        element.check(word_of_dlpack(tensor.code, tensor.bits, tensor.lanes), f"{type_name(array)} of ")
    found.append(capsule)
    return int(tensor.data or 0) + int(tensor.byte_offset)


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


#: By class.
_OF_CLASSES: Final[dict[Any, Access]] = {
    TensorMap: Access(_map_address, lambda found: access_of(found.array).device(found.array)),
    ctypes._SimpleCData | ctypes._Pointer | ctypes.Array | ctypes.Structure: Access(  # noqa: SLF001 - bases of all
        _ctypes_address, _nothing
    ),
}
#: How arrays are read that have the attribute of a protocol, cheapest first.
_PROTOCOLS: Final = {
    "__cuda_array_interface__": Access(_interface_address, _interface_device),
    "__array_interface__": Access(_host_address, _nothing),
    "__dlpack__": Access(_dlpack_address, dlpack_device),
    "data_ptr": Access(lambda array, *_: int(array.data_ptr()), _nothing),
}
#: By each type that was met, besides None's.
_ACCESSES: Final[dict[type, Access]] = {}
_NULL: Final = Access(lambda *_: 0, _nothing)
