"""Finds the ``#include`` and ``__has_include`` of a C++ file without preprocessing it: ``#if`` is not evaluated.

``#import`` counts as an include; ``%:`` and, in C++14, ``??=`` stand for ``#``. What compilers or versions of the
language take in two ways is refused, because an include could hide in it. So are macros whose value is the time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.source.lexer import COMMENT, SPACE, Joined, Lexer, end_of_line
from hatch_cuda_kernels.source.probes import is_argument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.source.lexer import Found

__all__ = ["HASH", "Directive", "find_directives"]

HASH: Final = r"(?:\#|%:|\?\?=)"
_DIRECTIVE: Final = rf"{HASH}{SPACE}(?:(?:include(?:_next)?|import|embed)(?!\w)|(?:el)?if(?!\w)(?=[^\n#\"</]*+[#\"</]))"
_WORDS: Final = r"(?<!\w)__(?:has_(?:include(?:_next)?|embed)|DATE__|TIME__|TIMESTAMP__)(?!\w)"
_LEXER: Final = Lexer(_DIRECTIVE, "#%?")
_FULL_LEXER: Final = Lexer(rf"(?:{_DIRECTIVE}|{_WORDS})", "#%?_")  # slower, for the texts with one of the words
_TRIGRAPH: Final = re.compile(r"\?\?[/']")
_BLANKS: Final = " \t\v\f\r"
_LAST_WORD: Final = re.compile(r"(?<!\w)\w++\Z", re.ASCII)

_NAME: Final = r"\"[^\"\n]+\"|<[^<>\n]+>"
_INCLUDED: Final = re.compile(rf"{SPACE}(?:(?P<name>{_NAME})|(?P<unclosed>[\"<])|(?P<nothing>\n|//|\Z)|(?P<macro>))")
_PROBED: Final = re.compile(rf"{SPACE}\({SPACE}(?P<name>{_NAME})|(?P<macro>)")
#: A header's name as an argument in a condition: it is for a macro that probes, as no expression has such a thing.
_ARGUMENT: Final = re.compile(rf"{COMMENT}|{_WORDS}{SPACE}\({SPACE}(?:{_NAME})|[(,]{SPACE}(?P<name>{_NAME})", re.ASCII)
_TESTED: Final = re.compile(r"(?:ifn?def|defined)[\s(]*+\Z")
_MARK: Final = re.compile(r"/\*|[\"']")

_TWO_READINGS: Final = "compilers take this {} in two ways; write it differently"
_UNCLOSED: Final = "a header's name goes on one line, between two quotes or < and >"
_EMBED: Final = "NVRTC knows no #embed, and nobody would hash what it reads; write the data as a header"
_CLOCKS: Final = ("__DATE__", "__TIME__", "__TIMESTAMP__")
_PROBLEMS: Final = dict.fromkeys(("embed", "__has_embed"), _EMBED) | {
    clock: f"{clock} differs in each build, and images must not; give such a value through define: in the manifest"
    for clock in _CLOCKS
}


class Directive(NamedTuple):
    """One include or probe: where its spelling stands in the text, and the spelling with its delimiters."""

    start: int
    end: int
    spelling: str = ""
    """``"a.h"`` or ``<a.h>``; empty where a macro names the header, in an include or in a probe."""
    is_next: bool = False
    """``#include_next`` or ``__has_include_next``."""
    is_probe: bool = False
    """``__has_include``, which opens nothing."""
    problem: str = ""
    """Why the text cannot be used here; such a directive has no spelling."""

    @property
    def is_clock(self) -> bool:
        """Whether it is a macro of the time, which code for the host may use."""
        return self.problem.startswith(_CLOCKS)


def find_directives(text: str) -> list[Directive]:
    """Return the includes and probes of a file in order, none of those inside comments and literals."""
    source = Joined(text)
    has_word = any(word in source.text for word in ("__has_", "__DATE__", "__TIME"))
    found = list(_find(source, _FULL_LEXER if has_word else _LEXER))
    trigraph = _TRIGRAPH.search(source.text) if "??" in text else None
    if trigraph:
        found.append(Directive(*trigraph.span(), problem=_TWO_READINGS.format("trigraph")))
    if source.text is not text:
        found = [one._replace(start=source.place(one.start), end=source.place(one.end - 1) + 1) for one in found]
    return sorted(found)


def _find(source: Joined, lexer: Lexer) -> Iterator[Directive]:
    """Yield the directives of a text by position in it with its lines joined."""
    text, position, begun, condition = source.text, 0, 0, 0
    while found := lexer.find(source, position):
        before, position = position, found.end
        last = _LAST_WORD.search(text, found.start, found.end)
        word = last[0] if last else ""
        if word[:1] not in {"", "_"} and not _starts_line(text, before, found.start):
            continue
        if word in {"if", "elif"}:
            if found.start >= condition:
                begun, condition = found.end, end_of_line(text, found.end)
                yield from _arguments(text, begun, condition)
        elif (directive := _directive(text, found, word, before)) is not None:
            yield directive
            position = directive.end
            is_condition = found.start < condition and not is_argument(text[begun : found.start])
            if directive.is_probe and directive.spelling and not is_condition:
                yield Directive(found.start, found.end, is_probe=True)  # in a macro, macros may change the name
        if found.is_unclear:  # what follows may be code or not
            return


def _starts_line(text: str, before: int, start: int) -> bool:
    """Return whether only blanks and the end of a comment may stand before a position on its line.

    It errs on the side of yes: then an include is found that is none.
    """
    passed = text[before:start].rstrip(_BLANKS)
    return passed.endswith(("\n", "*/")) or (not passed and before == 0)


def _arguments(text: str, start: int, end: int) -> Iterator[Directive]:
    """Yield the headers that a condition names to a macro."""
    for found in _ARGUMENT.finditer(text, start, end):
        if found["name"]:
            is_next = text[max(start, found.start() - 8) : found.start()].lower().rstrip(_BLANKS).endswith("next")
            yield Directive(*found.span("name"), found["name"], is_next, is_probe=True)


def _directive(text: str, found: Found, word: str, before: int) -> Directive | None:
    """Return the include, probe or problem that is found; None where it names nothing."""
    here = Directive(found.start, found.end, is_next=word.endswith("_next"), is_probe=word.startswith("__has_"))
    if here.is_probe and _TESTED.search(text, max(before, found.start - 40), found.start):
        return None
    problem = _TWO_READINGS.format("quote") if found.is_unclear else _PROBLEMS.get(word)
    if problem:
        return here._replace(problem=problem)
    operand = (_PROBED if here.is_probe else _INCLUDED).match(text, found.end)
    return _named(here, operand) if operand else here


def _named(here: Directive, operand: re.Match[str]) -> Directive | None:
    """Return an include or probe with the name in its operand; None where that is empty."""
    if operand.lastgroup == "nothing":
        return None
    if operand.lastgroup == "unclosed":
        return here._replace(problem=_UNCLOSED)
    if operand.lastgroup == "macro":
        return here
    name = operand["name"]
    if _has_two_readings(operand.string, name, operand.end()):
        return here._replace(problem=_TWO_READINGS.format("name"))
    return here._replace(start=operand.start("name"), end=operand.end("name"), spelling=name)


def _has_two_readings(text: str, name: str, end: int) -> bool:
    """Return whether a name is another thing to a compiler that skips it, and what follows on its line might be too."""
    if name.startswith('"'):
        return name.endswith('\\"')
    end_of_line = text.find("\n", end)
    return _MARK.search(name) is not None or (
        "//" in name and _MARK.search(text, end, len(text) if end_of_line < 0 else end_of_line) is not None
    )
