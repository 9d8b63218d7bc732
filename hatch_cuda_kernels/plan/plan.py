"""From a manifest to the ordered compile jobs: a pure function once the sources are read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.compiler.job import CompileJob
from hatch_cuda_kernels.compiler.link_job import LinkJob
from hatch_cuda_kernels.compiler.source.closure import Closure, read_closure
from hatch_cuda_kernels.compiler.source.project_files import ProjectFiles
from hatch_cuda_kernels.errors import InputError, ManifestError
from hatch_cuda_kernels.plan.front_end import image_kind, lay_out

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler.link_job import Job
    from hatch_cuda_kernels.image import Kind
    from hatch_cuda_kernels.manifest import Manifest, Module

__all__ = ["ImageId", "PlannedModule", "job_images", "make_plan", "module_jobs", "read_sources"]

_CHUNK_GLOBALS: Final = "each chunk is a program with variables of its own; leave out chunk, or globals"


class ImageId(NamedTuple):
    """What one image of a plan is called."""

    module: str
    arch: SmArch
    kind: Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedModule:
    """One module, or chunk of one, with its sources read and its compiles laid out, ascending by architecture."""

    module: Module
    closure: Closure
    jobs: tuple[CompileJob, ...]
    """What NVRTC compiles; at least one."""
    links: tuple[LinkJob, ...] = ()
    """What nvJitLink finishes from one of these, all from the same."""

    @property
    def all_jobs(self) -> tuple[Job, ...]:
        """Everything a worker may have to do for the module."""
        return (*self.jobs, *self.links)

    @property
    def images(self) -> tuple[ImageId, ...]:
        """Every image the store gets, ascending by architecture. The jobs may give one more, which the links need."""
        lto = self.module.options.lto
        return tuple(ImageId(self.module.name, arch, image_kind(arch, lto=lto)) for arch in self.module.arches)


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
        jobs, links = module_jobs(chunk, closure)
        yield PlannedModule(module=chunk, closure=closure, jobs=jobs, links=links)


def job_images(job: Job) -> list[ImageId]:
    """Return what a job's images are called, in the order of its kinds."""
    return [ImageId(job.module, job.image_arch(kind), kind) for kind in job.kinds]


def read_sources(manifest: Manifest) -> dict[str, Closure]:
    """Return each module's source with its header closure. Raises ManifestError with all problems."""
    closures, problems = {}, []
    project = ProjectFiles(manifest.root)
    for module in manifest.modules:
        try:
            closures[module.name] = read_closure(
                manifest.root,
                module.source,
                include=_existing(manifest.root, module.options.include),
                headers=module.headers,
                pre_include=module.options.pre_include,
                project=project,
            )
        except InputError as error:
            problems.append(f"{module.where}: {error}")
    if problems:
        raise ManifestError(problems)
    return closures


def _existing(root: Path, folders: tuple[str, ...]) -> list[str]:
    """Leave out include folders that an unpacked sdist lacks; elsewhere the manifest's reader has refused them."""
    return [folder for folder in folders if (root / folder).is_dir()]


def module_jobs(module: Module, closure: Closure) -> tuple[tuple[CompileJob, ...], tuple[LinkJob, ...]]:
    """Return the compiles of a module, one for each real architecture, and the links of what shares a front-end run.

    Where a virtual architecture is listed beside its real form, the same job gives both. Raises InputError for
    architectures that cannot share.
    """
    found = lay_out(module.arches, front_end=module.front_end, lto=module.options.lto)
    options = module.options.override(lto=True) if module.front_end == "lto" else module.options
    compiles = {
        arch: CompileJob.from_closure(
            closure,
            module=module.name,
            source_path=module.source,
            options=options,
            arch=arch,
            kinds=kinds,
            names=tuple(name.text for name in (*module.kernels, *module.instances)),
            globals=tuple(name.text for name in module.globals),
        )
        for arch, kinds in found.compiled.items()
    }
    compiles = {arch: replace(job, assembled=found.is_assembled(arch)) for arch, job in compiles.items()}
    links = (
        LinkJob(front=compiles[found.shared], arch=arch, kinds=kinds)
        for arch, kinds in found.finished.items()
        if found.shared is not None
    )
    return tuple(compiles.values()), tuple(links)
