"""Compile what is missing of a plan: the jobs' outcomes as they come, into the disk cache, and what failed."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import closing
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from hatch_cuda_kernels.compiler import CompileJob, FinishInput, FinishJob, entry_of
from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.plan import job_images
from hatch_cuda_kernels.pool.compile_all import compile_on, estimate_seconds
from hatch_cuda_kernels.pool.executors import choose_executor
from hatch_cuda_kernels.pool.failures import FailedJob, find_problems
from hatch_cuda_kernels.pool.fresh import image_keys, input_image
from hatch_cuda_kernels.pool.task import WorkerMismatchError, needed_tools
from hatch_cuda_kernels.pool.turns import Turns
from hatch_cuda_kernels.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Executor

    from hatch_cuda_kernels.cache import DiskCache, Entry
    from hatch_cuda_kernels.compiler import Compiled, Job
    from hatch_cuda_kernels.compiler.toolchain import Toolchain
    from hatch_cuda_kernels.image import ImageId
    from hatch_cuda_kernels.pool.compile_all import Outcomes
    from hatch_cuda_kernels.pool.fresh import Missing

__all__ = ["Compilation", "Progress", "compile_missing"]

_OTHER_HEADERS: Final = "{job} was compiled with other toolkit headers than those here, in a part that has no version"
_OTHER_HEADERS_FIX: Final = "put the same files into the workers' toolkit folders, or into the project"


class Progress(Protocol):
    """What a build tells while it runs."""

    def start(self, jobs: Sequence[Job]) -> None:
        """Say which jobs will be compiled, in the order in which they begin."""

    def done(self, job: Job, seconds: float | None) -> None:
        """Say that a job finished after ``seconds``, or failed (None)."""

    def finish(self) -> None:
        """Say that no more jobs come; called also when the build fails."""


class Compilation(NamedTuple):
    """What compiling the missing images of a plan gave."""

    entries: dict[ImageId, Entry]
    problems: list[Problem]
    """Every failure of the run, for a person to read."""
    failures: list[FailedJob]
    """The jobs that failed, as they did."""
    compiled: frozenset[str]
    """Keys of what was compiled here, and not by another build meanwhile."""


class _NoProgress:
    def start(self, jobs: Sequence[Job]) -> None: ...

    def done(self, job: Job, seconds: float | None) -> None: ...

    def finish(self) -> None: ...


def compile_missing(
    missing: Sequence[Missing],
    fresh: Mapping[ImageId, Entry],
    toolchain: Toolchain,
    cache: DiskCache,
    *,
    executor: Executor | str | None,
    workers: int | None,
    progress: Progress | None,
    warn: Callable[[str], None],
) -> Compilation:
    """Compile what is ``missing`` beside what is fresh, put it into the disk cache, and return it with what failed.

    Raises InputError for an unknown executor in the environment, and ToolchainError for what would end every job alike.
    """
    executor, progress = executor or choose_executor(), progress or _NoProgress()
    jobs = [job for _, jobs in missing for job in jobs]
    modules = {planned.module.name: planned.module for planned, _ in missing}
    keys = {image: key for planned, _ in missing for image, key in image_keys(planned, toolchain).items()}
    entries: dict[ImageId, Entry] = {}
    failures: list[FailedJob] = []
    problems: list[Problem] = []
    compiled: set[str] = set()
    turns = Turns(cache, keys, toolchain)
    cost = _costs(fresh)
    progress.start(sorted(jobs, key=lambda job: (isinstance(job, CompileJob), cost(job)), reverse=True))
    try:
        with closing(_run(jobs, fresh, executor, workers, cost, turns, warn)) as outcomes:
            for job, outcome in outcomes:
                if isinstance(outcome, Exception):
                    turns.end(job, outcome)
                    failures.append(FailedJob(job, outcome))
                    progress.done(job, None)
                    continue
                found = turns.found(job)
                made = _recorded(job, outcome, keys, cache) if found is None else found
                turns.end(job)
                entries |= made
                compiled |= {entry.key for entry in made.values() if found is None}
                progress.done(job, outcome.seconds)
    except (BrokenExecutor, CancelledError) as error:
        problems.append(Problem(f"the executor stopped working: {type(error).__name__} {error}".rstrip()))
    except BuildError as error:
        problems += map(Problem, error.problems)
    finally:
        turns.close()
        progress.finish()
    return Compilation(entries, [*find_problems(failures, modules), *problems], failures, frozenset(compiled))


def _run(
    jobs: Sequence[Job],
    fresh: Mapping[ImageId, Entry],
    executor: Executor | str,
    workers: int | None,
    cost: Callable[[Job], float],
    turns: Turns,
    warn: Callable[[str], None],
) -> Outcomes:
    """Return the jobs' outcomes as they come; those that finish a shared run wait for it, and fail with it."""
    compiles = [job for job in jobs if isinstance(job, CompileJob)]
    finishing = [job for job in jobs if isinstance(job, FinishJob)]
    inputs = {id(front): _cached_input(front, fresh) for job in finishing for front in job.fronts}
    inputs |= {id(job): None for job in compiles}  # cached or not: another of its images is missing
    ready = [job for job in finishing if all(inputs[id(front)] for front in job.fronts)]

    def started(job: FinishJob) -> FinishJob:
        return job.starting_from([found for front in job.fronts if (found := inputs[id(front)]) is not None])

    def follow(front: Job, compiled: Compiled) -> Iterator[FinishJob]:
        mine = [job for job in finishing if any(one is front for one in job.fronts)]
        for job in mine:
            inputs[id(front)] = FinishInput.of(compiled.images[job.input_kind], compiled)
        return (started(job) for job in mine if all(inputs[id(one)] for one in job.fronts))

    return compile_on(
        executor,
        [*compiles, *map(started, ready)],
        workers=workers,
        followers=len(finishing) - len(ready),
        cost=cost,
        follow=follow,
        needed=needed_tools(jobs),
        turns=turns,
        warn=warn,
    )


def _cached_input(front: CompileJob, fresh: Mapping[ImageId, Entry]) -> FinishInput | None:
    entry = fresh.get(input_image(front))
    return None if entry is None else FinishInput.of(entry.image, entry)


def _costs(fresh: Mapping[ImageId, Entry]) -> Callable[[Job], float]:
    """Return what tells the seconds of a job: the longest compile of its module in the disk cache, or else a guess."""
    longest: dict[str, float] = {}
    for image, entry in fresh.items():
        longest[image.module] = max(longest.get(image.module, 0.0), entry.seconds)

    def cost(job: Job) -> float:
        return longest.get(job.module, 0.0) or estimate_seconds(job)

    return cost


def _recorded(job: Job, compiled: Compiled, keys: Mapping[ImageId, str], cache: DiskCache) -> dict[ImageId, Entry]:
    """Put a job's images into the disk cache and return them. Raises ToolchainError for other keys than planned."""
    entries = {image: entry_of(job, image.kind, compiled) for image in job_images(job)}
    for image, entry in entries.items():
        if entry.key != keys[image]:
            raise WorkerMismatchError(_OTHER_HEADERS.format(job=f"{job.module} for {job.arch}"), _OTHER_HEADERS_FIX)
        cache.put(entry)
    return entries
