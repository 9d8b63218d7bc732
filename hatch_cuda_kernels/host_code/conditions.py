"""Conditions on ``__NVCC__``, which NVRTC does not define: in texts for nvcc, they hold as they do there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.source.branches import CONDITIONS
from hatch_cuda_kernels.source.directive_lines import directive_lines
from hatch_cuda_kernels.source.lexer import Joined, UnclearTextError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.source.directive_lines import DirectiveLine

__all__ = ["NVCC", "as_for_nvcc"]

NVCC: Final = "__NVCC__"
#: A text that names it knows NVRTC, and says itself what is for it.
_NVRTC: Final = "__CUDACC_RTC__"
_EITHER: Final = f"(defined({NVCC}) || defined({_NVRTC}))"
_WHETHER: Final = re.compile(rf"\b(el)?if(n?)def\s+{NVCC}\b")
_TEST: Final = re.compile(rf"\bdefined\s*\(\s*{NVCC}\s*\)|\bdefined\s+{NVCC}\b|\b{NVCC}\b")


def as_for_nvcc(text: str) -> tuple[str, tuple[int, ...]]:
    """Return a text whose conditions on nvcc's macro hold for NVRTC, too, and the lines of those that are changed."""
    if NVCC not in text or _NVRTC in text:
        return text, ()
    source = Joined(text)
    pieces: list[str] = []
    lines: list[int] = []
    done = 0
    for line in _conditions(source):
        start, end = source.place(line.start), source.place(line.end - 1) + 1
        pieces += text[done:start], _changed(text[start:end])
        lines.append(text.count("\n", 0, start) + 1)
        done = end
    return "".join((*pieces, text[done:])), tuple(lines)


def _conditions(source: Joined) -> Iterator[DirectiveLine]:
    """Yield the conditions that name the macro; none from where a text is unclear."""
    try:
        for line in directive_lines(source):
            if line.word in CONDITIONS and NVCC in line.operand:
                yield line
    except UnclearTextError:
        return


def _changed(line: str) -> str:
    def whether(found: re.Match[str]) -> str:
        return f"{found[1] or ''}if {'!' * bool(found[2])}{_EITHER}"

    changed, count = _WHETHER.subn(whether, line, count=1)
    return changed if count else _TEST.sub(_EITHER, line)
