"""Which parts of a text NVRTC certainly sees: those outside all conditions that the text alone does not decide."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.source.branches import CONDITIONS, Branches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.source.directive_lines import DirectiveLine

__all__ = ["guard_of", "seen_parts"]

_NOT_DEFINED: Final = re.compile(r"!\s*defined\s*(?:\(\s*(\w+)\s*\)|(\w+))")


def guard_of(lines: Sequence[DirectiveLine]) -> str | None:
    """Return the macro that keeps a header from being read twice, if its first two directives are such a guard."""
    if len(lines) < 2 or lines[1].word != "define":
        return None
    test = _NOT_DEFINED.fullmatch(lines[0].operand) if lines[0].word == "if" else None
    name = lines[0].operand if lines[0].word == "ifndef" else test and (test[1] or test[2])
    return name if name and lines[1].operand.split()[:1] == [name] else None


def seen_parts(lines: Sequence[DirectiveLine], end: int) -> Iterator[tuple[int, int]]:
    """Yield where the parts begin and end, of a text of a length with these directives; a guard counts as open."""
    branches: Branches[None] = Branches(lambda _, __: None)
    guard, start = guard_of(lines), 0
    for number, line in enumerate(lines):
        if line.word in CONDITIONS:
            if branches.sure:
                yield start, line.start
            opened = line._replace(word="if", operand="1") if guard and not number else line
            branches.enter(opened, None)
            start = line.end
    if branches.sure:
        yield start, end
