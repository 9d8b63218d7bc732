"""The value of a number or a struct parameter from a Python object; struct then packs it and checks its range."""

from __future__ import annotations

import ctypes
import math
import re
import struct
import sys
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.driver import remember
from hatch_cuda_kernels.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    #: What readers find besides values: the streams of arrays, as integers, and what must live until the driver was
    #: called.
    Found = list[Any]
    #: Turns an argument into a value for struct, for a launch on a device; adds to what was found.
    Reader = Callable[[Any, int, Found], Any]


class _Format(NamedTuple):
    size: int
    mantissa: int
    """Bits."""
    bias: int
    largest: int
    """The bits of the largest number."""
    nan: int
    infinity: int | None
    """None for a format without."""

    def pack(self, value: float) -> bytes:
        """Return the nearest number of the format, ties to even. Raises OverflowError if it is beyond the largest."""
        sign = int(math.copysign(1, value) < 0) << (8 * self.size - 1)
        return (sign | self._magnitude(value)).to_bytes(self.size, "little")

    def _magnitude(self, value: float) -> int:
        if math.isnan(value):
            return self.nan
        if math.isinf(value) and self.infinity is not None:
            return self.infinity
        exponent = max(math.frexp(value)[1] - 1, 1 - self.bias) if value else 1 - self.bias
        steps = round(math.ldexp(abs(value), self.mantissa - exponent)) if math.isfinite(value) else self.largest + 1
        bits = ((exponent + self.bias - 1) << self.mantissa) + steps  # steps carry into the exponent by themselves
        if bits > self.largest:
            raise OverflowError("too large for the type")
        return bits


_BFLOAT16: Final = _Format(2, 7, 127, 0x7F7F, 0x7FFF, 0x7F80)
_E4M3: Final = _Format(1, 3, 7, 0x7E, 0x7F, None)
_E5M2: Final = _Format(1, 2, 15, 0x7B, 0x7F, 0x7C)
#: By C++ type.
PACKERS: Final[dict[str, Callable[[float], bytes]]] = {
    "__half": struct.Struct("<e").pack,
    "__nv_bfloat16": _BFLOAT16.pack,
    "__nv_fp8_e4m3": _E4M3.pack,
    "__nv_fp8_e5m2": _E5M2.pack,
}


#: Names of fields in the format of a buffer (PEP 3118).
_NAMES_IN_FORMAT: Final = re.compile(r":[^:]*:")
#: Of memory that means something else, or nothing, on a device.
_OBJECTS: Final = "it holds addresses of Python's objects, which mean nothing on a device"
_SWAPPED: Final = "its numbers have their bytes in the other order than a device's; convert it"


def counts_as(kind: type, abstract: str, *known: type) -> bool:
    """Return whether a type is one of the ``known`` ones, or another one that counts as this class of ``numbers``.

    Numbers of other libraries register there, so where nobody has imported it there are none.
    """
    return issubclass(kind, getattr(sys.modules.get("numbers"), abstract, known))  # another thread may be importing it


class _Numbers(dict[type, "Callable[[Any], Any]"]):
    """How to read a number of a type; each new type is examined once."""

    def __missing__(self, kind: type) -> Callable[[Any], Any]:
        numpy = {base.__name__ for base in kind.__mro__ if base.__module__ == "numpy"}
        reader: Callable[[Any], Any] = (
            float if "floating" in numpy else _other
        )  # numpy's item() takes three times as long
        if issubclass(kind, ctypes._SimpleCData):  # noqa: SLF001 - the base of c_int and all others
            reader = attrgetter("value")
        elif counts_as(kind, "Integral", int) or not numpy.isdisjoint(("integer", "bool", "bool_")):
            reader = int
        remember(self, kind, reader)
        return reader


def _other(value: Any) -> Any:
    """Return a number of Python, of an array of numpy without dimensions, or of what converts to a float.

    Other arrays are refused, because copying them from their device would delay the launch. struct refuses the rest.
    """
    if isinstance(value, float):
        return value
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return value.item()
    if any(hasattr(value, name) for name in ("data_ptr", "__cuda_array_interface__", "__array__", "__dlpack__")):
        raise TypeError("an array was passed for a number")
    return float(value) if hasattr(type(value), "__float__") else value  # float() would parse text


#: How each type that was met is read.
NUMBERS: Final = _Numbers()


def read_float(arg: Any, _: int, __: Found) -> float:
    """Return a number of Python, numpy or ctypes as a float. Raises TypeError for anything else."""
    value = NUMBERS[arg.__class__](arg)
    if not isinstance(value, int | float):
        raise TypeError("not a number")
    return value


