"""Compile a plan: which images the disk cache holds, which jobs give the others, and what those gave."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from hatch_cuda_kernels.compiler.link_job import LinkJob
from hatch_cuda_kernels.compiler.record import entry_of
from hatch_cuda_kernels.errors import BuildError, CompileError
from hatch_cuda_kernels.image import ImageId
from hatch_cuda_kernels.names import listed_module
from hatch_cuda_kernels.plan.plan import PlannedModule, job_images
from hatch_cuda_kernels.pool.compile_all import compile_on, estimate_seconds
from hatch_cuda_kernels.pool.task import WorkerMismatchError, needed_tools

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Executor

    from hatch_cuda_kernels.cache import DiskCache, Entry
    from hatch_cuda_kernels.compiler.job import Compiled
    from hatch_cuda_kernels.compiler.link_job import Job
    from hatch_cuda_kernels.compiler.toolchain.installed import Toolchain
    from hatch_cuda_kernels.manifest import Manifest, Module

__all__ = ["Compilation", "Progress", "find_fresh", "missing_jobs", "planned_keys"]

_OTHER_HEADERS: Final = "{job} was compiled with other toolkit headers than are here, of those that have no version"
_OTHER_HEADERS_FIX: Final = "put the same files into the workers' toolkit folders, or into the project"


class Progress(Protocol):
    """What a build tells while it runs."""

    def start(self, total: int) -> None:
        """Say that ``total`` jobs will be compiled."""

    def done(self, job: Job, seconds: float | None) -> None:
        """Say that a job finished after ``seconds``, or failed (None)."""

    def finish(self) -> None:
        """Say that no more jobs come; called also when the build fails."""


def planned_keys(plan: Sequence[PlannedModule], toolchain: Toolchain) -> dict[ImageId, str]:
    """Return the key of every planned image, also of those that others are only made from."""
    keys: dict[ImageId, str] = {}
    for planned in plan:
        used = planned.toolchain(toolchain)
        keys |= {image: job.key(image.kind, used) for job in planned.all_jobs for image in job_images(job)}
    return keys


def find_fresh(keys: dict[ImageId, str], cache: DiskCache) -> dict[str, Entry]:
    """Return the planned images that the disk cache holds already, by key."""
    found = ((key, cache.get(key)) for key in keys.values())
    return {key: entry for key, entry in found if entry is not None}


def missing_jobs(planned: PlannedModule, known: set[ImageId]) -> list[Job]:
    """Return the jobs that give what is not known; a shared front-end run also where a link needs its image."""
    links = [link for link in planned.links if not known.issuperset(job_images(link))]
    wanted = {*planned.images, *map(_input_image, links)}
    return [*(job for job in planned.jobs if not known.issuperset(wanted.intersection(job_images(job)))), *links]


@dataclass(frozen=True, kw_only=True)
class Compilation:
    """One run of a plan's missing jobs: where they run, and where to say what happened meanwhile."""

    manifest: Manifest
    cache: DiskCache
    executor: Executor | str
    workers: int | None
    progress: Progress | None
    warnings: list[str]
    keys: dict[ImageId, str]
    fresh: dict[str, Entry]
    """What the disk cache holds, by key."""

    def run(self, jobs: Sequence[Job]) -> dict[str, Entry]:
        """Return what the jobs gave, by key. Raises BuildError with every failure, or ToolchainError."""
        if self.progress is not None:
            self.progress.start(len(jobs))
        entries: dict[str, Entry] = {}
        problems: list[str] = []
        try:
            self._run(jobs, entries, problems)
        except (BrokenExecutor, CancelledError) as error:
            problems.append(f"the executor stopped working: {type(error).__name__} {error}".rstrip())
        except BuildError as error:
            problems += error.problems
        finally:
            if self.progress is not None:
                self.progress.finish()
        if problems:
            raise BuildError(list(dict.fromkeys(problems)))
        return entries

    def _run(self, jobs: Sequence[Job], entries: dict[str, Entry], problems: list[str]) -> None:
        modules = {module.name: module for module in self.manifest.modules}  # with all the places of their chunks
        links = [job for job in jobs if isinstance(job, LinkJob)]
        # What can start now; the other links wait for the front-end run they share, and come to nothing if that fails.
        compiles = [job for job in jobs if not isinstance(job, LinkJob)]
        fronts = {id(job) for job in compiles}
        alone = [link for link in links if id(link.front) not in fronts]
        ready: list[Job] = [*compiles, *(self._start(link, self.fresh) for link in alone)]

        def follow(job: Job) -> list[Job]:
            return [self._start(link, entries) for link in links if link.front is job]

        recorded = self._recorded()
        outcomes = compile_on(
            self.executor,
            ready,
            workers=self.workers,
            followers=len(jobs) - len(ready),
            cost=lambda job: recorded.get(job.module, 0.0) or estimate_seconds(job),
            follow=follow,
            needed=needed_tools(jobs),
            warn=self.warnings.append,
        )
        with closing(outcomes):
            for job, outcome in outcomes:
                if isinstance(outcome, Exception):
                    problems += locate(outcome, modules[listed_module(job.module)])
                else:
                    entries |= self._keep(job, outcome)
                if self.progress is not None:
                    self.progress.done(job, None if isinstance(outcome, Exception) else outcome.seconds)

    def _recorded(self) -> dict[str, float]:
        """Return the longest compile of each module that the disk cache knows, in seconds."""
        recorded: dict[str, float] = {}
        for image, key in self.keys.items():
            if key in self.fresh:
                recorded[image.module] = max(recorded.get(image.module, 0.0), self.fresh[key].seconds)
        return recorded

    def _start(self, link: LinkJob, known: dict[str, Entry]) -> LinkJob:
        found = known[self.keys[_input_image(link)]]
        return link.starting_from(found.image, found)

    def _keep(self, job: Job, compiled: Compiled) -> dict[str, Entry]:
        entries = {}
        for image in job_images(job):
            entry = entry_of(job, image.kind, compiled)
            if entry.key != self.keys[image]:
                name = f"{job.module} for {job.arch}"
                raise WorkerMismatchError(_OTHER_HEADERS.format(job=name), _OTHER_HEADERS_FIX)
            self.cache.put(entry)
            entries[entry.key] = entry
        return entries


def locate(error: Exception, module: Module) -> list[str]:
    """Return the lines that report a failed job, at the manifest's own line where one name is to blame."""
    if not isinstance(error, CompileError) or not error.bad_names:
        return [f"{module.where}: {error}"]
    written = {name.text: name.where for name in (*module.kernels, *module.instances)}
    written |= {f"&{name.text}": name.where for name in module.globals}
    return [f"{written.get(name, module.where)}: {name!r}: {error}" for name in error.bad_names]


def _input_image(link: LinkJob) -> ImageId:
    return ImageId(link.module, link.front.image_arch(link.input_kind), link.input_kind)
