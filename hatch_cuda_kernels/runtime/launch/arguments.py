"""A kernel's parameters: how arguments are read, checked and laid out in the parameter buffer.

A launch packs with ``struct``, which checks the range of numbers (see ``codegen``). What that rejects is converted here
again, for the message. Layout: CUDA C++ Programming Guide, "Driver API, kernel execution".
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.errors import ArgumentError, HatchCudaKernelsError, LaunchError
from hatch_cuda_kernels.records import NamedTuple
from hatch_cuda_kernels.runtime.launch.arrays import (
    MAP_BYTES,
    TensorMap,
    access_of,
    address_reader,
    check_elements,
    read_address,
)
from hatch_cuda_kernels.runtime.launch.elements import ANYTHING, FATAL, Element, MismatchError, UnusableError
from hatch_cuda_kernels.runtime.launch.values import (
    PACKERS,
    counts_as,
    integer_reader,
    read_bool,
    read_float,
    small_float_reader,
    struct_reader,
    vector_reader,
)
from hatch_cuda_kernels.signature import Parameter, lanes_of, parameters_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.runtime.launch.values import Found, Reader

_WORD: Final = "64-bit integer, pointer or array"
#: struct code and description, by PTX type.
_SCALARS: Final[dict[str, tuple[str, str]]] = {
    "u8": ("B", "8-bit integer or bool"),
    "s8": ("b", "8-bit integer"),
    "b8": ("B", "8-bit value"),
    "u16": ("H", "16-bit integer"),
    "s16": ("h", "16-bit integer"),
    "b16": ("H", "16-bit value"),
    "f16": ("e", "half"),
    "u32": ("I", "32-bit integer"),
    "s32": ("i", "32-bit integer"),
    "b32": ("I", "32-bit value"),
    "u64": ("Q", _WORD),
    "s64": ("q", "64-bit integer"),
    "b64": ("Q", _WORD),
    "ptr": ("Q", "pointer or array"),
    "f32": ("f", "float"),
    "f64": ("d", "double"),
}
#: struct code of a vector's lanes.
_LANES: Final = {
    "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q",
    "float32": "f", "float64": "d",
}  # fmt: skip
#: Kinds of parameters that are remembered; few programs have more.
_MOST_PACKINGS: Final = 1024


class Packing(NamedTuple):
    """How the arguments for a parameter are read and packed. Parameters of the same type share it."""

    code: str
    """struct's."""
    size: int
    alignment: int
    words: str
    """What messages call the parameter if its C++ type is not known."""
    may_be_pointer: bool
    element: Element = ANYTHING
    """What a pointer points to."""
    is_signed: bool | None = None
    """Whether an integer may be negative; None where that is not known."""
    special: str = ""
    """The type of numbers that struct cannot pack, or its codes for the lanes of a vector."""

    @property
    def may_be_array(self) -> bool:
        """Whether an array can be behind its argument: a pointer, or a tensor map."""
        return self.may_be_pointer or (self.is_struct and self.size == MAP_BYTES)

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point number."""
        return self.code in "efd"

    @property
    def is_struct(self) -> bool:
        """Whether it is passed as bytes."""
        return self.code.endswith("s")

    @property
    def reader(self) -> Reader:
        """What turns an argument for this parameter into a value for struct, or raises."""
        if self.special in PACKERS:
            return small_float_reader(self.size, PACKERS[self.special])
        if self.is_struct:
            lanes = struct.Struct(f"<{self.special}")
            return vector_reader(lanes) if self.special else _by_value_reader(self.size)
        if self.is_float:
            return read_float
        if self.code == "?":
            return read_bool
        if self.may_be_pointer:
            return _read_word if self.words == _WORD else address_reader(self.element)
        return integer_reader(8 * self.size, signed=self.is_signed)


@lru_cache(_MOST_PACKINGS)
def packing_of(kind: str, type_: str) -> Packing | None:
    """Return how a parameter is packed, None for a kind that this version does not know.

    An index may lack the C++ type. Then a pointer may look like an integer, and signs do not show.
    """
    parameter = Parameter(kind, type_)
    size, alignment = parameter.size, parameter.align
    if "[" in kind and alignment:
        special = type_ if type_ in PACKERS else _lanes(type_, size)
        return Packing(f"{size}s", size, alignment, f"struct of {size} bytes", False, special=special)
    if kind not in _SCALARS:
        return None
    code, words = _SCALARS[kind]
    if parameter.is_pointer:
        return Packing(code, size, size, _SCALARS["ptr"][1], True, Element.of(parameter))
    if type_ == "bool":
        return Packing("?", size, size, words, False)
    signed = parameter.is_signed if type_ else kind.startswith("s") or None
    if signed is not None and code not in "efd":
        code = code.lower() if signed else code.upper()
        return Packing(code, size, size, words, False, is_signed=signed)
    return Packing(code, size, size, words, not type_ and kind in {"u64", "b64"})


def _lanes(type_: str, size: int) -> str:
    """Return struct's codes for the lanes of a vector; empty for any other struct."""
    lane, count = lanes_of(type_)
    codes = _LANES.get(lane, "") * count
    return codes if codes and struct.calcsize(f"<{codes}") == size else ""


