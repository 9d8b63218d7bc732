"""Conditions on what nvcc defines and NVRTC does not: in texts for nvcc, they hold as they do there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.host_code.chains import GCC, conditions_on_gcc
from hatch_cuda_kernels.source.branches import CONDITIONS
from hatch_cuda_kernels.source.directive_lines import directive_lines
from hatch_cuda_kernels.source.lexer import Joined, UnclearTextError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from hatch_cuda_kernels.source.directive_lines import DirectiveLine

__all__ = ["Held", "as_for_nvcc"]

_NVCC: Final = "__NVCC__"
#: A text that names it knows NVRTC, and says itself what is for it.
_NVRTC: Final = "__CUDACC_RTC__"
_NAMES: Final = re.compile(rf"\b(?:{'|'.join(sorted({_NVCC, *GCC}))})\b")


class Held(NamedTuple):
    """A condition that was changed."""

    line: int
    macro: str
    """What counts as defined."""


def as_for_nvcc(text: str) -> tuple[str, tuple[Held, ...]]:
    """Return a text whose conditions on nvcc's macro hold for NVRTC, too, and those that were changed.

    So do those on gcc's, in chains that have nothing for a compiler that they do not know.
    """
    if not _NAMES.search(text) or _NVRTC in text:
        return text, ()
    source = Joined(text)
    pieces: list[str] = []
    held: list[Held] = []
    done = 0
    for line, macros in _conditions(source):
        start, end = source.place(line.start), source.place(line.end - 1) + 1
        changed = text[start:end]
        for macro in macros:
            changed = _changed(changed, macro)
        pieces += text[done:start], changed
        held += [Held(text.count("\n", 0, start) + 1, macro) for macro in macros]
        done = end
    return "".join((*pieces, text[done:])), tuple(held)


def _conditions(source: Joined) -> Iterator[tuple[DirectiveLine, list[str]]]:
    """Yield the conditions to change, with the macros that count as defined; none from where a text is unclear."""
    lines = [*_clear_lines(source)]
    found = {line.start: _named(line, GCC) for line in conditions_on_gcc(lines)}
    for line in lines:
        macros = _named(line, {_NVCC}) if line.word in CONDITIONS else []
        macros += found.get(line.start, [])
        if macros:
            yield line, macros


def _clear_lines(source: Joined) -> Iterator[DirectiveLine]:
    try:
        yield from directive_lines(source)
    except UnclearTextError:
        return


def _named(line: DirectiveLine, macros: Collection[str]) -> list[str]:
    return [name for name in dict.fromkeys(_NAMES.findall(line.operand)) if name in macros]


def _changed(line: str, macro: str) -> str:
    either = f"(defined({macro}) || defined({_NVRTC}))"

    def whether(found: re.Match[str]) -> str:
        return f"{found[1] or ''}if {'!' * bool(found[2])}{either}"

    changed, count = re.subn(rf"\b(el)?if(n?)def\s+{macro}\b", whether, line, count=1)
    test = rf"\bdefined\s*\(\s*{macro}\s*\)|\bdefined\s+{macro}\b|\b{macro}\b"
    return changed if count else re.sub(test, either, line)
