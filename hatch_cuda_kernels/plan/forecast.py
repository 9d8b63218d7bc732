"""What a build of a plan would fail for, as far as it can be told without compiling."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.arch import ptx_isa_of_driver
from hatch_cuda_kernels.compiler.missing_header import missing_header
from hatch_cuda_kernels.compiler.output.log import Diagnostic
from hatch_cuda_kernels.cpp import SourceFile
from hatch_cuda_kernels.image import Symbol
from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.problem import Problem
from hatch_cuda_kernels.store.index import ImageRecord
from hatch_cuda_kernels.store.promises import Coverage, broken_supports

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.compiler.toolchain.installed import Toolchain
    from hatch_cuda_kernels.includes import Closure
    from hatch_cuda_kernels.plan.plan import PlannedModule
    from hatch_cuda_kernels.store.promises import Supports

__all__ = ["missing_headers", "unkept_promises"]

_SPELLED: Final = re.compile(r'\s*[<"]([^>"\n]+)')


def unkept_promises(
    plan: Sequence[PlannedModule], supports: Supports | None, release: tuple[int, int]
) -> list[Problem]:
    """Return the promised devices that no image of a plan, compiled with a toolkit release, would serve."""
    isa = ptx_isa_of_driver(release)
    if supports is None or isa is None:
        return []
    every = (Symbol("", ""),)
    coverages = (
        Coverage(
            planned.module.name,
            planned.module.where,
            every,
            [ImageRecord("", image.kind, image.arch, "", 0, isa) for image in planned.images],
        )
        for planned in plan
    )
    return broken_supports(supports, coverages)


def missing_headers(plan: Sequence[PlannedModule], toolchain: Toolchain) -> list[Problem]:
    """Return the headers that sources include under no condition and that are nowhere, each once."""
    found = (problem for planned in plan for unit in planned.sources.units for problem in _missing(unit, toolchain))
    return list(dict.fromkeys(found))


def _missing(unit: Closure, toolchain: Toolchain) -> Iterator[Problem]:
    """Yield the missing headers of a source and of the headers that it is sure to include."""
    texts = dict(unit.headers)
    waiting, seen = [(unit.program_name, unit.source)], {unit.program_name}
    while waiting:
        file, text = waiting.pop()
        for name in _surely_included(text):
            if name in unit.outside and not _is_there(name, toolchain):
                yield _problem(file.removeprefix(VIRTUAL_ROOT), text, name, toolchain)
            elif name in texts and name not in seen:
                seen.add(name)
                waiting.append((name, texts[name]))


def _is_there(name: str, toolchain: Toolchain) -> bool:
    return any(os.path.isfile(os.path.join(folder, name)) for folder in toolchain.include_dirs)  # noqa: PTH113, PTH118 - strings


def _problem(file: str, text: str, name: str, toolchain: Toolchain) -> Problem:
    place = re.search(rf"#[ \t]*include[ \t]*([<\"]){re.escape(name)}[>\"]", text)
    start = place.start(1) if place else 0
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    message = f'cannot open source file "{name}"'
    advice = missing_header(Diagnostic(file, line, "error", message), computed=(), release=toolchain.release)
    return Problem(message, advice or "", f"{file}:{line}:{column}")


def _surely_included(text: str) -> Iterator[str]:
    """Yield the headers that a text includes outside any condition but the one around all of it."""
    depth = guard = 0
    for directive in SourceFile("", text).directives:
        if directive.word == "include" and depth <= guard and (name := _SPELLED.match(directive.operand)):
            yield name[1]
        elif directive.word == "endif":
            depth -= 1
        elif directive.word in {"if", "ifdef", "ifndef"}:
            guard = guard or int(not depth and directive.word == "ifndef")
            depth += 1
