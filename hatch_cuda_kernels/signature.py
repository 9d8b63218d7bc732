"""Parameters as C++ declares them: launches check them, and calls of other frameworks are derived from them.

A type is text as the build's compiler gives it: expanded, with ``const`` in front, such as ``const float*``,
``long long`` or ``ns::Params``. PTX's word for the parameter says what it takes in the buffer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from hatch_cuda_kernels.records import NamedTuple

#: Bytes of a type, and what arrays call it. To arrays, ``char`` and ``void`` are memory of any kind.
_SCALARS: Final[dict[str, tuple[int, str]]] = {
    "bool": (1, "bool"),
    "char": (1, ""),
    "signed char": (1, "int8"),
    "unsigned char": (1, "uint8"),
    "char8_t": (1, ""),
    "short": (2, "int16"),
    "unsigned short": (2, "uint16"),
    "char16_t": (2, ""),
    "int": (4, "int32"),
    "unsigned int": (4, "uint32"),
    "char32_t": (4, ""),
    "long": (8, "int64"),
    "unsigned long": (8, "uint64"),
    "long long": (8, "int64"),
    "unsigned long long": (8, "uint64"),
    "float": (4, "float32"),
    "double": (8, "float64"),
    "__half": (2, "float16"),
    "__nv_bfloat16": (2, "bfloat16"),
    "__nv_fp8_e4m3": (1, "float8_e4m3fn"),
    "__nv_fp8_e5m2": (1, "float8_e5m2"),
    "__nv_fp8_e8m0": (1, "float8_e8m0fnu"),
    "__half2": (4, "float16"),
    "__nv_bfloat162": (4, "bfloat16"),
}
#: Floats of 8 and 16 bits, which callers pass by value as a float of Python.
SMALL_FLOATS: Final = frozenset({"__half", "__nv_bfloat16", "__nv_fp8_e4m3", "__nv_fp8_e5m2"})
#: CUDA's vector types, such as ``float4``, by what their names begin with.
_LANES: Final = {
    "char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16", "int": "int32", "uint": "uint32",
    "long": "int64", "ulong": "uint64", "longlong": "int64", "ulonglong": "uint64",
    "float": "float32", "double": "float64",
}  # fmt: skip
_VECTOR: Final = re.compile(r"([a-z]+)([1-4])(?:_(?:16|32)a)?")
_COMPLEX: Final = re.compile(r"(?:c10|cuda::std|thrust|std)::complex<(float|double)>")
#: What arrays call elements of Torch's types, which kernels take by pointers.
_TORCHS: Final = {
    "c10::Half": "float16",
    "c10::BFloat16": "bfloat16",
    "c10::Float8_e4m3fn": "float8_e4m3fn",
    "c10::Float8_e5m2": "float8_e5m2",
}
_COMPLEX_OF: Final = {"float32": "complex64", "float64": "complex128"}
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
#: Digits of a struct's size and of its alignment.
_MOST_DIGITS: Final = 5, 4


class Parameter(NamedTuple):
    """One parameter of a kernel. Without a type, only ``kind`` is known of it."""

    kind: str
    """PTX's word, such as ``u64``; ``ptr`` for a pointer, ``b8[16]:8`` for 16 bytes aligned to 8."""
    type: str = ""
    """The C++ type; empty where a store does not record it."""
    name: str = ""
    """As the source calls it; empty where that is not clear."""

    @property
    def size(self) -> int:
        """Bytes in the parameter buffer; 0 for a kind that this version does not know."""
        return _layout(self.kind)[0]

    @property
    def align(self) -> int:
        """What its place in the buffer is a multiple of."""
        return _layout(self.kind)[1]

    @property
    def is_pointer(self) -> bool:
        """Whether it is a pointer or a reference, as far as is known."""
        return self.kind == "ptr" or self.type.endswith(("*", "&", "* const")) or "(*" in self.type

    @property
    def pointee(self) -> str:
        """The type that it points to, as text, ``const`` included; empty unless it is a pointer to an object."""
        text = self.type.removesuffix(" const")
        return text[:-1] if text.endswith(("*", "&")) else ""

    @property
    def is_const(self) -> bool:
        """Whether it points to what the kernel only reads."""
        pointee = self.pointee
        return pointee.endswith(" const") or (pointee.startswith("const ") and not pointee.endswith(("*", "&", ")")))

    @property
    def dtype(self) -> str | None:
        """What arrays call the elements it points to, such as ``float32``; None where nothing fits."""
        return next(iter(_dtypes(self.element)), None)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """What arrays may call the elements: a ``float2`` is complex, or two of ``float32``. Anything if it is empty.

        Arrays of bytes are memory of any kind, as they are to C++. Unsigned integers may be called signed ones, since
        torch computes little with unsigned dtypes.
        """
        return () if self.element == "unsigned char" else _dtypes(self.element)

    @property
    def element(self) -> str:
        """The type that it points to, as text, without ``const``; empty unless it is a pointer to an object."""
        return self.pointee.removeprefix("const ")

    @property
    def is_signed(self) -> bool | None:
        """Whether it is an integer that may be negative; None if it is not an integer, or may be either."""
        dtype = _SCALARS.get(self.type, (0, ""))[1]
        return dtype.startswith("int") if "int" in dtype else None

    def __str__(self) -> str:
        return f"{self.type or self.kind} {self.name}".rstrip()


