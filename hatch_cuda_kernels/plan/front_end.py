"""Sharing the front end: which architectures NVRTC compiles, and which are finished from one of those.

``lto`` and ``ptx`` run NVRTC's front end once, at the lowest architecture. PTX cannot be made from PTX, nor LTO-IR from
LTO-IR: where it is listed for a higher architecture, that one is compiled by itself, for its real form too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.compiler.finish_job import FinishJob
from hatch_cuda_kernels.compiler.route import choose_route
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.plan.kinds import shared_run, wanted_kinds
from hatch_cuda_kernels.plan.links import lay_out_links

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler.job import CompileJob
    from hatch_cuda_kernels.compiler.recipe import Recipe
    from hatch_cuda_kernels.compiler.route import Route
    from hatch_cuda_kernels.execution_space import SourceSet
    from hatch_cuda_kernels.image import Kind
    from hatch_cuda_kernels.plan.kinds import Kinds

__all__ = ["FrontEnd", "lay_out", "lay_out_jobs", "route_of"]


class FrontEnd(NamedTuple):
    """How a module's images come about. Every architecture is real, with the kinds of its images."""

    compiled: Kinds
    """What NVRTC compiles. The shared run's kinds include what the others start from."""
    shared: SmArch | None
    """The architecture of the shared front-end run; None where nothing is shared."""
    finished: Kinds
    """What is finished from the shared run."""

    def is_assembled(self, arch: SmArch) -> bool:
        """Return whether NVRTC assembles what it compiles; what gives PTX for other jobs only leaves it to these."""
        return arch != self.shared or self.compiled[arch] != ("ptx",)


def lay_out(arches: Iterable[SmArch], *, front_end: str, lto: bool) -> FrontEnd:
    """Return how the images of these architectures come about. Raises InputError where no run can serve them all."""
    wanted = wanted_kinds(arches, lto=lto)
    if front_end == "per-arch":
        return FrontEnd(wanted, None, {})
    if front_end == "ptx" and lto:
        raise InputError("front_end: ptx starts from PTX, and lto: true makes none; write front_end: lto")
    start: Kind = "ltoir" if front_end == "lto" else "ptx"
    rest = [arch for arch, kinds in wanted.items() if start not in kinds]
    shared = shared_run(wanted, rest, front_end)
    finished = {arch: wanted[arch] for arch in rest if arch != shared}
    compiled = {arch: kinds for arch, kinds in wanted.items() if arch not in finished}
    if not finished:
        return FrontEnd(compiled, None, {})
    own = tuple(kind for kind in wanted[shared] if kind != start)
    if own and front_end == "ptx":  # as for the others: without the variables that nobody uses
        finished = {shared: own, **finished}
        own = ()
    compiled[shared] = (*own, start)
    return FrontEnd(compiled, shared, finished)


def lay_out_jobs(
    recipe: Recipe, sources: SourceSet, arches: Iterable[SmArch], front_end: str
) -> tuple[tuple[CompileJob, ...], tuple[FinishJob, ...]]:
    """Return the compiles of a module, for each unit and real architecture, and the jobs that finish what they give.

    Where a virtual architecture is listed beside its real form, the same job gives both. Raises InputError for
    architectures that cannot share, and for options that would not reach every image; ToolchainError for a missing
    device runtime.
    """
    conflicts = recipe.options.conflicts(front_end=front_end)
    if conflicts:
        raise InputError("; ".join(conflicts))
    if recipe.is_linked:
        return lay_out_links(recipe, sources, arches, front_end)
    found = lay_out(arches, front_end=front_end, lto=recipe.options.lto)
    route = route_of(recipe, front_end, sources)
    recipe = recipe.with_lto() if front_end == "lto" else recipe
    (unit,) = recipe.units(sources)
    compiles = {
        arch: recipe.compile_job(unit, arch, kinds, finisher=route.finisher, assembled=found.is_assembled(arch))
        for arch, kinds in found.compiled.items()
    }
    finishing = (
        FinishJob(fronts=(compiles[found.shared],), arch=arch, kinds=kinds)
        for arch, kinds in found.finished.items()
        if found.shared is not None
    )
    return tuple(compiles.values()), tuple(finishing)


def route_of(recipe: Recipe, front_end: str, sources: SourceSet) -> Route:
    """Return the route of a module with these sources."""
    tables = sources.declared.defines_tables(recipe.globals)
    linked, outside = recipe.is_linked, sources.outside
    return choose_route(recipe.options, front_end=front_end, outside=outside, tables=tables, linked=linked)
