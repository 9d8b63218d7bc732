"""C++ text with what marks a kernel in sight: macros without parameters may stand for it, in whatever file."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.source.lexer import SPLICE, blank_literals

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["C_LINKAGE", "KERNEL", "with_marks_shown"]

#: Programs that are remembered: a module has the same texts for every architecture.
_MOST: Final = 16
#: Characters by which marks may make a text longer, besides twice its length.
_GROWTH: Final = 100_000
KERNEL: Final = "__global__"
#: Stands for ``extern "C"``, for literals are left out.
C_LINKAGE: Final = "extern_C_"
_EXTERN_C: Final = re.compile(r'\bextern\s*"C"')
_MACRO: Final = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([\w, \t.]*\))?[ \t]+([^\n]*)", re.MULTILINE)
_DIRECTIVE: Final = re.compile(r"^[ \t]*#.*", re.MULTILINE)
_NAME: Final = re.compile(r"[^\W\d]\w*")


@lru_cache(_MOST)
def with_marks_shown(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of a program's texts that may declare kernels, without comments, literals and directives."""
    macros = _macros(_code(text) for text in texts if KERNEL in text or _EXTERN_C.search(text))
    marks = re.compile("|".join(rf"\b{name}\b" for name in (KERNEL, *macros)))
    return tuple(_expanded(_DIRECTIVE.sub(" ", _code(text)), macros) for text in texts if marks.search(text))


def _code(text: str) -> str:
    return blank_literals(_EXTERN_C.sub(C_LINKAGE, SPLICE.sub("", text)))


def _macros(codes: Iterable[str]) -> dict[str, str]:
    """Return what those macros stand for that hide the mark of a kernel, or its linkage."""
    found: dict[str, str] = {}
    plain = [(name, body) for code in codes for name, parameters, body in _MACRO.findall(code) if not parameters]
    while fresh := {
        name: body for name, body in plain if name not in found and {KERNEL, C_LINKAGE, *found} & {*_NAME.findall(body)}
    }:
        found |= fresh
    return found


def _expanded(code: str, macros: dict[str, str]) -> str:
    longest = _GROWTH + 2 * len(code)
    for _ in macros:  # one may stand for another
        made = _NAME.sub(lambda word: macros.get(word[0], word[0]), code)
        if len(made) > longest:  # in a part that no compiler reads: it would run out of memory
            break
        code = made
    return code
