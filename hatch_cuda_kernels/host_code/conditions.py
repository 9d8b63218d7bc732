"""Conditions on what nvcc defines and NVRTC does not: in texts for nvcc, they hold as they do there."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.host_code.chains import GCC, conditions_on_gcc, errors_for_no_version
from hatch_cuda_kernels.host_code.dollars import dollar_parameters, without_dollars
from hatch_cuda_kernels.source.branches import CONDITIONS
from hatch_cuda_kernels.source.directive_lines import directive_lines
from hatch_cuda_kernels.source.lexer import Joined, UnclearTextError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from hatch_cuda_kernels.source.directive_lines import DirectiveLine

__all__ = ["Held", "as_for_nvcc"]

_NVCC: Final = "__NVCC__"
#: A text that names it knows NVRTC, and says itself what is for it.
_NVRTC: Final = "__CUDACC_RTC__"
_NAMES: Final = re.compile(rf"\b(?:{'|'.join(sorted({_NVCC, *GCC}))})\b")


class Held(NamedTuple):
    """A condition that was changed, or a macro for conditions."""

    line: int
    macro: str
    """What counts as defined."""


class _ChangedLine(NamedTuple):
    """A directive, the macros in it that count as defined, and what is to stand there."""

    start: int
    end: int
    macros: Sequence[str]
    text: str


def as_for_nvcc(text: str, *, for_nvrtc_only: bool = True) -> tuple[str, tuple[Held, ...]]:
    """Return a text whose conditions on nvcc's macro hold for NVRTC, too, and those that were changed.

    So do those on gcc's, in chains that have nothing for a compiler that they do not know; checks of its version fail
    for gcc only. Parameters of macros lose their dollars. If it is ``for_nvrtc_only``, what the macros of conditions
    stand for is changed as well.
    """
    source = Joined(text)
    if ("$" not in text and not _NAMES.search(source.text)) or _NVRTC in text:
        return text, ()
    pieces: list[str] = []
    held: list[Held] = []
    done = 0
    for start, end, macros, changed in _changes(source, for_nvrtc_only=for_nvrtc_only):
        joints = "\n" * (text.count("\n", start, end) - changed.count("\n"))
        pieces += text[done:start], changed, joints
        held += [Held(text.count("\n", 0, start) + 1, macro) for macro in macros]
        done = end
    return "".join((*pieces, text[done:])), tuple(held)


def _changes(source: Joined, *, for_nvrtc_only: bool) -> Iterator[_ChangedLine]:
    """Yield the directives to change; none from where a text is unclear."""
    lines = [*_clear_lines(source)]
    on_gcc = {line.start for line in conditions_on_gcc(lines)}
    on_version = {line.start for line in errors_for_no_version(lines)}
    for line in lines:
        start, end = source.place(line.start), source.place(line.end - 1) + 1
        macros = _named(line, {_NVCC, *GCC} if line.start in on_gcc else {_NVCC})
        if line.start in on_version:
            checked = f"#{line.word} !defined({_NVRTC}) && ({line.operand})"
            yield _ChangedLine(start, end, _named(line, GCC), checked)
        elif parameters := dollar_parameters(line):
            yield _ChangedLine(start, end, (), without_dollars(source.original[start:end], parameters))
        elif macros and line.word in CONDITIONS:
            yield _ChangedLine(start, end, macros, _condition(line, source.original[start:end], macros))
        elif macros and for_nvrtc_only and line.word == "define" and _is_value(line.operand):
            yield _ChangedLine(start, end, macros, f"#define {_value(line.operand)}")


def _clear_lines(source: Joined) -> Iterator[DirectiveLine]:
    try:
        yield from directive_lines(source)
    except UnclearTextError:
        return


def _named(line: DirectiveLine, macros: Collection[str]) -> list[str]:
    return [name for name in dict.fromkeys(_NAMES.findall(line.operand)) if name in macros]


def _is_value(operand: str) -> bool:
    """Return whether nvcc's macro is in what another one stands for."""
    return '"' not in operand and not operand.startswith(_NVCC)


def _value(operand: str) -> str:
    return _test(_NVCC).sub(lambda found: _either(_NVCC) if found[1] else "1", operand)


def _condition(line: DirectiveLine, spelled: str, macros: Sequence[str]) -> str:
    """Return a condition as it is for nvcc, as it is spelled where comments and joined lines let it."""
    pattern = _whether if line.word.endswith("def") else _test
    plain = f"#{line.word} {line.operand}"
    if any(len(pattern(macro).findall(spelled)) < len(pattern(macro).findall(plain)) for macro in macros):
        spelled = plain
    for macro in macros:
        spelled = pattern(macro).sub(partial(_held, macro), spelled)
    return spelled


def _held(macro: str, found: re.Match[str]) -> str:
    """Return what stands for a test of a macro, or for the word of a condition with it."""
    either = _either(macro)
    return f"{found['word']}if {'!' * bool(found['not'])}{either}" if "word" in found.re.groupindex else either


@cache
def _whether(macro: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?P<word>(?:el)?)if(?P<not>n?)def\s+{macro}\b")


@cache
def _test(macro: str) -> re.Pattern[str]:
    return re.compile(rf"(\bdefined\s*\(\s*{macro}\s*\)|\bdefined\s+{macro}\b)|\b{macro}\b")


def _either(macro: str) -> str:
    return f"(defined({macro}) || defined({_NVRTC}))"