def parameters_of(kinds: Sequence[str], types: Sequence[str], names: Sequence[str]) -> tuple[Parameter, ...]:
    """Return a kernel's parameters. Types and names are left out unless there is one for each."""
    unknown = [""] * len(kinds)
    found = types if len(types) == len(kinds) else unknown
    called = names if len(names) == len(kinds) else unknown
    return tuple(map(Parameter, kinds, found, called))


def sizes_agree(kinds: Sequence[str], types: Sequence[str]) -> bool:
    """Return whether C++ types fit the kinds of parameters in PTX."""
    return len(kinds) == len(types) and all(map(_agrees, kinds, types))


def _agrees(kind: str, text: str) -> bool:
    parameter, (size, _) = Parameter(kind, text), _SCALARS.get(text, (0, ""))
    if parameter.is_pointer:
        return kind in {"ptr", "u64", "b64"}
    if kind.startswith("f") != (text in {"float", "double"}):
        return False
    is_long = text in {"long", "unsigned long"}  # of 4 bytes on Windows
    return kind != "ptr" and (not size or parameter.size == size or (is_long and parameter.size == size // 2))


def _layout(kind: str) -> tuple[int, int]:
    if kind.startswith("b8["):
        words = kind[3:].split("]:")
        sound = len(words) == 2 and all(map(_is_number, words, _MOST_DIGITS)) and words[1][0] != "0"
        return (int(words[0]), int(words[1])) if sound else (0, 0)
    bits = kind.lstrip(_LETTERS)
    size = 8 if kind == "ptr" else int(bits) // 8 if bits != kind and _is_number(bits, len(bits)) else 0
    return size, size


def _is_number(text: str, most: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= most


def _dtypes(element: str) -> tuple[str, ...]:
    if element in _SCALARS:
        word = _SCALARS[element][1]
        return (word, word[1:]) if word.startswith("uint") else tuple(filter(None, [word]))
    if element in _TORCHS:
        return (_TORCHS[element],)
    number = _COMPLEX.fullmatch(element)
    if number is not None:
        return (_COMPLEX_OF[_SCALARS[number[1]][1]],)
    lane, count = lanes_of(element)
    pair = _COMPLEX_OF.get(lane) if count == 2 else None
    return tuple(filter(None, (pair, lane)))


def lanes_of(text: str) -> tuple[str, int]:
    """Return the dtype and the count of the numbers in a vector or complex type."""
    if text in _SCALARS or not text:
        return "", 0
    vector, number = _VECTOR.fullmatch(text), _COMPLEX.fullmatch(text)
    if number is not None:
        return _SCALARS[number[1]][1], 2
    lane = "uint32" if text == "dim3" else _LANES.get(vector[1], "") if vector is not None else ""
    return (lane, 3 if text == "dim3" else int(vector[2]) if vector is not None else 0) if lane else ("", 0)
