"""What a text begins with: the headers it includes before anything else, and what keeps it from counting twice."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.source.directive_lines import directive_at
from hatch_cuda_kernels.source.directives import find_directives
from hatch_cuda_kernels.source.lexer import COMMENT, Joined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.source.directive_lines import DirectiveLine

__all__ = ["ONCE", "Opening", "named_headers", "once_in_source", "read_opening", "words_of"]

#: The guard of a text with ``#pragma once``.
ONCE: Final = "#pragma once"

_BLANK: Final = re.compile(rf"(?:\s++|{COMMENT})*+")
_ONCE_LINE: Final = re.compile(rf"(?P<before>(?:\s++|{COMMENT})*+)#[ \t]*pragma[ \t]+once[ \t]*(?=\r?\n)")
_NAME: Final = re.compile(r"\"[^\"\n]+\"|<[^<>\n]+>")
_CONDITION: Final = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b[^\n]*", re.MULTILINE)
_UNDEFINED: Final = re.compile(r"!\s*defined\s*(?:\(\s*(\w+)\s*\)|(\w+))", re.ASCII)
_IDENTIFIER: Final = re.compile(r"\w+", re.ASCII)
#: Pragmas that mean nothing to what is included after them.
_IDLE: Final = frozenset({"once", "GCC system_header", "clang system_header", "system_header"})
_IFS: Final = frozenset({"if", "ifdef", "ifndef"})


class Opening(NamedTuple):
    """The beginning of a text."""

    guard: str
    """``#pragma once``, or the macro around all of it; empty where a second inclusion may have an effect."""
    includes: tuple[str, ...]
    """What it includes before anything else, as it is spelled, with delimiters."""
    is_whole: bool
    """Whether that is all of the text."""


@lru_cache(maxsize=4096)
def read_opening(text: str) -> Opening:
    """Return how a text begins. Only directives are read that mean the same wherever the text is included."""
    source = Joined(text).text
    lines = [*_lines(source)]
    guard = _guard(source, lines)
    body = lines[2:] if guard and guard != ONCE else lines
    includes: list[str] = []
    position = 0
    while position < len(body):
        line = body[position]
        if line.word == "include" and _NAME.fullmatch(line.operand):
            includes.append(line.operand)
        elif line.word in _IFS:
            end = _idle_group(body, position)
            if end is None:
                break
            position = end
        elif not (_is_idle(line) or (line.word == "endif" and guard and line is body[-1])):
            break
        position += 1
    ends = _BLANK.match(source, lines[-1].end if lines else 0)
    is_whole = position == len(body) and ends is not None and ends.end() == len(source)
    return Opening(guard, tuple(includes), is_whole)


@lru_cache(maxsize=4096)
def named_headers(text: str) -> frozenset[str]:
    """Return every header that a text may include or look for, as it is spelled: ``#if`` is not evaluated."""
    return frozenset(found.spelling for found in find_directives(text) if found.spelling)


def once_in_source(text: str) -> str:
    """Return a source that its own headers include, so that its ``#pragma once`` counts: NVRTC ignores it there."""
    line = _ONCE_LINE.match(text)
    return f"{line['before']}#if !__INCLUDE_LEVEL__{text[line.end() :]}\n#endif\n" if line else text


@lru_cache(maxsize=4096)
def words_of(text: str) -> frozenset[str]:
    """Return every word of a text, those in comments and literals among them."""
    return frozenset(_IDENTIFIER.findall(text))


def _lines(source: str) -> Iterator[DirectiveLine]:
    """Yield the directives before anything else."""
    position = 0
    while True:
        blank = _BLANK.match(source, position)
        position = blank.end() if blank else position
        found = directive_at(source, position) if source.startswith("#", position) else None
        if found is None:
            return
        yield found
        position = found.end


def _guard(source: str, lines: list[DirectiveLine]) -> str:
    """Return what keeps a text that begins with these directives from counting twice."""
    if lines and (lines[0].word, lines[0].operand) == ("pragma", "once"):
        return ONCE
    if len(lines) < 2 or lines[1].word != "define":
        return ""
    first, second = lines[0], lines[1]
    tested = _UNDEFINED.fullmatch(first.operand) if first.word == "if" else None
    macro = (tested[1] or tested[2]) if tested else first.operand if first.word == "ifndef" else ""
    defined = _IDENTIFIER.match(second.operand)
    return macro if macro and defined and defined[0] == macro and _encloses_all(source) else ""


def _encloses_all(source: str) -> bool:
    """Return whether the first condition of a text has one branch, and ends with the text."""
    depth = 0
    for found in _CONDITION.finditer(source):
        if found[1] in _IFS:
            depth += 1
        elif found[1] != "endif":
            if depth == 1:
                return False
        else:
            depth -= 1
            if depth == 0:
                rest = _BLANK.match(source, found.start() + len(found[0]))
                return rest is not None and rest.end() == len(source)
    return False


def _is_idle(line: DirectiveLine) -> bool:
    return line.word == "" or (line.word == "pragma" and " ".join(line.operand.split()) in _IDLE)


def _idle_group(body: list[DirectiveLine], start: int) -> int | None:
    """Return where the group of a condition ends in which nothing matters; None if something does."""
    depth = 0
    for position in range(start, len(body)):
        line = body[position]
        if line.word in _IFS:
            depth += 1
        elif line.word == "endif":
            depth -= 1
            if depth == 0:
                return position
        elif line.word not in {"elif", "else"} and not _is_idle(line):
            return None
    return None
