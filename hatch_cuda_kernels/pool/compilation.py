"""Compile what the disk cache lacks of a plan: which jobs give it, their outcomes into the cache, and what failed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler import CompileJob, FinishInput, FinishJob, entry_of
from hatch_cuda_kernels.errors import BuildError, CompileError, Problem, error_details
from hatch_cuda_kernels.names import spelled_without_archs, without_archs
from hatch_cuda_kernels.plan import job_images
from hatch_cuda_kernels.pool.executors import WorkerMismatchError, choose_executor
from hatch_cuda_kernels.pool.missing import Compilation, FailedJob, image_keys, input_image
from hatch_cuda_kernels.pool.progress import Progress
from hatch_cuda_kernels.pool.schedule import How, Turns, compile_on, estimate_seconds
from hatch_cuda_kernels.terminal import list_text

if TYPE_CHECKING:
    from hatch_cuda_kernels.cache import DiskCache, Entry
    from hatch_cuda_kernels.compiler import Compiled, Job
    from hatch_cuda_kernels.compiler.toolchain import Toolchain
    from hatch_cuda_kernels.image import ImageId
    from hatch_cuda_kernels.manifest import Module
    from hatch_cuda_kernels.pool.missing import Missing
    from hatch_cuda_kernels.pool.schedule import Outcomes


_OTHER_HEADERS: Final = "{job} was compiled with other toolkit headers than those here, in a part that has no version"
_OTHER_HEADERS_FIX: Final = "put the same files into the workers' toolkit folders, or into the project"


def compile_missing(  # noqa: PLR0913 - what a build knows
    missing: Sequence[Missing],
    fresh: Mapping[ImageId, Entry],
    toolchain: Toolchain,
    cache: DiskCache,
    *,
    executor: Executor | str | None,
    workers: int | None,
    progress: Progress | None,
    warn: Callable[[str], None],
    learn: Callable[[Sequence[FailedJob]], bool] = lambda _: False,
) -> Compilation:
    """Compile what is ``missing`` beside what is fresh, put it into the disk cache, and return it with what failed.

    Raises InputError for an unknown executor in the environment, and ToolchainError for what would end every job.
    """
    executor, progress = executor or choose_executor(), progress or Progress()
    jobs = [job for _, jobs in missing for job in jobs]
    modules = {planned.module.name: planned.module for planned, _ in missing}
    keys = {image: key for planned, _ in missing for image, key in image_keys(planned, toolchain).items()}
    entries: dict[ImageId, Entry] = {}
    failures: list[FailedJob] = []
    ends: list[Problem] = []
    compiled: set[str] = set()
    repeats = False
    turns = Turns(cache, keys, toolchain)
    cost = _costs(fresh)
    progress.start(sorted(jobs, key=lambda job: (isinstance(job, CompileJob), cost(job)), reverse=True))
    try:
        with closing(_run(jobs, fresh, executor, workers, cost, turns, warn)) as outcomes:
            for job, outcome in outcomes:
                if isinstance(outcome, Exception):
                    turns.end(job, outcome)
                    failures.append(FailedJob(job, outcome))
                    progress.refused(job)
                    continue
                found = turns.found(job)
                made = _recorded(job, outcome, keys, cache) if found is None else found
                turns.end(job)
                entries |= made
                compiled |= {entry.key for entry in made.values() if found is None}
                progress.done(job, outcome.seconds)
        repeats = bool(failures) and learn(failures)
        for job, _ in () if repeats else failures:
            progress.done(job, None)
    except (BrokenExecutor, CancelledError) as error:
        ends.append(Problem(f"the executor stopped working: {type(error).__name__} {error}".rstrip()))
    except BuildError as error:
        ends += map(Problem, error.problems)
    finally:
        turns.close()
        progress.finish()
    problems = [*find_problems(failures, modules), *ends]  # learning may have changed what the errors say
    return Compilation(entries, failures, problems, frozenset(compiled), repeats)


def _run(
    jobs: Sequence[Job],
    fresh: Mapping[ImageId, Entry],
    executor: Executor | str,
    workers: int | None,
    cost: Callable[[Job], float],
    turns: Turns,
    warn: Callable[[str], None],
) -> Outcomes:
    """Return the jobs' outcomes as they come. Jobs that finish a shared run wait for it, and fail with it."""
    compiles = [job for job in jobs if isinstance(job, CompileJob)]
    finishing = [job for job in jobs if isinstance(job, FinishJob)]
    cached = {id(front): fresh.get(input_image(front)) for job in finishing for front in job.fronts}
    inputs = {key: None if entry is None else FinishInput.of(entry.image, entry) for key, entry in cached.items()}
    inputs |= {id(job): None for job in compiles}  # cached or not: another of its images is missing
    ready, following = list[FinishJob](), list[FinishJob]()
    for job in finishing:
        (ready if all(inputs[id(front)] for front in job.fronts) else following).append(job)

    def started(job: FinishJob) -> FinishJob:
        return job.starting_from([found for front in job.fronts if (found := inputs[id(front)]) is not None])

    def follow(front: Job, compiled: Compiled) -> Iterator[FinishJob]:
        mine = [job for job in finishing if any(one is front for one in job.fronts)]
        for job in mine:
            inputs[id(front)] = FinishInput.of(compiled.images[job.input_kind], compiled)
        return (started(job) for job in mine if all(inputs[id(one)] for one in job.fronts))

    how = How(cost=cost, follow=follow, following=following, turns=turns, warn=warn)
    return compile_on(executor, [*compiles, *map(started, ready)], how, workers=workers)


