"""Conditions in and around a declaration's head: where it ends, and what it is in other branches."""

from __future__ import annotations

import re
from bisect import bisect
from operator import attrgetter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.host_code.facts import Facts
    from hatch_cuda_kernels.host_code.items import Outline, OutlineItem
    from hatch_cuda_kernels.source.directive_lines import DirectiveLine

__all__ = ["behind_conditions", "head_end", "is_another", "without_conditions"]

_START: Final = attrgetter("start")
_VALUE: Final = re.compile("[={]")
_CONSTANT: Final = re.compile(r"\bconst\b")
#: What may begin a declaration that is not the host's.
_WHOLE: Final = re.compile(r"\b(?:class|constexpr|enum|namespace|struct|typedef|union|using)\b")
_OPERATOR: Final = re.compile(r"operator(?!\w).*")
_CONDITION: Final = re.compile(r"^[ \t]*#[ \t]*(if|ifn?def|elif|else|endif)\b[^\n]*", re.MULTILINE)


def head_end(item: OutlineItem, conditions: Sequence[DirectiveLine], text: str) -> int | None:
    """Return where a function's head ends, with the conditions in it; None where one has part of the body in it.

    The head may begin in a condition, and stand in its other branches, too.
    """
    end, depth = item.declaration.last, 0
    other: int | None = None  # how deep the condition is of whose other branches this is
    for line in conditions[bisect(conditions, item.start, key=_START) : bisect(conditions, item.end, key=_START)]:
        if other is None and line.start >= end and text[end : line.start].strip():
            break
        if line.word in {"else", "elif"}:
            other = depth if other is None else other
        depth += line.word.startswith("if") - (line.word == "endif")
        other = None if other is not None and depth < other else other
        end = max(end, text.find("\n", line.end) + 1)
    return None if depth > 0 else end


def is_another(item: OutlineItem, conditions: Sequence[DirectiveLine], text: str, facts: Facts) -> bool:
    """Return whether a declaration may be another one, or more than one, in a branch that is not the first."""
    inside = conditions[bisect(conditions, item.start, key=_START) : bisect(conditions, item.end, key=_START)]
    others = _other_branches(item, inside, text)
    return any(_WHOLE.search(part) or facts.is_marked(part) or _may_be_constant(item, part) for part in others)


def _other_branches(item: OutlineItem, conditions: Sequence[DirectiveLine], text: str) -> Iterator[str]:
    """Yield the later branches of conditions that are around a part of a declaration's head, as far as it goes."""
    value = _VALUE.search(text, item.declaration.last or item.start, item.end)
    body = value.start() if value else item.end
    starts: list[int | None] = [None]  # of such a branch, for each condition that is open
    is_head = [True]
    for line in conditions:
        if line.word in {"if", "ifdef", "ifndef"}:
            starts.append(None)
            is_head.append(line.start < body)
            continue
        start = starts.pop()
        if start is not None:
            yield text[start : line.start]
        if line.word != "endif":
            starts.append(line.end if is_head[-1] else None)
        elif len(is_head) > 1:
            is_head.pop()
        else:
            starts.append(None)
    yield from (text[start : item.end] for start in starts if start is not None)


def _may_be_constant(item: OutlineItem, part: str) -> bool:
    """Return whether a host variable may be a constant in another branch, or a data member."""
    return item.declaration.kind == "variable" and (item.class_name is not None or _CONSTANT.search(part) is not None)


def behind_conditions(item: OutlineItem, outline: Outline) -> int:
    """Return where the conditions end that stand before a function's name, where a mark is for all branches."""
    text, declared = outline.source.text, item.declaration
    name = text.find(_OPERATOR.sub("operator", declared.name), declared.first, declared.last or item.end)
    ends = [line.end for line in outline.directives if line.word == "endif" and item.start < line.start < name]
    return len(text) - len(text[ends[-1] :].lstrip()) if ends else 0


def without_conditions(head: str) -> str:
    """Return what of a head stands outside conditions; it may begin within one."""
    found = _CONDITION.findall(head)
    depth = 0 if not found or found[0].startswith("if") else 1
    pieces: list[str] = []
    for piece, word in zip(_CONDITION.split(head)[::2], [*found, ""], strict=True):
        pieces += [] if depth else [piece]
        depth += word.startswith("if") - (word == "endif")
    return " ".join(pieces)
