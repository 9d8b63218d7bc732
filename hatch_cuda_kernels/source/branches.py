"""Branches of ``#if``: which of them NVRTC never sees, and what a parser makes of those that it may see."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from hatch_cuda_kernels.source.directive_lines import directive_lines
from hatch_cuda_kernels.source.lexer import SPACE, Joined, UnclearTextError
from hatch_cuda_kernels.source.truth import MacroRange, truth

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hatch_cuda_kernels.source.directive_lines import DirectiveLine

__all__ = ["CONDITIONS", "DEFINED_BY_NVRTC", "Branches", "hidden_parts", "tested_macro", "truth_of", "undoes_tests"]

CONDITIONS: Final = frozenset({"if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif"})
#: Macros that NVRTC defines, whatever its options; the last by the standard, of which the oldest is C++14.
DEFINED_BY_NVRTC: Final[Mapping[str, MacroRange]] = {
    "__CUDACC_RTC__": MacroRange(1, 1),
    "__CUDACC__": MacroRange(1, 1),
    "__cplusplus": MacroRange(201402, 209999),
}
_TEST: Final = re.compile(r"(?P<no>!\s*)?defined\s*(?:\(\s*(?P<inner>\w+)\s*\)|(?P<bare>\w+))")
_UNDONE: Final = re.compile(rf"\bundef{SPACE}(?:{'|'.join(sorted(DEFINED_BY_NVRTC))})\b")
#: The word may be on two lines.
_SPLIT_UNDEF: Final = re.compile(r"u(?:nd?e?)?(?:\\|\?\?/)")
#: What begins a directive as well, which is not looked for here.
_OTHER_HASHES: Final = ("%:", "??=")
#: Before C++23, these are no conditions.
_OF_CPP23: Final = frozenset({"elifdef", "elifndef"})

_State = TypeVar("_State")


@dataclass
class _Group(Generic[_State]):
    """One ``#if`` that is still open: the state before it, and after its first branch that may be seen."""

    before: _State
    after: _State | None = None
    seen: bool = False
    """Whether some branch so far is certainly seen, so that no later one is."""
    hidden: bool = False
    """Whether the current branch is not seen."""
    doubtful: bool = False
    """Whether the condition of some branch so far is not known."""
    sure: bool = False
    """Whether the current branch is certainly seen, where the group is."""


@dataclass
class Branches(Generic[_State]):
    """The state of a parser over conditional text: each branch starts alike, and the text goes on after the first.

    States are values. Branches that end in different states are common (``extern "C" {`` in one of its own), so that
    alone is no error; whether the text comes out even in the end is for the parser to say.
    """

    choose: Callable[[_State, _State], _State]
    """Returns which of the states after the first and after another branch to go on with."""
    truth: Callable[[DirectiveLine], bool | None] = field(default_factory=lambda: truth_of)
    """Returns whether a condition holds under NVRTC; None where that is not known."""
    _open: list[_Group[_State]] = field(default_factory=list)

    @property
    def hidden(self) -> bool:
        """Whether NVRTC does not see the current text."""
        return bool(self._open) and self._open[-1].hidden

    @property
    def sure(self) -> bool:
        """Whether NVRTC certainly sees the current text."""
        return all(group.sure for group in self._open)

    @property
    def depth(self) -> int:
        """The number of groups that are open."""
        return len(self._open)

    def enter(self, line: DirectiveLine, state: _State) -> _State:
        """Return the state after a directive of a condition."""
        if line.word in {"if", "ifdef", "ifndef"}:
            truth = False if self.hidden else self.truth(line)
            seen, hidden = self.hidden or truth is True, truth is False
            self._open.append(_Group(state, seen=seen, hidden=hidden, doubtful=truth is None, sure=truth is True))
            return state
        if not self._open:
            return state
        group = self._open[-1]
        if not group.hidden:
            group.after = state if group.after is None else self.choose(group.after, state)
        if line.word == "endif":
            self._open.pop()
            return group.before if group.after is None else group.after
        truth = False if group.seen else True if line.word == "else" else self.truth(line)
        group.hidden = truth is False
        group.doubtful = group.doubtful or truth is None
        group.sure = truth is True and not group.doubtful
        group.seen = group.seen or truth is True
        return group.before


def truth_of(line: DirectiveLine, known: Mapping[str, MacroRange] = DEFINED_BY_NVRTC) -> bool | None:
    """Return whether a condition holds under NVRTC, whatever its options; None where that is not known."""
    if line.word in {"ifdef", "ifndef", "elifdef", "elifndef"}:
        negated = "!" if line.word.endswith("ndef") else ""
        return truth(f"{negated}defined({line.operand})", known)
    return truth(line.operand, known)


def tested_macro(line: DirectiveLine) -> tuple[str, bool] | None:
    """Return the one macro that a condition tests, and whether the condition holds where it is defined."""
    if line.word in {"ifdef", "ifndef", "elifdef", "elifndef"}:
        return line.operand, line.word.endswith("ifdef")
    test = _TEST.fullmatch(line.operand)
    return (test["inner"] or test["bare"], test["no"] is None) if test else None


def hidden_parts(text: str, truth: Callable[[DirectiveLine], bool | None] = truth_of) -> list[tuple[int, int]]:
    """Return where the parts of a text begin and end that a truth keeps from NVRTC; none in an unclear text."""
    source = Joined(text)
    if any(mark in source.text for mark in _OTHER_HASHES):
        return []
    branches = Branches[None](lambda _, __: None, truth)
    parts, start = [], 0
    try:
        for line in directive_lines(source):
            if line.word in _OF_CPP23:
                return []
            if line.word in CONDITIONS:
                if branches.hidden:
                    parts.append((source.place(start), source.place(line.start)))
                branches.enter(line, None)
                start = line.end
    except UnclearTextError:
        return []
    return parts


def undoes_tests(text: str) -> bool:
    """Return whether a text undefines a macro that tells NVRTC from other compilers."""
    if "undef" not in text and _SPLIT_UNDEF.search(text) is None:
        return False
    return _UNDONE.search(Joined(text).text) is not None
