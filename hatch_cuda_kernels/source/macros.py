"""What a file says that could name a header to a computed include or probe: its macros, their uses, its conditions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from hatch_cuda_kernels.source.directives import HASH
from hatch_cuda_kernels.source.lexer import (
    CHARACTER,
    COMMENT,
    NUMBER,
    SPACE,
    STRING,
    Joined,
    Lexer,
    end_of_line,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MacroText", "defined_macros", "find_macro_texts", "parse_define", "possible_names"]

_LEXER: Final = Lexer(rf"{HASH}{SPACE}(?:define|include(?:_next)?|import|(?:el)?if)(?!\w)", "#%?")
_COMMENT: Final = re.compile(rf"({STRING}|{NUMBER}|\w++|{CHARACTER})|{COMMENT}", re.ASCII)
_DEFINED: Final = re.compile(r"(\w*)(?:\(([^()]*)\))?", re.ASCII)
#: Literals, and bare words with a header's suffix, which ``#`` can turn into a literal.
_NAME: Final = re.compile(r'"([^"\s]+)"|<([^<>\n]+)>|([\w./+-]++)', re.ASCII)
_SUFFIX: Final = re.compile(r"\.(?:h\w*|cuh|inl|inc)\Z", re.ASCII)


class MacroText(NamedTuple):
    """A macro's replacement, the operand of an include that macros name, or a condition; without comments."""

    kind: Literal["define", "include", "condition"]
    place: int
    """Where its directive stands in the file."""
    text: str
    name: str = ""
    """What the macro is called."""
    parameters: tuple[str, ...] | None = None
    """None for a macro that takes no parentheses."""


def find_macro_texts(text: str) -> Iterator[MacroText]:
    """Yield the macro texts of a file, in order."""
    source = Joined(text)
    position = line_end = 0
    while found := _LEXER.find(source, position):
        position = found.end
        if found.start < line_end or found.is_unclear:
            continue
        directive = source.text[found.start : found.end]
        line_end = end_of_line(source.text, found.end)
        line = _COMMENT.sub(lambda part: part[1] or " ", source.text[found.end : line_end]).strip()
        place = source.place(found.start)
        if directive.endswith("define"):
            yield parse_define(line, place)
        elif directive.endswith("if"):
            yield MacroText("condition", place, line)
        elif line[:1] not in {"", '"', "<"}:
            yield MacroText("include", place, line)


def defined_macros(text: str) -> tuple[MacroText, ...]:
    """Return the macros that a file defines."""
    return tuple(macro for macro in find_macro_texts(text) if macro.kind == "define")


def parse_define(line: str, place: int = 0) -> MacroText:
    """Return the macro that ``#define`` makes of what follows it."""
    head = _DEFINED.match(line)
    name, listed, text = (head[1], head[2], line[head.end() :]) if head else ("", None, line)
    names = (each.strip() for each in (listed or "").split(","))
    parameters = tuple(name.removesuffix("...").strip() or "__VA_ARGS__" for name in names if name)
    return MacroText("define", place, text.strip(), name, None if listed is None else parameters)


def possible_names(text: str) -> Iterator[str]:
    """Yield the names of headers that a macro text spells."""
    for literal, angled, bare in _NAME.findall(text):
        if literal or angled or _SUFFIX.search(bare):
            yield literal or angled or bare
