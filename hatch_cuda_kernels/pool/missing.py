"""What of a plan the disk cache holds, which jobs give the rest, and what these gave. A rebuild needs no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from hatch_cuda_kernels.plan import PlannedModule, job_images

if TYPE_CHECKING:
    from hatch_cuda_kernels.cache import DiskCache, Entry
    from hatch_cuda_kernels.compiler import CompileJob, Job
    from hatch_cuda_kernels.compiler.toolchain import Toolchain
    from hatch_cuda_kernels.errors import Problem
    from hatch_cuda_kernels.image import ImageId

    #: A module, with those of its jobs that are to be done.
    Missing: TypeAlias = tuple[PlannedModule, list[Job]]


class FailedJob(NamedTuple):
    """A job that failed, and how."""

    job: Job
    error: Exception


class Compilation(NamedTuple):
    """The images of a plan, and what compiling those that were missing gave."""

    entries: dict[ImageId, Entry]
    failures: Sequence[FailedJob] = ()
    problems: Sequence[Problem] = ()
    """Every failure of the run, for a person to read."""
    compiled: frozenset[str] = frozenset()
    """Keys of what was compiled here, and not by another build meanwhile."""
    repeats: bool = False
    """Whether the jobs that failed are to be repeated, by another plan."""


def find_fresh(plan: Sequence[PlannedModule], toolchain: Toolchain, cache: DiskCache) -> dict[ImageId, Entry]:
    """Return what the disk cache holds of a plan: its images, and those that only serve to make others."""
    keys = (item for planned in plan for item in image_keys(planned, toolchain).items())
    found = ((image, cache.get(key)) for image, key in keys)
    return {image: entry for image, entry in found if entry is not None}


def image_keys(planned: PlannedModule, toolchain: Toolchain) -> dict[ImageId, str]:
    """Return the key of every image that a module's jobs give."""
    used = planned.toolchain(toolchain)
    return {image: job.key(image.kind, used) for job in planned.all_jobs for image in job_images(job)}


def find_missing(plan: Sequence[PlannedModule], fresh: Mapping[ImageId, Entry]) -> list[Missing]:
    """Return the modules of which something is not fresh, each with the jobs that give it.

    A shared front-end run is among these also if only its image is needed.
    """
    missing: list[Missing] = []
    for planned in plan:
        finishing = [job for job in planned.finishing if not fresh.keys() >= {*job_images(job)}]
        wanted = {*planned.images, *(input_image(front) for job in finishing for front in job.fronts)}
        compiles = [job for job in planned.jobs if not fresh.keys() >= wanted.intersection(job_images(job))]
        missing += [(planned, [*compiles, *finishing])] if compiles or finishing else []
    return missing


def input_image(front: CompileJob) -> ImageId:
    """Return what is finished of a compile: its last image."""
    return job_images(front)[-1]
