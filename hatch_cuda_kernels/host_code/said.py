"""What one text says by itself: read once for all sources that share it."""

from __future__ import annotations

import re
from sys import intern
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.host_code.outline import read_outline
from hatch_cuda_kernels.source.lexer import SPLICE
from hatch_cuda_kernels.source.readings import find_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hatch_cuda_kernels.host_code.items import Outline
    from hatch_cuda_kernels.host_code.roles import MacroRole
    from hatch_cuda_kernels.source.readings import Readings

__all__ = ["Said", "outline_of", "said_by"]

_ASCII_WORD: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# A literal before \b is found far sooner than one behind it.
_REALS: Final = (
    re.compile(r"typedef(?<=\btypedef)\s+(?:float|double)\s+(\w+)\s*;"),
    re.compile(r"using(?<=\busing)\s+(\w+)\s*=\s*(?:float|double)\s*;"),
)
_NAMESPACE_ALIAS: Final = re.compile(r"namespace(?<=\bnamespace)\s+(\w+)\s*=\s*(?:::\s*)?(\w+)")
_OPERANDS: Final = tuple(re.compile(rf"{word}(?<=\b{word})\s*\(") for word in ("decltype", "sizeof", "noexcept"))
_CALLED: Final = re.compile(r"([A-Za-z_]\w*)\s*[(<]")
#: Without an object.
_CALLED_PLAINLY: Final = re.compile(r"(?<![\w.>])(?<!template )([A-Za-z_]\w*)\s*[(<]")
_BRACKET: Final = re.compile("[()]")
_LONGEST_OPERAND: Final = 1_000


class Said(NamedTuple):
    """What a text says by itself, as in Facts."""

    reals: frozenset[str]
    aliases: dict[str, str]
    unevaluated: frozenset[str]
    deduced: frozenset[str]


def said_by(text: str) -> Said:
    """Return what a text says."""
    reals = frozenset(name for pattern in _REALS for name in pattern.findall(text))
    operands = [*_operands(text)]
    unevaluated, deduced = (
        frozenset(name for start, end in operands for name in pattern.findall(text, start, end))
        for pattern in (_CALLED, _CALLED_PLAINLY)
    )
    return Said(reals, dict(_NAMESPACE_ALIAS.findall(text)), unevaluated, deduced)


def _macros_in(text: str, roles: Mapping[str, MacroRole], readings: Readings) -> frozenset[tuple[str, MacroRole]]:
    """Return the macros that a text may use: others have no part in its outline."""
    is_plain = text.isascii() and "\\" not in text
    words = readings.of(find_words if is_plain else _compiled_words, text)
    return frozenset((name, roles[name]) for name in words & roles.keys())


def _compiled_words(text: str) -> frozenset[str]:
    """Return the words of a text as they are to compilers: of ASCII's letters only, and with lines joined."""
    return frozenset(map(intern, {*_ASCII_WORD.findall(SPLICE.sub("", text))}))


def outline_of(text: str, roles: Mapping[str, MacroRole], readings: Readings) -> Outline | None:
    """Return a text's outline, read once with the same macros; ``roles`` are of all, as in Facts."""
    return readings.of(_outline, text, _macros_in(text, roles, readings))


def _outline(text: str, macros: frozenset[tuple[str, MacroRole]]) -> Outline | None:
    return read_outline(text, dict(macros))


def _operands(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the operands of ``decltype``, ``sizeof`` and ``noexcept`` begin and end."""
    for found in (found for pattern in _OPERANDS for found in pattern.finditer(text)):
        depth, end = 1, found.end() + _LONGEST_OPERAND
        for bracket in _BRACKET.finditer(text, found.end(), end):
            depth += 1 if bracket[0] == "(" else -1
            if not depth:
                end = bracket.end()
                break
        yield found.end(), end
