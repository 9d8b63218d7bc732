"""From a manifest to the ordered compile jobs: a pure function once the sources are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.errors import InputError, ManifestError
from hatch_cuda_kernels.image import ImageId
from hatch_cuda_kernels.plan.front_end import image_kind, lay_out_jobs
from hatch_cuda_kernels.source.project import Project
from hatch_cuda_kernels.store.built import BuiltModule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hatch_cuda_kernels.cache import Entry
    from hatch_cuda_kernels.compiler.finish_job import FinishJob, Job
    from hatch_cuda_kernels.compiler.job import CompileJob
    from hatch_cuda_kernels.compiler.toolchain.installed import Toolchain
    from hatch_cuda_kernels.manifest import Manifest, Module
    from hatch_cuda_kernels.source.closure import Closure

__all__ = ["PlannedModule", "job_images", "make_plan", "read_sources"]

_CHUNK_GLOBALS: Final = "each chunk is a program with variables of its own; leave out chunk, or globals"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedModule:
    """One module, or chunk of one, with its sources read and its compiles laid out, ascending by architecture."""

    module: Module
    closure: Closure
    jobs: tuple[CompileJob, ...]
    """What NVRTC compiles; at least one."""
    finishing: tuple[FinishJob, ...] = ()
    """What is finished from one of these, all from the same."""

    @property
    def all_jobs(self) -> tuple[Job, ...]:
        """Everything a worker may have to do for the module."""
        return (*self.jobs, *self.finishing)

    @property
    def images(self) -> tuple[ImageId, ...]:
        """Every image the store gets, ascending by architecture. The jobs may give one more, to be finished."""
        lto = self.module.options.lto
        return tuple(ImageId(self.module.name, arch, image_kind(arch, lto=lto)) for arch in self.module.arches)

    def toolchain(self, found: Toolchain) -> Toolchain:
        """Return what of a toolchain has a part in the module; headers are looked through once for all its images."""
        return self.all_jobs[-1].toolchain(found)

    def built(self, entries: Mapping[ImageId, Entry], toolchain: Toolchain) -> BuiltModule:
        """Return the module with its images, which are among the entries."""
        job, used = self.jobs[0], self.toolchain(toolchain)
        return BuiltModule.of(
            [entries[image] for image in self.images],
            recipe=self.module.recipe,
            closure=self.closure,
            program=job.program,
            toolchain=used if job.uses_toolkit_headers else used._replace(headers=""),
            front_end=self.module.front_end,
            packing=self.module.packing,
            patterns=tuple(pattern.to_json() for pattern in self.module.patterns),
            where=self.module.where,
        )


def make_plan(manifest: Manifest) -> tuple[PlannedModule, ...]:
    """Read the sources and return the plan, ordered by module. Raises ManifestError naming every unreadable source."""
    closures = read_sources(manifest)
    plan: list[PlannedModule] = []
    problems = []
    for module in manifest.modules:
        try:
            plan += _planned(module, closures[module.name])
        except InputError as error:
            problems.append(f"{module.where}: {error}")
    if problems:
        raise ManifestError(problems)
    return tuple(plan)


def _planned(module: Module, closure: Closure) -> Iterator[PlannedModule]:
    if module.chunk and module.globals:
        raise InputError(_CHUNK_GLOBALS)
    for chunk in module.chunks():
        jobs, finishing = lay_out_jobs(chunk.recipe, closure, chunk.arches, chunk.front_end)
        yield PlannedModule(module=chunk, closure=closure, jobs=jobs, finishing=finishing)


def job_images(job: Job) -> list[ImageId]:
    """Return what a job's images are called, in the order of its kinds."""
    return [ImageId(job.module, job.image_arch(kind), kind) for kind in job.kinds]


def read_sources(manifest: Manifest) -> dict[str, Closure]:
    """Return each module's source with its header closure. Raises ManifestError with all problems."""
    closures, problems = {}, []
    project = Project(manifest.root)
    for module in manifest.modules:
        try:
            closures[module.name] = module.recipe.read(manifest.root, project=project)
        except InputError as error:
            problems.append(f"{module.where}: {error}")
    if problems:
        raise ManifestError(problems)
    return closures