def _read_word(arg: Any, ordinal: int, found: Found) -> int:
    value: int = (_read_integer if counts_as(type(arg), "Integral", int) else read_address)(arg, ordinal, found)
    return value


_read_integer: Final = integer_reader(64, signed=None)


def _by_value_reader(size: int) -> Reader:
    """Return what reads a struct that is passed by value, such as a tensor map, as its bytes.

    The device and the stream of a map's array count for the launch. Raises UnusableError if the array has moved since.
    """
    as_bytes = struct_reader(size)

    def read(arg: Any, ordinal: int, found: Found) -> bytes:
        if arg.__class__ is TensorMap and read_address(arg.array, ordinal, found) != arg.address:
            raise UnusableError("the array's memory has moved since the tensor map was made; make another one")
        data: bytes = as_bytes(arg, ordinal, found)
        return data

    return read


#: The alignment of the place where a kernel's parameters begin, on every architecture (0x210 for compute capability
#: 9.0). The kernel expects a parameter with a larger alignment, such as a tensor map, elsewhere than in a buffer that
#: begins at 0.
_BASE_ALIGNMENT: Final = 16
#: Signatures that are remembered; few programs have more.
_MOST_SIGNATURES: Final = 512


class _Parts(NamedTuple):
    parameters: tuple[Parameter, ...]
    packings: tuple[Packing, ...]
    readers: tuple[Reader, ...]
    places: tuple[int, ...]
    layout: struct.Struct
    arrays: tuple[int, ...]


