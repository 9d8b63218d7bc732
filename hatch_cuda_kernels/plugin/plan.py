"""From a manifest to the ordered compile jobs: a pure function once the sources are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.compiler.headers import Closure, read_closure
from hatch_cuda_kernels.compiler.job import CompileJob
from hatch_cuda_kernels.compiler.project_files import ProjectFiles
from hatch_cuda_kernels.errors import InputError, ManifestError

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.image import Kind
    from hatch_cuda_kernels.plugin.manifest import Manifest, Module

__all__ = ["ImageId", "PlannedModule", "image_kind", "job_images", "make_plan", "module_jobs", "read_sources"]


class ImageId(NamedTuple):
    """What one image of a plan is called."""

    module: str
    arch: SmArch
    kind: Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedModule:
    """One module with its sources read and its compiles laid out, ascending by architecture."""

    module: Module
    closure: Closure
    jobs: tuple[CompileJob, ...]

    @property
    def images(self) -> tuple[ImageId, ...]:
        """Every image the jobs give, in order."""
        return tuple(image for job in self.jobs for image in job_images(job))


def make_plan(manifest: Manifest) -> tuple[PlannedModule, ...]:
    """Read the sources and return the plan, ordered by module. Raises ManifestError naming every unreadable source."""
    closures = read_sources(manifest)
    plan, problems = [], []
    for module in manifest.modules:
        closure = closures[module.name]
        try:
            jobs = tuple(module_jobs(module, closure))
        except InputError as error:
            problems.append(f"{module.where}: {error}")
        else:
            plan.append(PlannedModule(module=module, closure=closure, jobs=jobs))
    if problems:
        raise ManifestError(problems)
    return tuple(plan)


def job_images(job: CompileJob) -> list[ImageId]:
    """Return what a job's images are called, in the order of its kinds."""
    return [ImageId(job.module, job.image_arch(kind), kind) for kind in job.kinds]


def read_sources(manifest: Manifest) -> dict[str, Closure]:
    """Return each module's source with its header closure. Raises ManifestError with all problems."""
    closures, problems = {}, []
    project = ProjectFiles(manifest.root)
    for module in manifest.modules:
        if module.front_end != "per-arch":
            problems.append(f"{module.where}: front_end '{module.front_end}' is not supported yet; leave it out")
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


def module_jobs(module: Module, closure: Closure) -> list[CompileJob]:
    """Return one job for each real architecture; where its virtual form is listed too, the same compile gives both."""
    kinds: dict[SmArch, list[Kind]] = {}
    for arch in module.arches:
        kinds.setdefault(arch.real, []).append(image_kind(arch, lto=module.options.lto))
    return [
        CompileJob.from_closure(
            closure,
            module=module.name,
            source_path=module.source,
            options=module.options,
            arch=arch,
            kinds=tuple(found),
            names=tuple(name.text for name in (*module.kernels, *module.instances)),
            globals=tuple(name.text for name in module.globals),
        )
        for arch, found in sorted(kinds.items())
    ]


def image_kind(arch: SmArch, *, lto: bool) -> Kind:
    """Return what an architecture's image is: CUBIN for a real one, PTX (or LTO-IR) for a virtual one."""
    if not arch.virtual:
        return "cubin"
    return "ltoir" if lto else "ptx"