def integer_reader(bits: int, *, signed: bool | None) -> Reader:
    """Return what reads an integer of Python, numpy or ctypes that fits into ``bits``.

    A negative one is read as its bits if it is not known whether the parameter is ``signed``, which PTX does not say.
    It raises TypeError or ValueError for anything else.
    """
    least = 0 if signed is False else -(1 << (bits - 1))
    beyond = 1 << (bits - 1 if signed else bits)

    def read(arg: Any, _: int, __: Found) -> int:
        value = NUMBERS[arg.__class__](arg)
        if not isinstance(value, int):
            raise TypeError("not an integer")
        if not least <= value < beyond:
            raise ValueError(f"not in the range of {least} to {beyond - 1}")
        return value if value >= 0 or signed else value + beyond

    return read


def read_bool(arg: Any, _: int, __: Found) -> bool:
    """Return a truth value: a bool of Python, numpy or ctypes, 0 or 1. Raises TypeError for anything else."""
    value = NUMBERS[arg.__class__](arg)
    if not isinstance(value, int) or value not in {0, 1}:
        raise TypeError("neither true nor false")
    return bool(value)


def small_float_reader(size: int, pack: Callable[[float], bytes]) -> Reader:
    """Return what reads a number as a float of 8 or 16 bits, or a value of that type as its bytes.

    It raises TypeError or ValueError for anything else, OverflowError for a number that is too large.
    """
    other = struct_reader(size)

    def read(arg: Any, ordinal: int, found: Found) -> bytes:
        try:
            value = read_float(arg, ordinal, found)
        except TypeError:
            return other(arg, ordinal, found)  # type: ignore[no-any-return]  # bytes, as all structs
        return pack(value)

    return read


def vector_reader(layout: struct.Struct) -> Reader:
    """Return what reads a vector such as ``float4``: numbers in a tuple, one complex number, or what structs take."""
    other = struct_reader(layout.size)

    def read(arg: Any, ordinal: int, found: Found) -> bytes:
        if isinstance(arg, complex):
            return layout.pack(arg.real, arg.imag)
        if isinstance(arg, tuple) and all(isinstance(value, int | float) for value in arg):
            return layout.pack(*arg)
        return other(arg, ordinal, found)  # type: ignore[no-any-return]  # bytes, as all structs

    return read


def struct_reader(size: int) -> Reader:
    """Return what reads a struct that is passed by value, as its bytes.

    It takes bytes, numpy records and scalars, ctypes structures, dataclasses and named tuples whose fields are of
    ctypes or numpy types, and anything with the buffer protocol. It raises TypeError, or ValueError for another size.
    """

    def read(arg: Any, _: int, __: Found) -> bytes:
        if isinstance(arg, float | int):
            raise TypeError("not a struct")
        members = _members(arg)
        data = _bytes_of(arg) if members is None else _lay_out(members)[0]
        if len(data) != size:
            raise ValueError(f"{len(data)} bytes instead of {size}")
        return data

    return read


def _bytes_of(value: Any) -> bytes:
    """Return the bytes of what has memory. Raises TypeError where they mean something else on a device."""
    if hasattr(value, "tobytes") and not isinstance(value, memoryview):
        dtype = getattr(value, "dtype", None)
        objection = _objection(getattr(dtype, "hasobject", False), not getattr(dtype, "isnative", True))
        memory = value
    else:
        memory = memoryview(value)
        objection = objection_to(memory)
    if objection:
        raise TypeError(objection)
    return memory.tobytes()  # type: ignore[no-any-return]  # as arrays of all libraries do


def objection_to(view: memoryview) -> str:
    """Return why memory means something else on a device, or an empty text."""
    codes = _NAMES_IN_FORMAT.sub("", view.format)
    return _objection("O" in codes, any(order in codes for order in ">!"))  # all hosts of CUDA are little-endian


def _objection(has_objects: bool, is_swapped: bool) -> str:
    return _OBJECTS if has_objects else _SWAPPED if is_swapped else ""


def _members(arg: Any) -> list[Any] | None:
    fields = getattr(arg, "__dataclass_fields__", None)
    if fields is not None:
        return [getattr(arg, name) for name in fields]
    return [*arg] if isinstance(arg, tuple) else None


def _lay_out(values: list[Any]) -> tuple[bytes, int]:
    """Return the bytes of a struct with these members, tail padding included, and its alignment."""
    data, widest = b"", 1
    for value in values:
        member, alignment = _member(value)
        data += bytes(-len(data) % alignment) + member
        widest = max(widest, alignment)
    return data + bytes(-len(data) % widest), widest


def _member(value: Any) -> tuple[bytes, int]:
    if isinstance(value, ctypes.Structure | ctypes.Array | ctypes._SimpleCData):  # noqa: SLF001 - as above
        return _bytes_of(value), ctypes.alignment(value)
    if hasattr(value, "dtype") and getattr(value, "shape", None) == ():
        return _bytes_of(value), value.dtype.alignment
    members = _members(value)
    if members is not None:
        return _lay_out(members)
    name = type(value).__name__
    raise TypeError(f"a member is {name}, whose size in C is unknown; use a type of ctypes or numpy, such as c_int")
