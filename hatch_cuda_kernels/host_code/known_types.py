"""Which types NVRTC surely knows: what the project's texts declare, and what they make of that and of CUDA's own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.host_code.words import BUILTIN, SPECIFIERS, TRAILERS
from hatch_cuda_kernels.source.library_names import library_names
from hatch_cuda_kernels.source.std_names import STD_NAMES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["are_known", "known_types"]

_PLAIN: Final = (
    BUILTIN
    | SPECIFIERS
    | TRAILERS
    | {"std", "template", "true", "false", "sizeof", "type", "value"}
    | {name for name, header in STD_NAMES.items() if header == "type_traits"}
) - {"auto", "decltype", "typeof", "__typeof__", "_Complex", "__complex__"}
#: Types of CUDA's, and of headers that the names bring.
_CUDAS: Final = re.compile(
    r"size_t|ptrdiff_t|nullptr_t|u?int(?:8|16|32|64|ptr)_t|u?(?:char|short|int|long|longlong)[1-4]"
    r"|(?:float|double)[1-4]|dim3|(?:__)?half2?|__nv_bfloat162?"
)


def known_types(declared: Iterable[str], meanings: Iterable[tuple[str, Collection[str]]]) -> set[str]:
    """Return the types that are known; ``meanings`` are the words of what others stand for, of which all must be."""
    known = {*declared}
    waiting: dict[str, set[str]] = {}
    for name, words in meanings:
        waiting.setdefault(name, set()).update(words)
    while fresh := {name for name, words in waiting.items() if are_known(words, known)}:
        known |= fresh
        waiting = {name: words for name, words in waiting.items() if name not in fresh}
    return known


def are_known(words: Iterable[str], types: Collection[str]) -> bool:
    """Return whether all words are keywords and types that are known, those of the host's libraries among them."""
    return all(word in _PLAIN or word in types or _CUDAS.fullmatch(word) or word in library_names() for word in words)
