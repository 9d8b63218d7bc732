"""Chains of ``#if`` that tell the host's compilers and platforms apart, and have nothing for one they do not know.

nvcc takes gcc's branch on Linux. NVRTC defines none of these macros: it comes to an ``#error``, or to no branch at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.source.branches import truth_of
from hatch_cuda_kernels.source.truth import MacroRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hatch_cuda_kernels.source.directive_lines import DirectiveLine

__all__ = ["GCC", "HOST_COMPILERS", "conditions_on_gcc", "errors_for_no_version", "errors_without_gcc"]

#: What gcc and glibc define on Linux x86-64, and NVRTC does not.
GCC: Final = frozenset(
    """
    __GNUC__ __GNUG__ __GLIBC__ __GNU_LIBRARY__ __linux__ __linux __unix__ __x86_64__ __x86_64 __amd64__
    """.split()  # noqa: SIM905 - a list would take a line a word
)
_OTHER_COMPILERS: Final = frozenset(
    """
    _MSC_VER _MSC_FULL_VER __clang__ __INTEL_COMPILER __ICC __ICL __xlC__ __ibmxl__ __IBMCPP__ __PGI __NVCOMPILER
    __SUNPRO_CC __SUNPRO_C _CRAYC __HP_aCC __BORLANDC__ __OPEN64__ __MINGW32__ __CYGWIN__ _WIN32 _WIN64 WIN32 __APPLE__
    __COMO__ __INTEL_CLANG_COMPILER __INTEL_LLVM_COMPILER __PATHCC__ __CODEGEARC_VERSION__ __WATCOMC__ __DECCXX
    __DECC __COMPILER_VER__ __open_xl__ __TI_COMPILER_VERSION__ __CLANG_FUJITSU __FUJITSU __ghs__ __TASKING__
    __SCO_VERSION__ __ARMCC_VERSION __CC_ARM __apple_build_version__ __ARMCOMPILER_VERSION __LCC__ __MCST__
    _ADI_COMPILER __IAR_SYSTEMS_ICC__ __IAR_SYSTEMS_ICC _SGI_COMPILER_VERSION _COMPILER_VERSION __sgi __cray__
    __ADSP21000__ __ADSPBLACKFIN__
    __ANDROID__ __FreeBSD__ __NetBSD__ __OpenBSD__ __DragonFly__ __QNX__ __EMSCRIPTEN__ __hexagon__ __RISCV__ __sun sun
    """.split()  # noqa: SIM905 - a list would take a line a word
)
HOST_COMPILERS: Final = GCC | _OTHER_COMPILERS
#: What NVRTC defines: a chain that asks for one of these may have a branch for it.
_NVRTCS: Final = frozenset({"__CUDACC__", "__CUDA_ARCH__", "__LP64__", "_LP64", "__EDG__"})
#: Which compiler's macros are defined where gcc is the host's; CUDA 12 and 13 take none before 6.
_WITH_GCC: Final = {
    **dict.fromkeys(_OTHER_COMPILERS, MacroRange(0, 0)),
    "__GNUC__": MacroRange(6, 99),
    "__GNUG__": MacroRange(6, 99),
    "__GNUC_MINOR__": MacroRange(0, 9),
    "__GNUC_PATCHLEVEL__": MacroRange(0, 9),
}
#: The same, with what else is defined on Linux x86-64.
_ON_LINUX: Final = {**dict.fromkeys(GCC, MacroRange(1, 99)), **_WITH_GCC}
_ELSEWHERE: Final = dict.fromkeys(HOST_COMPILERS, MacroRange(0, 0))
#: What tells gcc's version.
_VERSION: Final = {"__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__"}
_NO_VERSION: Final = dict.fromkeys(_VERSION, MacroRange(0, 0))
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
#: What says how memory is laid out or read, and NVRTC takes as gcc does: a macro without it gives another image.
_KEYWORD: Final = re.compile(
    r"__restrict(?:__)?|__attribute(?:__)?\s*\(\(\s*(?:__)?(?:aligned|packed)(?:__)?\b[^;{}]*\)\s*\)|alignas\s*\([^;{}]*\)"
)
_MACRO: Final = re.compile(r"(\w+)(?:\([^()]*\))?\s*(.*)", re.DOTALL)
_DEFINED: Final = r"defined\s*(?:\(\s*\w+\s*\)|\s\w+)"
#: Or a macro itself, which is a number other than 0 where it is defined.
_IS_THERE: Final = rf"(?:{_DEFINED}|(?!defined\b)[A-Za-z_]\w*+)"
_ANY: Final = re.compile(rf"(?:{_IS_THERE}|\|\||[\s()])+")
_NONE: Final = re.compile(rf"(?:!\s*{_IS_THERE}|&&|[\s()])+")


def conditions_on_gcc(lines: Iterable[DirectiveLine]) -> Iterator[DirectiveLine]:
    """Yield the conditions that are to hold, or not, as they do where gcc is the host's compiler."""
    for chain in _chains(lines):
        yield from chain.conditions_on_gcc()


