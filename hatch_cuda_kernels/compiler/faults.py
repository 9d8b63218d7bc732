"""What a failed compile says: each error once, at its place, with the line to add or the change to make."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.advice import advice
from hatch_cuda_kernels.compiler.output import bad_names, parse_log
from hatch_cuda_kernels.names import base_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.compiler.output import Diagnostic
    from hatch_cuda_kernels.compiler.program import Program

__all__ = ["name_faults", "source_faults"]

#: NVRTC's own files: the name expressions, and the headers that are built in.
_OWN: Final = ("__nv_name_map", "<")
_WIDEST: Final = 160
#: NVRTC's own advice, of options to pass to it; the manifest's come with the fix.
_ADVICE: Final = ". Consider using -"


def source_faults(log: str, program: Program, *, release: tuple[int, int]) -> tuple[str, ...]:
    """Return the errors of a log as text of at most four lines each, one for each line of a source.

    What follows from an error on the same line is left out. ``log`` names files as the project does; ``release`` is
    NVRTC's.
    """
    firsts: dict[tuple[str, int], Diagnostic] = {}
    for found in parse_log(log):
        if found.severity != "warning" and not found.file.startswith(_OWN):
            firsts.setdefault((found.file, found.line) if found.file else (found.message, 0), found)
    return tuple(_described(first, program, release) for first in firsts.values())


def _described(first: Diagnostic, program: Program, release: tuple[int, int]) -> str:
    place, message = first.place, first.message.partition(_ADVICE)[0]
    text = [f"{place}: error: {message}" if place else message]
    text += [f"  | {line[:_WIDEST]}" for line in first.excerpt]
    fix = advice(first, program, release=release)
    return "\n".join([*text, f"  to fix: {fix}"] if fix else text)


def name_faults(log: str, names: Sequence[str], program: Program) -> dict[str, str]:
    """Return why NVRTC rejects name expressions, by expression, with the kernel that may have been meant."""
    rejected = bad_names(parse_log(log), names)
    declared = sorted(program.declared.names)
    return {name: f"{reason}{_guess(name, declared)}" for name, reason in rejected.items()}


def _guess(name: str, declared: Sequence[str]) -> str:
    wanted = base_name(name).rpartition("::")[2]
    near = [] if wanted in declared else difflib.get_close_matches(wanted, declared, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
