"""Branches of ``#if`` that open or close other brackets than those beside them, while a later ``#if`` evens them out.

One configuration is read as a whole then: what is told by one macro holds alike wherever it splits brackets.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.source.branches import CONDITIONS, truth_of
from hatch_cuda_kernels.source.directive_lines import directive_lines
from hatch_cuda_kernels.source.lexer import CHARACTER, COMMENT, STRING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hatch_cuda_kernels.source.directive_lines import DirectiveLine
    from hatch_cuda_kernels.source.lexer import Joined

__all__ = ["one_configuration"]

_NOISE: Final = re.compile(f"{COMMENT}|{STRING}|{CHARACTER}")
_TEST: Final = re.compile(r"(?P<no>!\s*)?defined\s*(?:\(\s*(?P<inner>\w+)\s*\)|(?P<bare>\w+))")
_BRACKETS: Final = ("()", "[]", "{}")


class _UnevenGroup(NamedTuple):
    first: DirectiveLine
    starts: list[int]
    """Where its branches begin."""
    sums: list[tuple[int, ...]]
    """Of each branch that ended, how many more brackets of each kind it opens than it closes."""


def one_configuration(source: Joined, *, defined: bool) -> Callable[[DirectiveLine], bool | None]:
    """Return which conditions of a text hold where every macro that splits brackets is ``defined``, or none is.

    The others' branches are all read, as far as NVRTC may see them. Raises UnclearTextError.
    """
    held = {group.first.start: no is not defined for group in _groups(source) if (no := _negated(group)) is not None}

    def truth(line: DirectiveLine) -> bool | None:
        return held.get(line.start, truth_of(line))

    return truth


def _groups(source: Joined) -> Iterator[_UnevenGroup]:
    """Yield the groups of ``#if`` whose branches differ in brackets."""
    opened: list[_UnevenGroup] = []
    for line in directive_lines(source):
        if line.word not in CONDITIONS:
            continue
        if line.word in {"if", "ifdef", "ifndef"}:
            opened.append(_UnevenGroup(line, [line.end], []))
        elif opened:
            group = opened[-1]
            group.sums.append(_sum(source.text[group.starts[-1] : line.start]))
            group.starts.append(line.end)
            if line.word == "endif":
                opened.pop()
                alone = [(0,) * len(_BRACKETS)] if len(group.sums) == 1 else []
                if len({*group.sums, *alone}) > 1:
                    yield group


def _sum(text: str) -> tuple[int, ...]:
    text = _NOISE.sub(" ", text)
    return tuple(text.count(opening) - text.count(closing) for opening, closing in _BRACKETS)


def _negated(group: _UnevenGroup) -> bool | None:
    """Return whether a group's first branch is for a macro that is not defined; None where it tests anything else."""
    line = group.first
    if len(group.sums) > 2 or truth_of(line) is not None:
        return None
    if line.word != "if":
        return line.word == "ifndef"
    test = _TEST.fullmatch(line.operand)
    return test["no"] is not None if test else None
