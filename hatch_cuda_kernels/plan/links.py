"""Modules of several units, or with libraries: what is compiled of each unit, and what is linked of that.

Machine code is linked from objects, or from LTO-IR where the manifest asks for that. PTX cannot be linked: nvJitLink
writes it from the LTO-IR of all units, which then is compiled for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.finish_job import FinishJob
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.includes import DEVICE_RUNTIME, library_kind
from hatch_cuda_kernels.plan.kinds import shared_run, wanted_kinds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler.job import CompileJob
    from hatch_cuda_kernels.compiler.recipe import Recipe
    from hatch_cuda_kernels.execution_space import SourceSet
    from hatch_cuda_kernels.image import Kind
    from hatch_cuda_kernels.plan.kinds import Kinds

__all__ = ["lay_out_links"]

#: Libraries that may hold LTO-IR; nvJitLink says whether they do.
_MAY_HAVE_LTO_IR: Final = frozenset({"archive", "fatbin", "ltoir", "object file"})
_FROM_LTO_IR: Final = "is PTX, which is linked from LTO-IR"


def lay_out_links(
    recipe: Recipe, sources: SourceSet, arches: Iterable[SmArch], front_end: str
) -> tuple[tuple[CompileJob, ...], tuple[FinishJob, ...]]:
    """Return the compiles of a module's units, and the jobs that link what they give.

    Raises InputError where PTX is asked for that cannot be made, and for a shared front end that would give PTX;
    ToolchainError for a missing device runtime.
    """
    wanted = wanted_kinds(arches, lto=False)
    refusals = [*_refusals(recipe, wanted, front_end)]
    if refusals:
        raise InputError("; ".join(refusals))
    units, libraries = recipe.units(sources), recipe.load_libraries(sources)
    lto = recipe.linked_from == "ltoir" or front_end == "lto"
    shared = shared_run(wanted, [*wanted], front_end) if front_end == "lto" else None
    compiles: dict[tuple[SmArch, Kind], tuple[CompileJob, ...]] = {}
    links = []
    for arch, kinds in wanted.items():
        for start, made in _starts(kinds, lto=lto):
            front = shared or arch, start
            if front not in compiles:
                compiles[front] = recipe.part_jobs(units, *front)
            links.append(FinishJob(fronts=compiles[front], arch=arch, kinds=made, libraries=libraries))
    return tuple(job for jobs in compiles.values() for job in jobs), tuple(links)


def _starts(kinds: Sequence[Kind], *, lto: bool) -> Iterator[tuple[Kind, tuple[Kind, ...]]]:
    """Yield what is linked, and the kinds of image that are made of it."""
    if lto:
        yield "ltoir", tuple(kinds)
        return
    for kind in kinds:
        yield ("ltoir" if kind == "ptx" else "object"), (kind,)


def _refusals(recipe: Recipe, wanted: Kinds, front_end: str) -> Iterator[str]:
    if front_end == "ptx":
        yield "front_end: ptx starts from PTX, which cannot be linked; write front_end: lto"
    ptx = next((arch.as_virtual for arch, kinds in wanted.items() if "ptx" in kinds), None)
    if ptx is None:
        return
    fix = "list real architectures only, under 'arches:' of this module"
    without = [name for name in recipe.libraries if not _may_have_lto_ir(name)]
    if without:
        yield f"{ptx} {_FROM_LTO_IR}, and {', '.join(without)} has none; {fix}"
    yield from (f"{ptx} {_FROM_LTO_IR}: {conflict}" for conflict in recipe.with_lto().options.conflicts())


def _may_have_lto_ir(name: str) -> bool:
    return name != DEVICE_RUNTIME and library_kind(name) in _MAY_HAVE_LTO_IR
