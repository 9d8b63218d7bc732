"""What was cut cannot be used in silence: the finished image is asked for it.

A function that was cut is an undefined symbol. A variable is a zeroed one of the device to NVRTC, so its symbol is
looked for; of a constant without its value no symbol is left, but in relocatable code.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.binary import demangled

if TYPE_CHECKING:
    from hatch_cuda_kernels.execution_space.device_source import SourceChange

#: What is wrong with the use of a variable.
UNMARKED: Final = "has no device mark, and device code uses it"
_VARIABLE: Final = re.compile(
    r"^\s*(?:\.(?:visible|weak|extern|common)\s+)*\.(?:global|const|shared)\s[^;={]*?([A-Za-z_$][\w$]*)(?:\[\d*\])*\s*[;=]",
    re.MULTILINE,
)
_EXTERN: Final = re.compile(
    r"^\s*\.extern\s+\.(?:global|const)\s[^;]*?([A-Za-z_$][\w$]*)(?:\[\d*\])*\s*;", re.MULTILINE
)
_WORD: Final = re.compile(r"(?<![\w$.%])[A-Za-z_$][\w$]*")
_ARGUMENTS: Final = re.compile(r"<[^<>]*>")


def used_variables(ptx: str, variables: Collection[str]) -> Iterator[str]:
    """Yield those of some variables, by qualified name, that the code of a PTX text refers to."""
    if not variables:
        return
    declared = {*_VARIABLE.findall(ptx)}
    counts: dict[str, int] = {}
    for word in _WORD.findall(ptx):
        if word in declared:
            counts[word] = counts.get(word, 0) + 1
    for symbol, count in counts.items():
        name = _plain(symbol)
        if count > 1 and name in variables:
            yield name


def use_faults(used: Collection[str], changes: Iterable[SourceChange]) -> tuple[str, ...]:
    """Return what is wrong with the use of variables of the host, with their places and what to do."""
    kinds = {"value", "definition", "variable", "removed"}
    cut = (change for change in changes if change.kind in kinds)
    places = {change.name.rpartition("::")[2]: f"{change.path}:{change.line}" for change in cut}
    found = []
    for name in sorted(used):
        place = places.get(name.rpartition("::")[2], "")
        what = f"{place}: error: {name} {UNMARKED}" if place else f"{name} is the host's"
        found.append(f"{what}\n  to fix: mark it __device__ or __constant__, or constexpr if its value never changes")
    return tuple(found)


def undefined_variables(ptx: str, variables: Collection[str]) -> Iterator[str]:
    """Yield those of some variables that relocatable code takes from elsewhere."""
    return (name for symbol in _EXTERN.findall(ptx) if (name := _plain(symbol)) in variables)


def _plain(symbol: str) -> str:
    """Return a symbol's qualified name without template arguments."""
    name = demangled(symbol)
    while _ARGUMENTS.search(name):
        name = _ARGUMENTS.sub("", name)
    return name.replace(" ", "")
