"""What the toolkit's headers say is not for NVRTC."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.source.branches import hidden_parts, truth_of

if TYPE_CHECKING:
    from hatch_cuda_kernels.source.directive_lines import DirectiveLine

__all__ = ["parts_for_others"]

#: How CCCL's headers ask for the compiler; only one of its names is true.
_COMPILER: Final = re.compile(r"(?P<no>!\s*)?_CCCL_COMPILER\s*\(\s*(?P<name>\w+)\s*\)")
#: What may hold ``&&`` together in another way than from left to right.
_GROUPED: Final = re.compile(r"\|\||\?|\((?!\s*\w+\s*\))")


def parts_for_others(text: str) -> list[tuple[int, int]]:
    """Return where the parts of a toolkit header begin and end that are for other compilers; none in an unclear text.

    That is what the header says. Who defines another compiler's macros for NVRTC makes it see some of them.
    """
    return hidden_parts(text, _truth) if "RTC" in text or "_CCCL_COMPILER" in text else []


def _truth(line: DirectiveLine) -> bool | None:
    """Return whether a condition of a toolkit header holds for NVRTC; None where that is not known."""
    terms = [part.strip() for part in line.operand.split("&&")]
    if len(terms) > 1 and not _GROUPED.search(line.operand):
        truths = [_truth(line._replace(operand=term)) for term in terms]
        return False if False in truths else None if None in truths else True
    asked = _COMPILER.fullmatch(line.operand)
    return (asked["name"] == "NVRTC") is (asked["no"] is None) if asked else truth_of(line)
