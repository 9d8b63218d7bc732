"""How a kernel's parameters are laid out in the parameter buffer, and what reads the arguments for each.

Layout: CUDA C++ Programming Guide, "Driver API, kernel execution".
"""

from __future__ import annotations

import re
import struct
from functools import lru_cache
from numbers import Integral
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.runtime.launch.arrays import address_reader, read_address
from hatch_cuda_kernels.runtime.launch.elements import ANYTHING, Element
from hatch_cuda_kernels.runtime.launch.maps import MAP_BYTES, TensorMap
from hatch_cuda_kernels.runtime.launch.small_floats import PACKERS
from hatch_cuda_kernels.runtime.launch.unusable import UnusableError
from hatch_cuda_kernels.runtime.launch.values import (
    bool_reader,
    float_reader,
    integer_reader,
    small_float_reader,
    struct_reader,
    vector_reader,
)
from hatch_cuda_kernels.signature import Parameter, lanes_of

if TYPE_CHECKING:
    from hatch_cuda_kernels.runtime.launch.values import Found, Reader

__all__ = ["Packing", "packing_of"]

_WORD: Final = "64-bit integer, pointer or array"
#: struct code, size and description, by PTX type.
_SCALARS: Final[dict[str, tuple[str, int, str]]] = {
    "u8": ("B", 1, "8-bit integer or bool"),
    "s8": ("b", 1, "8-bit integer"),
    "b8": ("B", 1, "8-bit value"),
    "u16": ("H", 2, "16-bit integer"),
    "s16": ("h", 2, "16-bit integer"),
    "b16": ("H", 2, "16-bit value"),
    "f16": ("e", 2, "half"),
    "u32": ("I", 4, "32-bit integer"),
    "s32": ("i", 4, "32-bit integer"),
    "b32": ("I", 4, "32-bit value"),
    "u64": ("Q", 8, _WORD),
    "s64": ("q", 8, "64-bit integer"),
    "b64": ("Q", 8, _WORD),
    "ptr": ("Q", 8, "pointer or array"),
    "f32": ("f", 4, "float"),
    "f64": ("d", 8, "double"),
}
#: struct code of a vector's lanes.
_LANES: Final = {
    "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q",
    "float32": "f", "float64": "d",
}  # fmt: skip
#: Kinds of parameters that are remembered; few programs have more.
_MOST_PACKINGS: Final = 1024
#: A kernel takes at most 32,764 bytes of parameters.
_STRUCT: Final = re.compile(r"b8\[([0-9]{1,5})\]:([1-9][0-9]{0,3})")


class Packing(NamedTuple):
    """How one parameter's arguments are read and packed. Equal ones, whatever their kernels call them, are shared."""

    code: str
    """struct's."""
    size: int
    alignment: int
    words: str
    """What is expected, where no C++ type says so."""
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
        if self.is_struct:
            return self._struct_reader()
        if self.is_float:
            return float_reader()
        if self.code == "?":
            return bool_reader()
        if self.may_be_pointer:
            return _word_reader() if self.words == _WORD else address_reader(self.element)
        return integer_reader(8 * self.size, signed=self.is_signed)

    def _struct_reader(self) -> Reader:
        pack = PACKERS.get(self.special)
        if pack is not None:
            return small_float_reader(self.size, pack)
        return vector_reader(struct.Struct(f"<{self.special}")) if self.special else _by_value_reader(self.size)


@lru_cache(_MOST_PACKINGS)
def packing_of(kind: str, type_: str) -> Packing | None:
    """Return how a parameter is packed, None for a kind that this version does not know.

    An index may not tell the C++ type; a pointer may then look like an integer, and signs do not show.
    """
    parameter = Parameter(kind, type_)
    match = _STRUCT.fullmatch(kind)
    if match:
        size = int(match[1])
        special = type_ if type_ in PACKERS else _lanes(type_, size)
        return Packing(f"{size}s", size, int(match[2]), f"struct of {size} bytes", False, special=special)
    if kind not in _SCALARS:
        return None
    code, size, words = _SCALARS[kind]
    if parameter.is_pointer:
        return Packing(code, size, size, _SCALARS["ptr"][2], True, Element.of(parameter))
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


def _word_reader() -> Reader:
    """Return what reads an integer of 64 bits or an address."""
    number = integer_reader(64, signed=None)

    def read(arg: Any, ordinal: int, found: Found) -> int:
        value: int = (number if isinstance(arg, Integral) else read_address)(arg, ordinal, found)
        return value

    return read


def _by_value_reader(size: int) -> Reader:
    """Return what reads a struct that is passed by value, which may be a tensor map, as its bytes.

    A map's array is one of the launch: its device and its stream count. Raises UnusableError if it has moved since.
    """
    as_bytes = struct_reader(size)

    def read(arg: Any, ordinal: int, found: Found) -> bytes:
        if arg.__class__ is TensorMap and read_address(arg.array, ordinal, found) != arg.address:
            raise UnusableError("the array has other memory since the tensor map was made; make another one")
        data: bytes = as_bytes(arg, ordinal, found)
        return data

    return read