def _costs(fresh: Mapping[ImageId, Entry]) -> Callable[[Job], float]:
    """Return what estimates the seconds of a job: the longest compile of its module in the disk cache, or a guess."""
    longest: dict[str, float] = {}
    for image, entry in fresh.items():
        longest[image.module] = max(longest.get(image.module, 0.0), entry.seconds)
    return lambda job: longest.get(job.module, 0.0) or estimate_seconds(job)


def _recorded(job: Job, compiled: Compiled, keys: Mapping[ImageId, str], cache: DiskCache) -> dict[ImageId, Entry]:
    """Put a job's images into the disk cache and return them. Raises ToolchainError for other keys than planned."""
    entries = {image: entry_of(job, image.kind, compiled) for image in job_images(job)}
    for image, entry in entries.items():
        if entry.key != keys[image]:
            raise WorkerMismatchError(_OTHER_HEADERS.format(job=f"{job.module} for {job.arch}"), _OTHER_HEADERS_FIX)
        cache.put(entry)
    return entries


def find_problems(failures: Sequence[FailedJob], modules: Mapping[str, Module]) -> list[Problem]:
    """Return the problems of failed jobs, at their modules' places in the manifest or at those of bad names.

    Equal failures of a module's architectures are one problem, and so are those of modules of one entry. A long log is
    kept in a file, which the problem names.
    """
    alike: dict[tuple[str, object], list[FailedJob]] = {}
    for failure in sorted(failures, key=lambda failure: (failure.job.module, failure.job.arch)):
        alike.setdefault((failure.job.module, _said(failure.error)), []).append(failure)
    together: dict[object, list[FailedJob]] = {}
    for (module, said), found in alike.items():
        archs = tuple(failure.job.arch for failure in found)
        together.setdefault((modules[module].where, archs, said), []).extend(found)
    return [problem for found in together.values() for problem in _problems(found, modules[found[0].job.module])]


def _said(error: Exception) -> object:
    """Return what failures have in common that differ in nothing but the module and the architecture."""
    if not isinstance(error, CompileError):
        return str(error)
    said = "\n".join(error.faults) or spelled_without_archs(error.log.replace(error.arch, ""))
    return error.message, without_archs(said), error.bad_names


def _problems(found: Sequence[FailedJob], module: Module) -> Iterator[Problem]:
    error = found[0].error
    if not isinstance(error, CompileError):
        yield Problem(str(error), where=module.where)
        return
    archs = ", ".join(dict.fromkeys(str(failure.job.arch) for failure in found))
    if error.bad_names:
        yield from _name_problems(error, archs, module)
        return
    if len(found) > 1:
        every = [set(one.error.flags) for one in found if isinstance(one.error, CompileError)]
        flags = [flag for flag in error.flags if all(flag in one for one in every)]
        error = CompileError(error.module, archs, error.message, log=error.log, flags=flags, faults=error.faults)
    names = [repr(name) for name in dict.fromkeys(failure.job.module for failure in found)]
    what = f"module{'s' if len(names) > 1 else ''} {list_text(names)} for {archs}"
    yield Problem(f"{what}: {error_details(error, _kept(error))}", where=module.where)


def _name_problems(error: CompileError, archs: str, module: Module) -> Iterator[Problem]:
    """Yield one problem for each place in the manifest and reason; all instances of a pattern share its place."""
    written = {name.text: name.where for name in (*module.kernels, *module.instances)}
    written |= {f"&{name.text}": name.where for name in module.globals}
    places: dict[tuple[str, str], list[str]] = {}
    for number, name in enumerate(error.bad_names):
        fault = error.faults[number] if number < len(error.faults) else error.message
        places.setdefault((written.get(name, module.where), fault), []).append(name)
    for (where, fault), names in places.items():
        others = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield Problem(f"{names[0]!r}{others}, for {archs}: {fault}", where=where)


def _kept(error: CompileError) -> str:
    """Return the file that an error's log was put into, or why it could not be kept."""
    if error_details(error) == error_details(error, ""):  # nothing is left out
        return ""
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", prefix=f"hatch-cuda-kernels-{error.module}-", suffix=".log", delete=False
        ) as file:
            file.write(f"{error.log}\n")
    except OSError as trouble:
        return f"a log that could not be kept: {trouble.strerror}"
    return str(Path(file.name))
