"""Branches of ``#if`` that open or close other brackets than those beside them, while a later ``#if`` evens them out.

Two configurations are read, each as a whole, then: what is told by one macro holds alike wherever it splits brackets.
"""

from __future__ import annotations

import re
from operator import add
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.source.branches import CONDITIONS, tested_macro, truth_of
from hatch_cuda_kernels.source.directive_lines import directive_lines
from hatch_cuda_kernels.source.lexer import CHARACTER, COMMENT, STRING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hatch_cuda_kernels.host_code.items import Outline
    from hatch_cuda_kernels.source.directive_lines import DirectiveLine
    from hatch_cuda_kernels.source.lexer import Joined

__all__ = ["merged", "one_configuration"]

_NOISE: Final = re.compile(f"{COMMENT}|{STRING}|{CHARACTER}")
_BRACKETS: Final = ("()", "[]", "{}")
_EVEN: Final = (0,) * len(_BRACKETS)


class _UnevenGroup(NamedTuple):
    first: DirectiveLine
    sums: list[tuple[int, ...]]
    """Of each branch, how many more brackets of each kind it opens than it closes."""

    def add(self, more: tuple[int, ...]) -> None:
        """Add to the sum of the latest branch."""
        self.sums[-1] = tuple(map(add, self.sums[-1], more))

    @property
    def splits(self) -> bool:
        """Whether branches differ; what has no other stands beside nothing."""
        return len({*self.sums, *([_EVEN] if len(self.sums) == 1 else [])}) > 1

    def read(self, *, defined: bool) -> tuple[int, ...]:
        """Return the sum of the branch that is read in a configuration."""
        holds = self.holds(defined=defined) if self.splits else None
        return [*self.sums, _EVEN][not (truth_of(self.first) is not False if holds is None else holds)]

    def holds(self, *, defined: bool) -> bool | None:
        """Return whether the first branch is read alone in a configuration, or what is beside it; None for both.

        Of one that no macro tells, that is the branch that is even: in the other, brackets are missing.
        """
        negated = _negated(self)
        if negated is not None:
            return negated is not defined
        return self.sums[0] == _EVEN if _EVEN in self.sums[:2] else None


def one_configuration(source: Joined, *, defined: bool) -> Callable[[DirectiveLine], bool | None]:
    """Return which conditions of a text hold where every macro that splits brackets is ``defined``, or none is.

    The others' branches are all read, as far as NVRTC may see them. Raises UnclearTextError.
    """
    groups = _groups(source, defined=defined)
    held = {group.first.start: group.holds(defined=defined) for group in groups}

    def truth(line: DirectiveLine) -> bool | None:
        holds = held.get(line.start)
        return truth_of(line) if holds is None else holds

    return truth


def merged(one: Outline, other: Outline) -> Outline:
    """Return what two configurations of a text declare: a macro that is not known now may hide either."""
    items = sorted({*one.items, *other.items}, key=lambda item: (item.end, -item.start))
    lines = zip(one.directives, other.directives, strict=True)
    directives = (
        line._replace(hidden=line.hidden and beside.hidden, is_inside=line.is_inside or beside.is_inside)
        for line, beside in lines
    )
    return one._replace(items=tuple(items), directives=tuple(directives))


def _groups(source: Joined, *, defined: bool) -> Iterator[_UnevenGroup]:
    """Yield the groups of ``#if`` whose branches differ in brackets; of inner groups, what is read counts."""
    opened: list[_UnevenGroup] = []
    start = 0
    for line in directive_lines(source):
        if line.word not in CONDITIONS:
            continue
        if opened:
            opened[-1].add(_sum(source.text[start : line.start]))
        start = line.end
        if line.word in {"if", "ifdef", "ifndef"}:
            opened.append(_UnevenGroup(line, [_EVEN]))
        elif opened and line.word != "endif":
            opened[-1].sums.append(_EVEN)
        elif opened:
            group = opened.pop()
            if opened:
                opened[-1].add(group.read(defined=defined))
            if group.splits:
                yield group


def _sum(text: str) -> tuple[int, ...]:
    text = _NOISE.sub(" ", text)
    return tuple(text.count(opening) - text.count(closing) for opening, closing in _BRACKETS)


def _negated(group: _UnevenGroup) -> bool | None:
    """Return whether a group's first branch is for a macro that is not defined; None where it tests anything else."""
    tested = tested_macro(group.first)
    if tested is None or len(group.sums) > 2 or truth_of(group.first) is not None:
        return None
    return not tested[1]
