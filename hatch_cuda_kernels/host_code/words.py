"""The words of declarations, and the names and types that they make."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.host_code.nodes import flat, split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.host_code.tokens import Token

__all__ = [
    "BUILTIN",
    "CONSTANT",
    "HOST_NAMESPACES",
    "OTHERS",
    "SPECIFIERS",
    "TRAILERS",
    "TYPE_KEYS",
    "VIRTUAL",
    "WITH_ARGUMENTS",
    "has_no_type",
    "name_of",
    "parameters_of",
]

TYPE_KEYS: Final = frozenset({"class", "struct", "union", "enum"})
#: Words before or after a name that take arguments of their own.
WITH_ARGUMENTS: Final = frozenset(
    """
    __attribute__ __attribute __declspec __declspec__ alignas _Alignas __align__ __launch_bounds__ __cluster_dims__
    __maxnreg__ __block_size__ decltype typeof __typeof__ noexcept throw explicit __pragma _Pragma requires
    """.split()  # noqa: SIM905 - a list would take a line a word
)
#: What a function begins with whose value a compiler may know.
CONSTANT: Final = frozenset({"constexpr", "consteval"})
VIRTUAL: Final = frozenset({"virtual", "override", "final"})
BUILTIN: Final = frozenset(
    """
    void bool char short int long float double signed unsigned auto wchar_t char8_t char16_t char32_t __int64 __int128
    decltype typeof __typeof__ _Complex __complex__
    """.split()  # noqa: SIM905 - a list would take a line a word
)
SPECIFIERS: Final = frozenset(
    """
    static extern inline constexpr consteval constinit const volatile virtual explicit friend mutable register typename
    thread_local class struct union enum __host__ __device__ __global__ __constant__ __shared__ __managed__
    __forceinline__ __noinline__ __inline__ __inline __forceinline __restrict__ __restrict __extension__ __cdecl
    __stdcall CUDARTAPI CUDART_CB CUDAAPI CUDA_CB
    """.split()  # noqa: SIM905 - a list would take a line a word
) | (WITH_ARGUMENTS - BUILTIN)
TRAILERS: Final = frozenset(
    {"const", "volatile", "noexcept", "throw", "override", "final", "try", "requires", "mutable"}
)
OTHERS: Final = frozenset(
    {
        "using",
        "typedef",
        "namespace",
        "static_assert",
        "_Static_assert",
        "asm",
        "__asm__",
        "concept",
        "export",
        "import",
    }
)
_QUALIFIERS: Final = frozenset({"const", "volatile"})
#: What a parameter's type means the same without.
_ORNAMENTS: Final = frozenset({"struct", "class", "typename", "__restrict__", "__restrict", "register", "enum"})


def name_of(before: Sequence[Token]) -> tuple[str, str, Sequence[Token]]:
    """Return the last qualifier of the name that nodes end in, the name, and the nodes before both."""
    at = len(before) - 1
    at -= at >= 0 and before[at].text == "<>"
    if at < 0 or not before[at].is_word:
        return "", "", before
    name, scope = before[at].text, ""
    at -= 1
    if at >= 0 and before[at].text == "~":
        name = f"~{name}"
        at -= 1
    while at >= 0 and before[at].text == "::":
        at -= 1
        at -= at >= 0 and before[at].text == "<>"
        if at >= 0 and before[at].is_word and before[at].text not in BUILTIN | SPECIFIERS:
            scope = scope or before[at].text
            at -= 1
            at -= before[at].text == "template" if at > 0 else 0
    return scope, name, before[: at + 1]


@lru_cache(maxsize=4096)
def parameters_of(inner: tuple[Token, ...]) -> tuple[str, ...] | None:
    """Return the types of a function's parameters as they are spelled; None for values: ``int a(1);``."""
    parts = split(inner)
    if any(map(_is_value, parts)):
        return None
    return tuple(_parameter_type(part) for part in parts if [node.text for node in part] != ["void"])


def _is_value(part: Sequence[Token]) -> bool:
    """Return whether an argument has a number or a call before any default, and so is no parameter: ``a + f<1>()``."""
    for at, node in enumerate(part):
        if node.text[0].isdigit() or _calls_template(part[: at + 1]):
            return True
        if node.text == "=":
            break
    return False


def _calls_template(nodes: Sequence[Token]) -> bool:
    """Return whether nodes end in the call of a template, behind another operand."""
    texts = [node.text for node in nodes[-4:]]
    return texts[2:] == ["<>", "()"] and all(node.is_word for node in nodes[-4:-2])


def _parameter_type(nodes: Sequence[Token]) -> str:
    """Return a parameter's type as it is spelled, without its name and what its meaning does not need."""
    plain: list[Token] = []
    arrays = words = 0
    for node in nodes:
        if node.text == "=":
            break
        if node.text == "[]":
            arrays += 1
        elif node.text not in _ORNAMENTS:
            plain.append(node)
            words += node.text not in _QUALIFIERS and node.is_word
    if words > 1 and plain[-1].is_word and plain[-1].text not in BUILTIN and plain[-2].text != "::":
        del plain[-1]  # the parameter's name
    return " ".join([*flat(plain), *["*"] * arrays])


#: Namespaces of host libraries, whose headers are not included.
HOST_NAMESPACES: Final = frozenset(
    """
    at boost c10 caffe2 cereal cxxopts doctest fmt gflags google hip_impl nanobind nlohmann pybind11 rapidjson rmm
    spdlog tbb tensorflow testing torch tvm xla
    """.split()  # noqa: SIM905 - a list would take a line a word
)


def has_no_type(scope: str, name: str) -> bool:
    """Return whether a function is a constructor, destructor or conversion, so that a word before it is no type."""
    return name == scope or name[0] == "~" or name.startswith("operator ")
