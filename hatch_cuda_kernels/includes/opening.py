"""What a text begins with: the headers it includes before anything else, and what keeps it from counting twice."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.cpp import Edit, SourceFile, UnbalancedError
from hatch_cuda_kernels.includes.project import find_words
from hatch_cuda_kernels.includes.texts import find_includes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.cpp import Directive

__all__ = ["ONCE", "Opening", "named_headers", "once_in_source", "read_opening", "words_of"]

#: The guard of a text with ``#pragma once``.
ONCE: Final = "#pragma once"

_NAME: Final = re.compile(r"\s*(\"[^\"\n]+\"|<[^<>\n]+>)")
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
    file = SourceFile("", text)
    try:
        groups = file.groups
    except UnbalancedError:
        return Opening("", (), is_whole=False)
    directives = file.directives
    count = next((at for at in range(len(directives) + 1) if file.tokens(at)), len(directives) + 1)
    guard = _guard(file, directives[:count], groups)
    body = range(2 if guard and guard != ONCE else 0, min(count, len(directives)))
    includes: list[str] = []
    position = body.start
    while position < body.stop:
        line = directives[position]
        name = _NAME.match(line.operand) if line.word == "include" else None
        if name is not None:
            includes.append(name[1])
        elif line.word in _IFS:
            end = _idle_group(directives[:count], groups, position)
            if end is None:
                break
            position = end
        elif not (_is_idle(line) or (line.word == "endif" and guard and position == len(directives) - 1)):
            break
        position += 1
    return Opening(guard, tuple(includes), is_whole=position >= len(directives) and count > len(directives))


@lru_cache(maxsize=4096)
def named_headers(text: str) -> frozenset[str]:
    """Return every header that a text may include or look for, as it is spelled: ``#if`` is not evaluated."""
    return frozenset(found.spelling for found in find_includes(SourceFile("", text)) if found.spelling)


@lru_cache(maxsize=4096)
def words_of(text: str) -> frozenset[str]:
    """Return every word of a text, those in comments and literals among them."""
    return find_words(text)


def once_in_source(file: SourceFile) -> tuple[Edit, ...]:
    """Return how a source changes that its own headers include, so that its ``#pragma once`` counts.

    NVRTC ignores it there.
    """
    first = file.directives[:1]
    if not first or not _is_once(first[0]) or file.tokens(0):
        return ()
    end = len(file.text)
    return (
        Edit(first[0].start, first[0].end, "#if !__INCLUDE_LEVEL__"),
        Edit(end, end, "\n#endif\n"),
    )


def _is_once(line: Directive) -> bool:
    return line.word == "pragma" and line.texts == ("once",)


def _guard(file: SourceFile, lines: Sequence[Directive], groups: dict[int, int]) -> str:
    """Return what keeps a text that begins with these directives from counting twice."""
    if lines and _is_once(lines[0]):
        return ONCE
    if len(lines) < 2 or lines[1].word != "define":
        return ""
    words = lines[0].texts
    macro = ""
    if lines[0].word == "ifndef" and words:
        macro = words[0]
    elif lines[0].word == "if" and words[:2] == ("!", "defined"):
        macro = words[2] if len(words) == 3 else words[3] if len(words) == 5 else ""
    defined = lines[1].texts[:1]
    last = len(file.directives) - 1
    return macro if macro and (macro,) == defined and groups.get(0) == last and not file.tokens(last + 1) else ""


def _is_idle(line: Directive) -> bool:
    return line.word == "" or (line.word == "pragma" and " ".join(line.texts) in _IDLE)


def _idle_group(body: Sequence[Directive], groups: dict[int, int], start: int) -> int | None:
    """Return where the group of a condition ends in which nothing matters; None if something does."""
    end = start
    while end in groups:
        end = groups[end]
    inside = body[start : end + 1]
    if len(inside) <= end - start or not all(line.is_conditional or _is_idle(line) for line in inside):
        return None
    return end
