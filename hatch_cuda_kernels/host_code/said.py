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

__all__ = ["Said", "operands_of_macros", "outline_of", "said_by"]

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
#: What asks whether expressions have a meaning.
_CONSTRAINTS: Final = tuple(re.compile(rf"{word}(?<=\b{word})\b[^;]*") for word in ("requires", "concept"))
_TYPES: Final = tuple(
    re.compile(rf"{word}(?<=\b{word})\s+(?:\.\.\.\s*|class\s+)?(\w+)")
    for word in ("typename", "class", "struct", "union", "enum")
)
#: ``typedef struct {} a;``: a variable of a class is no matter here, either.
_NAMED_BEHIND: Final = re.compile(r"\}\s*([A-Za-z_]\w*)\s*;")
_ALIASES: Final = (
    re.compile(r"using(?<=\busing)\s+(?P<name>\w+)\s*=(?P<meant>[^;{}]*);"),
    re.compile(r"typedef(?<=\btypedef)\b(?P<meant>[^;{}()]{0,1000}?)\b(?P<name>\w+)\s*;"),
)
#: ``typedef int a, b;``, ``typedef enum {} a;``, and the variables of a class, which are no matter.
_MORE_ALIASES: Final = (
    re.compile(r"typedef(?<=\btypedef)\b([^;{}()]{1,1000},[^;{}(),]*);"),
    re.compile(r"\}\s*([A-Za-z_][\w\s,]*);"),
)
#: A type that is certainly no reference: one of the language, or a class, perhaps with built-in arguments.
_OBJECT: Final = re.compile(
    r"[\s=]*(?:(?:struct|class|const|unsigned|signed|long|short)\s+)*\w+(?:\s*<[\w\s,]*>)?[\s*]*"
)
_ARGUMENTS: Final = re.compile(r"<[^<>]*>")
#: What may be a function that a template is given in an alias: a word by itself.
_GIVEN: Final = re.compile(r"[<,]\s*&?\s*([A-Za-z_]\w*)\s*(?=[,>])")


class Said(NamedTuple):
    """What a text says by itself, as in Facts."""

    reals: frozenset[str]
    aliases: dict[str, str]
    unevaluated: frozenset[str]
    deduced: frozenset[str]
    observed: frozenset[str]
    types: frozenset[str]
    """The names of types and of templates' parameters."""
    meanings: tuple[tuple[str, frozenset[str]], ...]
    """The types that others stand for, with the words of what these are."""
    renamed: frozenset[str]
    """The names of the former, but for those of a class of that name."""
    referring: frozenset[str]
    """Those of them that may stand for references."""


def said_by(text: str) -> Said:
    """Return what a text says."""
    reals = frozenset(name for pattern in _REALS for name in pattern.findall(text))
    operands = [*_operands(text)]
    aliases = [found for pattern in _ALIASES for found in pattern.finditer(text)]
    meanings = tuple((found["name"], frozenset(_ASCII_WORD.findall(found["meant"]))) for found in aliases)
    more = [part for pattern in _MORE_ALIASES for part in pattern.findall(text)]
    types = frozenset(name for pattern in (*_TYPES, _NAMED_BEHIND) for name in pattern.findall(text))
    constraints = (found[0][:_LONGEST_OPERAND] for pattern in _CONSTRAINTS for found in pattern.finditer(text))
    asked = {name for part in (*operands, *constraints) for name in _ASCII_WORD.findall(part)}
    given = {name for found in aliases for name in _GIVEN.findall(found["meant"])} - types
    return Said(
        reals=reals,
        aliases=dict(_NAMESPACE_ALIAS.findall(text)),
        unevaluated=frozenset(name for operand in operands for name in _CALLED.findall(operand)),
        deduced=frozenset(name for operand in operands for name in _CALLED_PLAINLY.findall(operand)),
        observed=frozenset(asked | given),
        types=types,
        meanings=meanings,
        renamed=frozenset(name for name, words in meanings if name not in words).union(*map(_named_last, more)),
        referring=frozenset(found["name"] for found in aliases if not _OBJECT.fullmatch(found["meant"])).union(
            *(_named_last(part) for part in more if "&" in part)
        ),
    )


def _named_last(part: str) -> set[str]:
    """Return the last word of each part between commas, without template arguments."""
    count = 1
    while count:
        part, count = _ARGUMENTS.subn(" ", part)
    return {words[-1] for piece in part.split(",") if (words := _ASCII_WORD.findall(piece.partition("[")[0]))}


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


def _operands(text: str) -> Iterator[str]:
    """Yield the operands of ``decltype``, ``sizeof`` and ``noexcept``."""
    for found in (found for pattern in _OPERANDS for found in pattern.finditer(text)):
        depth, end = 1, found.end() + _LONGEST_OPERAND
        for bracket in _BRACKET.finditer(text, found.end(), end):
            depth += 1 if bracket[0] == "(" else -1
            if not depth:
                end = bracket.end()
                break
        yield text[found.end() : end]


def operands_of_macros(text: str, macros: frozenset[str]) -> frozenset[str]:
    """Return the words between the parentheses behind the names of macros."""
    uses = re.compile(rf"\b(?:{'|'.join(sorted(macros))})\s*\(([^;{{}}]*)")
    return frozenset(word for used in uses.findall(text) for word in _ASCII_WORD.findall(used[:_LONGEST_OPERAND]))
