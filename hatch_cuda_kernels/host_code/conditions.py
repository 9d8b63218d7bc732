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
_TEST: Final = re.compile(rf"(\bdefined\s*\(\s*{NVCC}\s*\)|\bdefined\s+{NVCC}\b)|\b{NVCC}\b")


def as_for_nvcc(text: str, *, for_nvrtc_only: bool = True) -> tuple[str, tuple[int, ...]]:
    """Return a text whose conditions on nvcc's macro hold for NVRTC, too, and the lines of those that are changed.

    If it is ``for_nvrtc_only``, what the macros of conditions stand for is changed as well.
    """
    source = Joined(text)
    if NVCC not in source.text or _NVRTC in text:
        return text, ()
    pieces: list[str] = []
    lines: list[int] = []
    done = 0
    for start, end, changed in _changes(source, for_nvrtc_only=for_nvrtc_only):
        spelled = text[start:end]
        joints = "\n" * (spelled.count("\n") - changed.count("\n"))
        pieces += text[done:start], changed, joints
        lines.append(text.count("\n", 0, start) + 1)
        done = end
    return "".join((*pieces, text[done:])), tuple(lines)


def _changes(source: Joined, *, for_nvrtc_only: bool) -> Iterator[tuple[int, int, str]]:
    """Yield the places of directives that name the macro, and what is to stand there; none after unclear text."""
    try:
        for line in directive_lines(source):
            start, end = source.place(line.start), source.place(line.end - 1) + 1
            if NVCC not in line.operand or (line.word == "define" and line.operand.startswith(NVCC)):
                continue
            if line.word in CONDITIONS:
                yield start, end, _condition(line, source.original[start:end])
            elif for_nvrtc_only and line.word == "define" and '"' not in line.operand:
                yield start, end, f"#define {_TEST.sub(lambda found: _EITHER if found[1] else '1', line.operand)}"
    except UnclearTextError:
        return


def _condition(line: DirectiveLine, spelled: str) -> str:
    """Return a condition as it is for nvcc, as it is spelled where comments and joined lines let it."""
    pattern = _WHETHER if line.word.endswith("def") else _TEST
    plain = f"#{line.word} {line.operand}"
    if len(pattern.findall(spelled)) < len(pattern.findall(plain)):
        spelled = plain
    return pattern.sub(_whether if pattern is _WHETHER else _EITHER, spelled)


def _whether(found: re.Match[str]) -> str:
    return f"{found[1] or ''}if {'!' * bool(found[2])}{_EITHER}"
