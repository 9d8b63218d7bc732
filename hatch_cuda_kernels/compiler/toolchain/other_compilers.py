"""What the toolkit's headers say is not for NVRTC."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.source.branches import hidden_parts, truth_of

if TYPE_CHECKING:
    from hatch_cuda_kernels.source.directive_lines import DirectiveLine

__all__ = ["parts_for_others"]

#: How CCCL's headers ask for the compiler; only one of its names is true.
_COMPILER: Final = re.compile(r"_CCCL_COMPILER\s*\(\s*(\w+)\s*\)")


def parts_for_others(text: str) -> list[tuple[int, int]]:
    """Return where the parts of a toolkit header begin and end that are for other compilers; none in an unclear text.

    That is what the header says. Who defines another compiler's macros for NVRTC makes it see some of them.
    """
    return hidden_parts(text, _truth) if "RTC" in text or "_CCCL_COMPILER" in text else []


def _truth(line: DirectiveLine) -> bool | None:
    """Return whether a condition of a toolkit header holds for NVRTC; None where that is not known."""
    return truth_of(line._replace(operand=_COMPILER.sub(_answer, line.operand)))


def _answer(asked: re.Match[str]) -> str:
    return str(int(asked[1] == "NVRTC"))
