"""Which images a module's architectures ask for, what NVRTC compiles for them, and what is finished or linked of that.

``front_end: lto`` and ``ptx`` run NVRTC's front end once, at the lowest architecture. PTX cannot be made from PTX, nor
LTO-IR from LTO-IR: where it is listed for a higher architecture, that one is compiled by itself, for its real form too.

Modules of several units, or with libraries, are linked from objects, or from LTO-IR where the manifest asks for that.
PTX cannot be linked: nvJitLink writes it from the LTO-IR of all units, which then is compiled for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.compiler import CompileJob, FinishJob, choose_route
from hatch_cuda_kernels.device_library import DEVICE_RUNTIME, library_kind
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.image import ImageId

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TypeAlias

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler import Job, Recipe, Route
    from hatch_cuda_kernels.execution_space import SourceSet
    from hatch_cuda_kernels.image import Kind

    _Kinds: TypeAlias = dict[SmArch, tuple[Kind, ...]]


def image_kind(arch: SmArch, *, lto: bool) -> Kind:
    """Return what an architecture's image is: CUBIN for a real one, PTX (or LTO-IR) for a virtual one."""
    if not arch.virtual:
        return "cubin"
    return "ltoir" if lto else "ptx"


def _wanted_kinds(arches: Iterable[SmArch], *, lto: bool) -> _Kinds:
    wanted: _Kinds = {}
    for arch in sorted(arches):
        wanted[arch.real] = (*wanted.get(arch.real, ()), image_kind(arch, lto=lto))
    return wanted


def job_images(job: Job) -> list[ImageId]:
    """Return what a job's images are called, in the order of its kinds."""
    unit = job.source_path if isinstance(job, CompileJob) and job.is_unit else ""
    return [ImageId(job.module, job.image_arch(kind), kind, unit) for kind in job.kinds]


def _shared_run(arches: Iterable[SmArch], rest: Sequence[SmArch], front_end: str) -> SmArch:
    """Return the first architecture whose code serves the ``rest``. Raises InputError if there is none."""
    found = next((arch for arch in arches if all(arch.serves(other) for other in rest)), None)
    if found is None:
        raise InputError(_no_run(front_end, rest))
    return found


def _no_run(front_end: str, archs: Sequence[SmArch]) -> str:
    suffixed = next(arch for arch in archs if arch.suffix)
    others = "family" if suffixed.suffix == "f" else "architecture"
    return (
        f"front_end: {front_end} needs one architecture whose code serves all, and none of "
        f"{', '.join(map(str, archs))} does: code for {suffixed} goes to no other {others}; write front_end: per-arch, "
        f"or add {suffixed.plain}, whose code has no architecture-specific features"
    )


#: Libraries that may hold LTO-IR; nvJitLink says whether they do.
_MAY_HAVE_LTO_IR: Final = frozenset({"archive", "fatbin", "ltoir", "object file"})
_FROM_LTO_IR: Final = "is PTX, which is linked from LTO-IR"


def _lay_out_links(
    recipe: Recipe, sources: SourceSet, arches: Iterable[SmArch], front_end: str
) -> tuple[tuple[CompileJob, ...], tuple[FinishJob, ...]]:
    """Return the compiles of a module's units, and the jobs that link what they give.

    Raises InputError for PTX that cannot be made, and for a shared front end that would give PTX; ToolchainError for a
    missing device runtime.
    """
    wanted = _wanted_kinds(arches, lto=False)
    refusals = [*_refusals(recipe, wanted, front_end)]
    if refusals:
        raise InputError("; ".join(refusals))
    units, libraries = recipe.units(sources), recipe.load_libraries(sources)
    lto = recipe.linked_from == "ltoir" or front_end == "lto"
    shared = _shared_run(wanted, [*wanted], front_end) if front_end == "lto" else None
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


def _refusals(recipe: Recipe, wanted: _Kinds, front_end: str) -> Iterator[str]:
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


class _FrontEnd(NamedTuple):
    """How a module's images are made. Every architecture is real, with the kinds of its images."""

    compiled: _Kinds
    """What NVRTC compiles. The shared run's kinds include what the others start from."""
    shared: SmArch | None
    """The architecture of the shared front-end run; None where nothing is shared."""
    finished: _Kinds
    """What is finished from the shared run."""

    def is_assembled(self, arch: SmArch) -> bool:
        """Return whether NVRTC assembles what it compiles. If it only makes PTX for other jobs, they assemble it."""
        return arch != self.shared or self.compiled[arch] != ("ptx",)


def _lay_out(arches: Iterable[SmArch], *, front_end: str, lto: bool) -> _FrontEnd:
    """Return how the images of these architectures are made. Raises InputError if no run can serve them all."""
    wanted = _wanted_kinds(arches, lto=lto)
    if front_end == "per-arch":
        return _FrontEnd(wanted, None, {})
    if front_end == "ptx" and lto:
        raise InputError("front_end: ptx starts from PTX, and lto: true makes none; write front_end: lto")
    start: Kind = "ltoir" if front_end == "lto" else "ptx"
    rest = [arch for arch, kinds in wanted.items() if start not in kinds]
    shared = _shared_run(wanted, rest, front_end)
    finished = {arch: wanted[arch] for arch in rest if arch != shared}
    compiled = {arch: kinds for arch, kinds in wanted.items() if arch not in finished}
    if not finished:
        return _FrontEnd(compiled, None, {})
    own = tuple(kind for kind in wanted[shared] if kind != start)
    if own and front_end == "ptx":  # as for the others: without the variables that nobody uses
        finished = {shared: own, **finished}
        own = ()
    compiled[shared] = (*own, start)
    return _FrontEnd(compiled, shared, finished)


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
        return _lay_out_links(recipe, sources, arches, front_end)
    found = _lay_out(arches, front_end=front_end, lto=recipe.options.lto)
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
