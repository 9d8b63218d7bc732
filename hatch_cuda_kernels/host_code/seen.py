"""Which parts of a text NVRTC certainly sees, or certainly does not, as far as the text alone decides."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.host_code.branches import CONDITIONS, Branches, truth_of
from hatch_cuda_kernels.host_code.tokens import DirectiveLine, Tokens, UnclearTextError
from hatch_cuda_kernels.source.lexer import Joined

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["guard_of", "parts_for_others", "seen_parts"]

#: How CCCL's headers ask for the compiler; only one of its names is true.
_COMPILER: Final = re.compile(r"(?P<no>!\s*)?_CCCL_COMPILER\s*\(\s*(?P<name>\w+)\s*\)")
#: What may hold ``&&`` together in another way than from left to right.
_GROUPED: Final = re.compile(r"\|\||\?|\((?!\s*\w+\s*\))")
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


def parts_for_others(text: str) -> list[tuple[int, int]]:
    """Return where the parts of a toolkit header begin and end that are for other compilers; none in an unclear text.

    That is what the header says. Who defines another compiler's macros for NVRTC makes it see some of them.
    """
    source = Joined(text)
    branches = Branches[None](lambda _, __: None, _truth_in_toolkit)
    parts, start = [], 0
    try:
        for line in Tokens(source).each("skipped"):
            if isinstance(line, DirectiveLine) and line.word in CONDITIONS:
                if branches.hidden:
                    parts.append((source.place(start), source.place(line.start)))
                branches.enter(line, None)
                start = line.end
    except UnclearTextError:
        return []
    return parts


def _truth_in_toolkit(line: DirectiveLine) -> bool | None:
    """Return whether a condition of a toolkit header holds for NVRTC; None where that is not known."""
    terms = [part.strip() for part in line.operand.split("&&")]
    if len(terms) > 1 and not _GROUPED.search(line.operand):
        truths = [_truth_in_toolkit(line._replace(operand=term)) for term in terms]
        return False if False in truths else None if None in truths else True
    asked = _COMPILER.fullmatch(line.operand)
    return (asked["name"] == "NVRTC") is (asked["no"] is None) if asked else truth_of(line)