def errors_without_gcc(lines: Iterable[DirectiveLine]) -> Iterator[DirectiveLine]:
    """Yield the first conditions of chains that come to an ``#error`` for a compiler that they do not know.

    So does a check of gcc's version that only a compiler without one fails.
    """
    for chain in _chains(lines):
        if chain.ends_in_error or chain.branches[0].refuses_no_version:
            yield chain.branches[0].line


def errors_for_no_version(lines: Iterable[DirectiveLine]) -> Iterator[DirectiveLine]:
    """Yield the conditions of ``#error`` that hold for no gcc, and for a compiler that is none."""
    return (one.line for chain in _chains(lines) for one in chain.branches if one.refuses_no_version)


def _chains(lines: Iterable[DirectiveLine]) -> Iterator[_Chain]:
    chains: list[_Chain] = []
    for line in lines:
        if line.word in {"if", "ifdef", "ifndef"}:
            chains.append(_Chain([_Branch(line)]))
        elif not chains:
            continue
        elif line.word in {"elif", "else"}:
            chains[-1].branches.append(_Branch(line))
        elif line.word == "endif":
            last = chains.pop()
            yield last
            if chains and last.branches[-1].line.word == "else" and last.branches[-1].may_fail:
                chains[-1].branches[-1].may_fail = True
        elif line.word == "include" and not line.operand.startswith('"'):
            for chain in chains:
                chain.branches[-1].leads_out = True
        else:
            chains[-1].branches[-1].note(line)


@dataclass
class _Branch:
    line: DirectiveLine
    fails: bool = False
    """Whether it has an ``#error``."""
    may_fail: bool = False
    """Whether it has one, also where nothing else holds that a condition in it asks for."""
    leads_out: bool = False
    """Whether it includes what is not the project's."""

    defines: list[str] = field(default_factory=list)
    """The macros that it defines outside conditions in it, with what they stand for."""

    def note(self, line: DirectiveLine) -> None:
        """Note an error or a macro in the branch."""
        if line.word == "error":
            self.fails = self.may_fail = True
        elif line.word == "define":
            self.defines.append(line.operand)

    @property
    def names(self) -> set[str]:
        return {*_WORD.findall(self.line.operand)} - {"defined"}

    @property
    def refuses_no_version(self) -> bool:
        """Whether it is an error where gcc has a version too old to compile for CUDA, or none."""
        is_check = self.fails and self.line.word in {"if", "elif"} and "__GNUC__" in self.names <= _VERSION
        return is_check and truth_of(self.line, _WITH_GCC) is False and truth_of(self.line, _NO_VERSION) is True

    @property
    def asks_any(self) -> bool:
        """Whether it holds where one of its macros is defined."""
        return self.line.word == "ifdef" or (self.line.word != "ifndef" and bool(_ANY.fullmatch(self.line.operand)))

    @property
    def is_for_gcc(self) -> bool:
        """Whether it holds where gcc compiles on Linux, and not where nothing of compilers and platforms is known."""
        if not self.names & GCC or self.line.word not in {"if", "elif", "ifdef"}:
            return False
        return self.asks_any or (truth_of(self.line, _ON_LINUX) is True and truth_of(self.line, _ELSEWHERE) is False)

    @property
    def asks_none(self) -> bool:
        """Whether it holds where none of them is."""
        return self.line.word == "ifndef" or (self.line.word != "ifdef" and bool(_NONE.fullmatch(self.line.operand)))


@dataclass
class _Chain:
    branches: list[_Branch] = field(default_factory=list)

    @property
    def ends_in_error(self) -> bool:
        """Whether it knows compilers and platforms only, and has an error for all others."""
        *known, last = self.branches
        if not known or last.line.word != "else" or not last.fails:
            return False
        return all((one.asks_any or one.is_for_gcc) and one.names <= HOST_COMPILERS and not one.fails for one in known)

    def conditions_on_gcc(self) -> Iterator[DirectiveLine]:
        """Yield those that decide about an error, or about a branch for gcc beside those of other compilers."""
        if any(branch.names & _NVRTCS for branch in self.branches):
            return
        yield from (one.line for one in self.branches if one.fails and one.asks_none and one.names & GCC)
        fails = self.branches[-1].line.word == "else" and self.branches[-1].may_fail
        found = (one for one in self.branches if one.is_for_gcc and not one.fails)
        branch = next(found, None)
        if branch is None:
            return
        if fails or (self._knows_compilers_only() and not branch.leads_out) or self._spells_keyword(branch):
            yield branch.line

    def _spells_keyword(self, branch: _Branch) -> bool:
        """Return whether each branch only defines one macro, which for gcc is a word that NVRTC knows as well."""
        found = [_MACRO.fullmatch(one.defines[0]) for one in self.branches if len(one.defines) == 1]
        defined = {macro[1] for macro in found if macro is not None}
        if len(found) != len(self.branches) or len(defined) != 1:
            return False
        own = _MACRO.fullmatch(branch.defines[0])
        return own is not None and _KEYWORD.fullmatch(own[2].strip()) is not None

    def _knows_compilers_only(self) -> bool:
        """Return whether it has a branch for each of several compilers, and none for others."""
        return len(self.branches) > 1 and all(
            one.line.word != "else" and truth_of(one.line, _WITH_GCC) is not None for one in self.branches
        )
