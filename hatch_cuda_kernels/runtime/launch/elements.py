"""The elements of arrays, as array libraries call them, and what a pointer of a kernel takes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.runtime.launch.unusable import MismatchError

if TYPE_CHECKING:
    from hatch_cuda_kernels.signature import Parameter

__all__ = ["ANYTHING", "DLPACK", "WORDS", "Element", "type_name", "word_of_dlpack", "word_of_numpy", "word_of_typestr"]

#: By type code and size of the array interface.
_BY_TYPESTR: Final = {
    **{f"{code}{size}": f"{word}{8 * size}" for code, word in (("i", "int"), ("u", "uint")) for size in (1, 2, 4, 8)},
    **{f"f{size}": f"float{8 * size}" for size in (2, 4, 8)},
    "b1": "bool", "c8": "complex64", "c16": "complex128",
}  # fmt: skip
#: By DLDataTypeCode (dlpack.h); what is listed without bits takes them from the type.
_BY_DLPACK: Final = {
    0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 10: "float8_e4m3fn", 12: "float8_e5m2",
    14: "float8_e8m0fnu",
}  # fmt: skip
_BOOL: Final = 6
_OWN_NAMES: Final = frozenset({"bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"})
#: All that C++ has a type for.
WORDS: Final = _OWN_NAMES | {*_BY_TYPESTR.values()}


class Element(NamedTuple):
    """What a pointer points to, as far as arrays can be told whether they fit."""

    dtypes: tuple[str, ...] = ()
    """What the elements may be called; anything if it is empty."""
    is_written: bool = False
    """Whether the kernel may write to it."""
    typestrs: frozenset[str] = frozenset()
    """What the array interface calls the elements that fit."""

    @classmethod
    def of(cls, parameter: Parameter) -> Element:
        """Return what a parameter points to; nothing is known of one without a type."""
        typestrs = (
            f"{order}{code}" for code, word in _BY_TYPESTR.items() if word in parameter.dtypes for order in "<|"
        )
        return cls(parameter.dtypes, bool(parameter.pointee) and not parameter.is_const, frozenset(typestrs))

    def check(self, word: str | None, what: str) -> None:
        """Raise MismatchError for elements of another kind, unless no C++ type is known that they would be."""
        if self.dtypes and word not in self.dtypes and word in WORDS:
            raise MismatchError(f"{what}{word}")

    def check_interface(self, array: Any, interface: dict[str, Any]) -> None:
        """Raise MismatchError for an array that does not fit, by its array interface."""
        if self.dtypes and interface["typestr"] not in self.typestrs:
            self.check(_BY_TYPESTR.get(interface["typestr"][1:]), f"{type_name(array)} of ")
        if self.is_written and interface["data"][1]:
            raise MismatchError(f"a read-only {type_name(array)}: pass one that may be written, or declare it const")


ANYTHING: Final = Element()


def word_of_typestr(typestr: str) -> str | None:
    """Return what a type of the array interface is called here; None for one that is no type of C++."""
    return _BY_TYPESTR.get(typestr[1:])


def word_of_numpy(dtype: Any) -> str | None:
    """Return what a dtype of numpy is called here; None for one that is no type of C++."""
    known = _BY_TYPESTR.get(dtype.str[1:])
    return known or (dtype.name if dtype.name in _OWN_NAMES else None)  # of ml_dtypes


def word_of_dlpack(code: int, bits: int) -> str | None:
    """Return what an element type of DLPack is called here; None for one that is no type of C++."""
    if code == _BOOL:
        return "bool"
    word = _BY_DLPACK.get(code)
    return word if word is None or "_" in word else f"{word}{bits}"


#: DLPack's code and bits of the types that C++ has.
DLPACK: Final = {
    word: (code, bits)
    for bits in (128, 64, 32, 16, 8)
    for code in (*_BY_DLPACK, _BOOL)
    for word in WORDS & {word_of_dlpack(code, bits)}
}


def type_name(array: Any) -> str:
    """Return what the type of an array is called in messages."""
    kind = type(array)
    return f"{kind.__module__}.{kind.__qualname__}"
