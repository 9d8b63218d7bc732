"""What was cut cannot be used in silence: the finished image is asked for it.

A function that was cut is an undefined symbol. A variable is a zeroed one of the device to NVRTC, so its symbol is
looked for; of a constant without its value no symbol is left, but in relocatable code.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.binary import demangled

if TYPE_CHECKING:
    from hatch_cuda_kernels.execution_space.device_source import SourceChange

#: What is wrong with the use of a variable.
UNMARKED: Final = "has no device mark, and device code uses it"
_ARGUMENTS: Final = re.compile(r"<[^<>]*>")


def use_faults(symbols: Iterable[str], variables: Collection[str], changes: Iterable[SourceChange]) -> tuple[str, ...]:
    """Return what is wrong with the use of those variables of the host, by symbol, with their places and what to do."""
    used = {*map(_plain, symbols)}.intersection(variables)
    kinds = {"value", "definition", "variable", "removed"}
    cut = (change for change in changes if change.kind in kinds)
    places = {change.name.rpartition("::")[2]: f"{change.path}:{change.line}" for change in cut}
    found = []
    for name in sorted(used):
        place = places.get(name.rpartition("::")[2], "")
        what = f"{place}: error: {name} {UNMARKED}" if place else f"{name} is the host's"
        found.append(f"{what}\n  to fix: mark it __device__ or __constant__, or constexpr if its value never changes")
    return tuple(found)


def _plain(symbol: str) -> str:
    """Return a symbol's qualified name without template arguments."""
    name = demangled(symbol)
    while _ARGUMENTS.search(name):
        name = _ARGUMENTS.sub("", name)
    return name.replace(" ", "")
