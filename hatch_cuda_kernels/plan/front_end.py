"""Sharing the front end: which architectures NVRTC compiles, and which are finished from one of those.

``lto`` and ``ptx`` run NVRTC's front end once, at the lowest architecture. PTX cannot be made from PTX, nor LTO-IR from
LTO-IR: where it is listed for a higher architecture, that one is compiled by itself, for its real form too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.compiler.finish_job import FinishJob
from hatch_cuda_kernels.compiler.route import choose_route
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.source.tables import defines_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler.job import CompileJob
    from hatch_cuda_kernels.compiler.recipe import Recipe
    from hatch_cuda_kernels.compiler.route import Route
    from hatch_cuda_kernels.image import Kind
    from hatch_cuda_kernels.source.closure import Closure

    Kinds: TypeAlias = dict[SmArch, tuple[Kind, ...]]

__all__ = ["FrontEnd", "image_kind", "lay_out", "lay_out_jobs", "route_of"]


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
    wanted: Kinds = {}
    for arch in sorted(arches):
        wanted[arch.real] = (*wanted.get(arch.real, ()), image_kind(arch, lto=lto))
    if front_end == "per-arch":
        return FrontEnd(wanted, None, {})
    if front_end == "ptx" and lto:
        raise InputError("front_end: ptx starts from PTX, and lto: true makes none; write front_end: lto")
    start: Kind = "ltoir" if front_end == "lto" else "ptx"
    rest = [arch for arch, kinds in wanted.items() if start not in kinds]
    shared = next((arch for arch in wanted if all(arch.serves(other) for other in rest)), None)
    if shared is None:
        raise InputError(_no_run(front_end, rest))
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
    recipe: Recipe, closure: Closure, arches: Iterable[SmArch], front_end: str
) -> tuple[tuple[CompileJob, ...], tuple[FinishJob, ...]]:
    """Return the compiles of a module, one for each real architecture, and the jobs that finish a shared run.

    Where a virtual architecture is listed beside its real form, the same job gives both. Raises InputError for
    architectures that cannot share, and for options that would not reach every image.
    """
    conflicts = recipe.options.conflicts(front_end=front_end)
    if conflicts:
        raise InputError("; ".join(conflicts))
    found = lay_out(arches, front_end=front_end, lto=recipe.options.lto)
    route = route_of(recipe, front_end, closure)
    recipe = recipe.with_lto() if front_end == "lto" else recipe
    program = recipe.program(closure)
    compiles = {
        arch: recipe.job(program, arch, kinds, finisher=route.finisher, assembled=found.is_assembled(arch))
        for arch, kinds in found.compiled.items()
    }
    finishing = (
        FinishJob(front=compiles[found.shared], arch=arch, kinds=kinds)
        for arch, kinds in found.finished.items()
        if found.shared is not None
    )
    return tuple(compiles.values()), tuple(finishing)


def route_of(recipe: Recipe, front_end: str, closure: Closure) -> Route:
    """Return the route of a module with this source."""
    tables = defines_tables(closure, recipe.globals)
    return choose_route(recipe.options, front_end=front_end, outside=closure.outside, tables=tables)


def image_kind(arch: SmArch, *, lto: bool) -> Kind:
    """Return what an architecture's image is: CUBIN for a real one, PTX (or LTO-IR) for a virtual one."""
    if not arch.virtual:
        return "cubin"
    return "ltoir" if lto else "ptx"


def _no_run(front_end: str, archs: Sequence[SmArch]) -> str:
    suffixed = [arch for arch in archs if arch.suffix]
    return (
        f"front_end: {front_end} needs one architecture whose code serves all, and none of {_listed(archs)} does: code "
        f"for {suffixed[0]} goes to no other {'family' if suffixed[0].suffix == 'f' else 'architecture'}; write "
        f"front_end: per-arch, or add {suffixed[0].plain}, whose code has no architecture-specific features"
    )


def _listed(archs: Sequence[SmArch]) -> str:
    return ", ".join(map(str, archs))