class Signature:
    """A kernel's parameters, in order. Raises LaunchError for a parameter type that this version does not know."""

    def __init__(
        self, kernel: str, params: Sequence[str], types: Sequence[str] = (), names: Sequence[str] = ()
    ) -> None:
        self.kernel = kernel
        try:
            parts = _parts(tuple(params), tuple(types), tuple(names))
        except LookupError as error:
            message = f"{kernel} is recorded with parameters of unknown types: {error.args[0]}"
            raise LaunchError(f"{message}; reinstall its package, or upgrade hatch-cuda-kernels") from error
        self.parameters, self.packings, self.readers, self.places, self.layout, self._arrays = parts
        self.offsets = self.places if any(packing.alignment > _BASE_ALIGNMENT for packing in self.packings) else ()
        """Of the parameters in the buffer, where the driver must be given them one by one."""

    def pack(self, args: Sequence[Any]) -> bytes:
        """Return the parameter buffer's bytes for device 0. Raises ArgumentError as ``convert`` does."""
        return self.layout.pack(*self.convert(args, 0, []))

    def convert(self, args: Sequence[Any], ordinal: int, found: Found) -> list[Any]:
        """Return the arguments as ``layout`` takes them, for a launch on a device; add to what was ``found``.

        Raises ArgumentError for a wrong number, kind or range of arguments.
        """
        if len(args) != len(self.parameters):
            listed = ", ".join(map(str, self.parameters))
            raise ArgumentError(f"{self.kernel} takes {len(self.parameters)} arguments ({listed}), got {len(args)}")
        return [self._convert(index, arg, ordinal, found) for index, arg in enumerate(args)]

    def device(self, args: Sequence[Any]) -> int | None:
        """Return the device of the arrays among the arguments, None without any. Raises ArgumentError for several."""
        given = [index for index in self._arrays if index < len(args)]
        places = {index: self._device(index, args[index]) for index in given}
        devices = {*places.values()} - {None}
        if len(devices) > 1:
            named = [f"argument {index} on device {where}" for index, where in places.items() if where is not None]
            what = f"the arrays passed to {self.kernel} are on several devices"
            raise ArgumentError(f"{what}: {', '.join(named)}; copy them to one")
        return next(iter(devices), None)

    def _device(self, index: int, arg: Any) -> int | None:
        try:
            return access_of(arg).device(arg)
        except (*FATAL, HatchCudaKernelsError):
            raise
        except Exception as error:
            raise self._refusal(index, arg, error) from error

    def _convert(self, index: int, arg: Any, ordinal: int, found: Found) -> Any:  # any Python object may be passed
        packing = self.packings[index]
        try:
            if packing.may_be_pointer:
                check_elements(arg)
            value = self.readers[index](arg, ordinal, found)
            struct.pack(f"<{packing.code}", value)
        except (*FATAL, HatchCudaKernelsError):
            raise
        except Exception as error:
            raise self._refusal(index, arg, error) from error
        return value

    def _refusal(self, index: int, arg: Any, error: Exception) -> ArgumentError:
        """Return the error for an argument that was not taken: which one it is, what it should be, what was wrong."""
        parameter, packing = self.parameters[index], self.packings[index]
        name = f" ({parameter.name})" if parameter.name else ""
        what = f"is {parameter.type}" if parameter.type else f"must be a {packing.words} ({parameter.kind})"
        got = str(error) if isinstance(error, MismatchError) else f"{_describe(arg)}: {error}"
        return ArgumentError(f"argument {index}{name} of {self.kernel} {what}, got {got}")


@lru_cache(_MOST_SIGNATURES)
def _parts(params: tuple[str, ...], types: tuple[str, ...], names: tuple[str, ...]) -> _Parts:
    parameters = parameters_of(params, types, names)
    found = [packing_of(parameter.kind, parameter.type) for parameter in parameters]
    unknown = [kind for kind, packing in zip(params, found, strict=True) if packing is None]
    if unknown:
        raise LookupError(", ".join(dict.fromkeys(unknown)))
    packings = tuple(packing for packing in found if packing is not None)
    places, layout = _lay_out(packings)
    arrays = tuple(index for index, packing in enumerate(packings) if packing.may_be_array)
    return _Parts(tuple(parameters), packings, tuple(packing.reader for packing in packings), places, layout, arrays)


def _lay_out(packings: Sequence[Packing]) -> tuple[tuple[int, ...], struct.Struct]:
    """Return where the parameters are, each at the next multiple of its alignment, and all without tail padding."""
    places, layout, end = list[int](), "<", 0
    for packing in packings:
        padding = -end % packing.alignment
        places.append(end + padding)
        layout += f"{padding}x" * bool(padding) + packing.code
        end = places[-1] + packing.size
    return tuple(places), struct.Struct(layout)


def _describe(arg: Any) -> str:
    kind = type(arg)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"{arg!r} ({name})" if kind in {int, float, bool} else name
