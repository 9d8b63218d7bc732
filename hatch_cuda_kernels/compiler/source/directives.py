"""Finds the ``#include`` and ``__has_include`` of a C++ file without preprocessing it: ``#if`` is not evaluated.

``%:`` and, in C++14, ``??=`` stand for ``#``. A word or a comment mark that a backslash splits over two lines is not
put together; it is refused, because an include could hide in it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ANY_HASH", "LITERALS", "SPACE", "Directive", "find_directives"]

# Comments, raw strings, strings and characters come first, so that a directive inside one is never seen. A ' after a
# letter or digit is a digit separator unless that is an encoding prefix. Every alternative starts with one of few
# characters, and what is rare has a search of its own: that is what makes the search fast (50 MB/s).
_SPLICE: Final = r"\\\r?\n"
SPACE: Final = rf"(?:[ \t\v\f]|{_SPLICE}|/\*(?:[^*]|\*(?!/))*+\*/)*+"
ANY_HASH: Final = r"(?:\#|%:|\?\?=)"
LITERALS: Final = (
    r"//[^\n\\]*(?:\\(?:\r\n|[\s\S])[^\n\\]*)*",
    r"(?P<comment>/\*[\s\S]*?(?:\*/|\Z))",
    (
        r'"(?:(?:(?<=\bR")|(?<=\b[uUL]R")|(?<=\bu8R"))(?P<delimiter>[^()\\\s]{0,16})\([\s\S]*?\)(?P=delimiter)"'
        r'|(?:[^"\\\n]|\\(?:\r\n|[\s\S]))*")'
    ),
    r"'(?:(?<!\w')|(?<=\b[uUL]')|(?<=\bu8'))(?:[^'\\\n]|\\.)+'",
)
_SPELLING: Final = r'"[^"\n]+"|<[^>\n]+>'
_INCLUDE: Final = rf"{SPACE}include(?P<next>_next)?(?!\w){SPACE}(?P<included>{_SPELLING}|)"
_CONDITION: Final = rf"{SPACE}(?:el)?if\b(?P<condition>)"
_PROBE: Final = (
    r"__has_include(?<!\w__has_include)(?P<probe_next>_next)?(?!\w)"
    rf"(?:{SPACE}\({SPACE}(?P<probed>{_SPELLING})|(?P<unclear>))"
)
_GOES_ON: Final = rf"\r?\n(?:{_SPLICE})*"
_SPLIT_WORD: Final = rf'\\(?:(?<=\w\\){_GOES_ON}(?=\w)|(?<=R\\){_GOES_ON}(?="))(?P<split>)'
_LEXER: Final = re.compile("|".join((*LITERALS, rf"\#{_INCLUDE}", rf"\#{_CONDITION}")))
_FULL_LEXER: Final = re.compile("|".join((*LITERALS, ANY_HASH + _INCLUDE, ANY_HASH + _CONDITION, _PROBE, _SPLIT_WORD)))
_SPLIT: Final = re.compile(_SPLIT_WORD)
_SPLIT_MARK: Final = re.compile(rf"\\(?:(?<=/\\){_GOES_ON}[/*]|(?<=\*\\){_GOES_ON}/|(?<=%\\){_GOES_ON}:)")
_TRIGRAPH_SPLICE: Final = re.compile(r"\?\?/")
#: A header's name as an argument in a condition: no expression has one, so it is for a macro that probes.
_ARGUMENT: Final = re.compile(rf"\({SPACE}({_SPELLING})")
_LINE: Final = re.compile(r"(?:[^\n\\]|\\(?:\r\n|[\s\S]))*")
_TESTED: Final = re.compile(r"(?:ifn?def|defined)[\s(]*\Z")


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
    """Why the text cannot be read here; such a directive has no spelling."""


def find_directives(text: str) -> Iterator[Directive]:
    """Yield the includes and probes of a file in order, none of those inside comments and literals."""
    has_include = "include" in text
    full = (has_include and "__has_include" in text) or "%:" in text or "??=" in text or _SPLIT.search(text) is not None
    if not full and not has_include and not _may_probe(text):
        return
    for mark in filter(None, (_SPLIT_MARK.search(text), _TRIGRAPH_SPLICE.search(text))):
        yield Directive(*mark.span(), problem="a mark split over two lines, or a trigraph; write it plainly")
    clean = done = 0  # the ends of the last comment that may begin a line, and of the last probe
    for match in (_FULL_LEXER if full else _LEXER).finditer(text):
        if match.lastgroup in {"comment", "included"}:
            if _starts_line(text, match.start(), clean):
                if match.lastgroup == "included":
                    yield _included(text, match)
                else:
                    clean = match.end()
        elif match.lastgroup is not None and match.lastgroup != "delimiter":
            for directive in _probes(text, match):
                if directive.problem or directive.start >= done:
                    yield directive
                    done = max(done, directive.end)


def _may_probe(text: str) -> bool:
    """Return whether a text without the word include may have a condition with a header's name."""
    for found in _ARGUMENT.finditer(text):
        line = text.rfind("\n", 0, found.start()) + 1
        if "if" in text[line : found.start()] or text.endswith(("\\\n", "\\\r\n"), 0, line):
            return True
    return False


def _included(text: str, match: re.Match[str]) -> Directive:
    start, end = match.span("included")
    if start == end and text[start : start + 1] in {'"', "<"}:
        return Directive(start, end, problem="a header's name goes on one line, between two quotes or < and >")
    return Directive(start, end, match["included"], match["next"] is not None)


def _probes(text: str, match: re.Match[str]) -> Iterator[Directive]:
    """Yield the probes of a condition, with ``__has_include`` or a macro that wraps it, or the one found."""
    start = match.start()
    if match.lastgroup == "condition":
        line = _LINE.match(text, match.end())
        for found in _ARGUMENT.finditer(text, match.end(), line.end() if line else start):
            is_next = text.endswith(("_next", "_next "), start, found.start())
            yield Directive(*found.span(1), found[1], is_next, is_probe=True)
    elif match.lastgroup == "probed":
        yield Directive(*match.span("probed"), match["probed"], match["probe_next"] is not None, is_probe=True)
    elif match.lastgroup == "split":
        yield Directive(start, start, problem="a word split over two lines; write it in one piece")
    elif not _TESTED.search(text, text.rfind("\n", 0, start) + 1, start):
        yield Directive(start, match.end(), is_probe=True)


def _starts_line(text: str, position: int, clean: int) -> bool:
    """Return whether nothing but blanks, comments and continued lines stands before a position on its line."""
    while not text[max(line := text.rfind("\n", 0, position) + 1, clean) : position].strip():
        if clean > line or not text.endswith(("\\\n", "\\\r\n"), 0, line):
            return True
        position = line - (3 if text.endswith("\r\n", 0, line) else 2)
    return False
