"""Which images a module's architectures ask for, and which architecture's front end can serve all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hatch_cuda_kernels.compiler.job import CompileJob
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.image import ImageId

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.compiler.finish_job import Job
    from hatch_cuda_kernels.image import Kind

    Kinds: TypeAlias = dict[SmArch, tuple[Kind, ...]]

__all__ = ["image_kind", "job_images", "shared_run", "wanted_kinds"]


def image_kind(arch: SmArch, *, lto: bool) -> Kind:
    """Return what an architecture's image is: CUBIN for a real one, PTX (or LTO-IR) for a virtual one."""
    if not arch.virtual:
        return "cubin"
    return "ltoir" if lto else "ptx"


def wanted_kinds(arches: Iterable[SmArch], *, lto: bool) -> Kinds:
    """Return the kinds of image for each real architecture, ascending."""
    wanted: Kinds = {}
    for arch in sorted(arches):
        wanted[arch.real] = (*wanted.get(arch.real, ()), image_kind(arch, lto=lto))
    return wanted


def job_images(job: Job) -> list[ImageId]:
    """Return what a job's images are called, in the order of its kinds."""
    unit = job.source_path if isinstance(job, CompileJob) and job.is_unit else ""
    return [ImageId(job.module, job.image_arch(kind), kind, unit) for kind in job.kinds]


def shared_run(arches: Iterable[SmArch], rest: Sequence[SmArch], front_end: str) -> SmArch:
    """Return the first architecture whose code serves the ``rest``. Raises InputError where there is none."""
    found = next((arch for arch in arches if all(arch.serves(other) for other in rest)), None)
    if found is None:
        raise InputError(_no_run(front_end, rest))
    return found


def _no_run(front_end: str, archs: Sequence[SmArch]) -> str:
    suffixed = [arch for arch in archs if arch.suffix]
    return (
        f"front_end: {front_end} needs one architecture whose code serves all, and none of {_listed(archs)} does: code "
        f"for {suffixed[0]} goes to no other {'family' if suffixed[0].suffix == 'f' else 'architecture'}; write "
        f"front_end: per-arch, or add {suffixed[0].plain}, whose code has no architecture-specific features"
    )


def _listed(archs: Sequence[SmArch]) -> str:
    return ", ".join(map(str, archs))
