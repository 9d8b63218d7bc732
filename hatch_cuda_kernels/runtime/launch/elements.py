"""The elements of arrays, as array libraries call them, and which of them a kernel's pointer takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.records import NamedTuple
from hatch_cuda_kernels.signature import lanes_of

if TYPE_CHECKING:
    from hatch_cuda_kernels.signature import Parameter

#: Errors that are not the argument's fault. Nothing catches them where an argument is read: to read it again in
#: another way would not help, and a recursion would not end.
FATAL: Final = (MemoryError, RecursionError)
#: Why an array that says which of its elements count cannot be passed.
MASKED: Final = "it has a mask, which a kernel does not see; pass the data and the mask as two arguments"


class UnusableError(TypeError):
    """An argument for a pointer is neither an array that the device can access, nor an address, nor None."""


class ElsewhereError(UnusableError):
    """An array is on another device than the one the kernel is launched on."""

    def __init__(self, device: int | None, ordinal: int) -> None:
        super().__init__(f"it is on device {device}, and the kernel is launched on device {ordinal}")


class MismatchError(UnusableError):
    """An array is not of the elements that the kernel's pointer points to, or may not be written to."""


#: By type code and size of the array interface.
_BY_TYPESTR: Final = {
    **{f"{code}{size}": f"{word}{8 * size}" for code, word in (("i", "int"), ("u", "uint")) for size in (1, 2, 4, 8)},
    **{f"f{size}": f"float{8 * size}" for size in (2, 4, 8)},
    "b1": "bool", "c8": "complex64", "c16": "complex128",
}  # fmt: skip
#: By DLDataTypeCode (dlpack.h) and bits.
_BY_DLPACK: Final = {
    **{(code, bits): f"{word}{bits}" for code, word in ((0, "int"), (1, "uint")) for bits in (8, 16, 32, 64)},
    **{(2, bits): f"float{bits}" for bits in (16, 32, 64)},
    (4, 16): "bfloat16", (5, 64): "complex64", (5, 128): "complex128", (6, 8): "bool",
    (10, 8): "float8_e4m3fn", (12, 8): "float8_e5m2", (14, 8): "float8_e8m0fnu",
}  # fmt: skip
#: DLPack's code and bits of the types that C++ has.
DLPACK: Final = {word: key for key, word in _BY_DLPACK.items()}
#: All that C++ has a type for.
WORDS: Final = frozenset(DLPACK)
_OWN_NAMES: Final = WORDS - {*_BY_TYPESTR.values()}
#: What the array interface calls Python's objects.
_OBJECTS: Final = frozenset({"|O", "|O8"})
#: Numbers of a host's long double, which no device has, by the array interface's type and by DLPack's.
_OF_HOSTS: Final[dict[str | tuple[int, int], str]] = {
    "f16": "float128", "c32": "complex256", (2, 128): "float128", (5, 256): "complex256",
}  # fmt: skip
#: What is before the word for elements in the other byte order, and after it for those that are several numbers each.
_SWAPPED, _TIMES = "big-endian ", " x "


class Element(NamedTuple):
    """What a pointer points to: which arrays fit it."""

    dtypes: tuple[str, ...] = ()
    """The names of dtypes that fit; if it is empty, all fit."""
    is_written: bool = False
    """Whether the kernel may write to it."""
    typestrs: frozenset[str] = frozenset()
    """What the array interface calls the elements that fit."""
    vector: str = ""
    """What DLPack may call the elements of a vector, such as ``float32 x 2``."""

    @classmethod
    def of(cls, parameter: Parameter) -> Element:
        """Return what a parameter points to; nothing is known of one without a type."""
        typestrs = (
            f"{order}{code}" for code, word in _BY_TYPESTR.items() if word in parameter.dtypes for order in "<|"
        )
        is_written = bool(parameter.pointee) and not parameter.is_const
        lane, count = lanes_of(parameter.element)
        return cls(parameter.dtypes, is_written, frozenset(typestrs), _several(lane, count) if count > 1 else "")

    def check(self, word: str | None, what: str) -> None:
        """Raise MismatchError for elements of another type, unless they are of no known C++ type."""
        if not self.dtypes or word in self.dtypes or word == self.vector:
            return
        plain = "" if word is None else word.removeprefix(_SWAPPED).partition(_TIMES)[0]
        if plain in WORDS or plain in {"Python objects", *_OF_HOSTS.values()}:
            raise MismatchError(f"{what}{word}")

    def check_interface(self, array: Any, interface: dict[str, Any]) -> None:
        """Raise MismatchError for an array that does not fit, by its array interface."""
        if self.dtypes and interface["typestr"] not in self.typestrs:
            self.check(word_of_typestr(interface["typestr"]), f"{type_name(array)} of ")
        if self.is_written and interface["data"][1]:
            raise MismatchError(f"a read-only {type_name(array)}: pass one that may be written, or declare it const")


ANYTHING: Final = Element()


def is_masked(array: Any, interface: dict[str, Any]) -> bool:
    """Return whether an array says which of its elements count. The interface of ``numpy.ma`` does not show it."""
    if interface.get("mask") is not None:
        return True
    is_of_numpy = any(kind.__module__.startswith("numpy.ma") for kind in type(array).__mro__)
    return is_of_numpy and bool(array.mask.any())


def word_of_typestr(typestr: str) -> str | None:
    """Return the name of a type of the array interface, or None if C++ has no such type."""
    if typestr in _OBJECTS:
        return "Python objects"
    word = _BY_TYPESTR.get(typestr[1:]) or _OF_HOSTS.get(typestr[1:])
    return f"{_SWAPPED}{word}" if word and typestr[0] == ">" and typestr[2:] != "1" else word


def word_of_numpy(dtype: Any) -> str | None:
    """Return the name of a dtype of numpy, or None if C++ has no such type."""
    return word_of_typestr(dtype.str) or (dtype.name if dtype.name in _OWN_NAMES else None)  # of ml_dtypes


def word_of_dlpack(code: int, bits: int, lanes: int) -> str | None:
    """Return the name of an element type of DLPack, or None if C++ has no such type."""
    word = _BY_DLPACK.get((code, bits)) or _OF_HOSTS.get((code, bits))
    return word if word is None or lanes == 1 else _several(word, lanes)


def _several(word: str, count: int) -> str:
    return f"{word}{_TIMES}{count}"


def type_name(array: Any) -> str:
    """Return the name of an array's type, for messages."""
    kind = type(array)
    return f"{kind.__module__}.{kind.__qualname__}"
