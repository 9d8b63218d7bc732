"""The build itself, without any build system: manifest in, store out. The hook and the command line both call it."""

from __future__ import annotations

import os
import time
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from hatch_cuda_kernels.cache import Entry, open_cache
from hatch_cuda_kernels.compiler.toolchain import load_toolchain
from hatch_cuda_kernels.errors import BuildError, CompileError, ToolchainError
from hatch_cuda_kernels.plugin.built import BuiltModule
from hatch_cuda_kernels.plugin.executors import choose_executor, local_executor, open_executor
from hatch_cuda_kernels.plugin.plan import ImageId, PlannedModule, job_images, make_plan
from hatch_cuda_kernels.plugin.pool import compile_all, estimate_seconds
from hatch_cuda_kernels.plugin.release import check_release
from hatch_cuda_kernels.plugin.store_writer import check_replaceable, clear_leftovers, write_store
from hatch_cuda_kernels.plugin.stubs import write_stubs
from hatch_cuda_kernels.plugin.supports import find_gaps
from hatch_cuda_kernels.plugin.task import WorkerMismatchError, needed_tools

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from contextlib import AbstractContextManager
    from pathlib import Path

    from hatch_cuda_kernels.cache import DiskCache
    from hatch_cuda_kernels.compiler.job import Compiled, CompileJob
    from hatch_cuda_kernels.compiler.toolchain import Toolchain
    from hatch_cuda_kernels.plugin.manifest import Manifest, Module

__all__ = ["BuildReport", "Progress", "build_store", "find_fresh"]

_OTHER_HEADERS: Final = "{job} was compiled with other toolkit headers than are here, of those that have no version"
_OTHER_HEADERS_FIX: Final = "put the same files into the workers' toolkit folders, or into the project"


class Progress(Protocol):
    """What a build tells while it runs."""

    def start(self, total: int) -> None:
        """Say that ``total`` jobs will be compiled."""

    def done(self, job: CompileJob, seconds: float | None) -> None:
        """Say that a job finished after ``seconds``, or failed (None)."""

    def finish(self) -> None:
        """Say that no more jobs come; called also when the build fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """What a build made: every module with its images, which of them were compiled now, and how long it took."""

    modules: tuple[BuiltModule, ...]
    compiled: frozenset[str]
    """Keys compiled in this build; the rest came from the disk cache."""
    warnings: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        from hatch_cuda_kernels.plugin.progress import render_report  # noqa: PLC0415 - only to show it

        return "\n".join((*self.warnings, render_report(self)))


def build_store(
    manifest: Manifest,
    out: Path,
    *,
    executor: Executor | str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    editable: bool = False,
) -> BuildReport:
    """Compile what the disk cache does not hold and write the store to ``out``, which is replaced whole or not touched.

    ``executor`` is one of ``concurrent.futures``, which is left open, or ``process`` or ``dask:ADDRESS``; None takes
    what the environment says, else ``process``. ``workers`` bounds the processes on this machine only.

    Raises InputError when ``out`` is a folder but no store, ManifestError for unreadable sources, ToolchainError for a
    missing or wrong NVRTC here or in a worker, BuildError with every failed compile of the run, or every gap in what
    the images must hold.
    """
    start = time.perf_counter()
    clear_leftovers(out)
    check_replaceable(out)
    executor = executor or choose_executor()
    plan = make_plan(manifest)
    warnings = check_release(manifest)
    cache, toolchain = open_cache(), load_toolchain()
    keys = planned_keys(plan, toolchain)
    entries = find_fresh(keys, cache)
    known = {image for image, key in keys.items() if key in entries}
    missing = [job for planned in plan for job in planned.jobs if not known.issuperset(job_images(job))]
    run = _Run(executor, workers, progress, warnings, keys, _recorded(keys, entries))
    compiled = _compile_missing(missing, manifest, cache, run) if missing else {}
    entries |= compiled
    modules = tuple(
        BuiltModule.of(planned, [entries[keys[image]] for image in planned.images], toolchain) for planned in plan
    )
    _check(modules, manifest)
    write_store(out, modules, root=manifest.root, editable=_editable(manifest, out) if editable else None)
    write_stubs(manifest, modules)
    return BuildReport(
        modules=modules,
        compiled=frozenset(compiled),
        warnings=(*warnings, *_logged(modules)),
        seconds=time.perf_counter() - start,
    )


def planned_keys(plan: tuple[PlannedModule, ...], toolchain: Toolchain) -> dict[ImageId, str]:
    """Return the key of every planned image."""
    jobs = (job for planned in plan for job in planned.jobs)
    return {image: job.key(image.kind, toolchain) for job in jobs for image in job_images(job)}


def find_fresh(keys: dict[ImageId, str], cache: DiskCache) -> dict[str, Entry]:
    """Return the planned images that the disk cache holds already, by key."""
    found = ((key, cache.get(key)) for key in keys.values())
    return {key: entry for key, entry in found if entry is not None}


@dataclass(frozen=True, slots=True)
class _Run:
    """How to compile, and where to say what happened meanwhile."""

    executor: Executor | str
    workers: int | None
    progress: Progress | None
    warnings: list[str]
    keys: dict[ImageId, str]
    recorded: dict[str, float]
    """Seconds that a module took for other architectures."""

    def cost(self, job: CompileJob) -> float:
        """Return how long a job will take, in seconds."""
        return self.recorded.get(job.module) or estimate_seconds(job)

    def open(self, jobs: list[CompileJob]) -> AbstractContextManager[Executor]:
        """Open the executor for these jobs; what still runs on it afterwards is ended."""
        local = partial(local_executor, [self.cost(job) for job in jobs], self.workers)
        return open_executor(self.executor, needed_tools(jobs), local=local, warn=self.warnings.append)


def _recorded(keys: dict[ImageId, str], entries: dict[str, Entry]) -> dict[str, float]:
    """Return the longest compile of each module that the disk cache knows."""
    recorded: dict[str, float] = {}
    for image, key in keys.items():
        if key in entries:
            recorded[image.module] = max(recorded.get(image.module, 0.0), entries[key].seconds)
    return recorded


def _compile_missing(jobs: list[CompileJob], manifest: Manifest, cache: DiskCache, run: _Run) -> dict[str, Entry]:
    modules = {module.name: module for module in manifest.modules}
    entries: dict[str, Entry] = {}
    problems: list[str] = []
    if run.progress is not None:
        run.progress.start(len(jobs))
    try:
        with (
            run.open(jobs) as executor,
            closing(compile_all(jobs, executor, cost=run.cost, warn=run.warnings.append)) as outcomes,
        ):
            for job, outcome in outcomes:
                if isinstance(outcome, ToolchainError | BrokenExecutor | CancelledError):
                    raise outcome  # the same for every other job
                if isinstance(outcome, Exception):
                    problems += locate(outcome, modules[job.module])
                else:
                    entries |= _keep(job, outcome, cache, run.keys)
                if run.progress is not None:
                    run.progress.done(job, None if isinstance(outcome, Exception) else outcome.seconds)
    except (BrokenExecutor, CancelledError) as error:
        problems.append(f"the executor stopped working: {type(error).__name__} {error}".rstrip())
    except BuildError as error:
        problems += error.problems
    finally:
        if run.progress is not None:
            run.progress.finish()
    if problems:
        raise BuildError(list(dict.fromkeys(problems)))
    return entries


def _keep(job: CompileJob, compiled: Compiled, cache: DiskCache, keys: dict[ImageId, str]) -> dict[str, Entry]:
    entries = {}
    for image in job_images(job):
        entry = Entry.of(job, image.kind, compiled)
        if entry.key != keys[image]:
            raise WorkerMismatchError(_OTHER_HEADERS.format(job=f"{job.module} for {job.arch}"), _OTHER_HEADERS_FIX)
        cache.put(entry)
        entries[entry.key] = entry
    return entries


def locate(error: Exception, module: Module) -> list[str]:
    """Return the lines that report a failed job, at the manifest's own line where one name is to blame."""
    if not isinstance(error, CompileError) or not error.bad_names:
        return [f"{module.where}: {error}"]
    written = {name.text: name.where for name in (*module.kernels, *module.instances)}
    written |= {f"&{name.text}": name.where for name in module.globals}
    return [f"{written.get(name, module.where)}: {name!r}: {error}" for name in error.bad_names]


def _check(modules: tuple[BuiltModule, ...], manifest: Manifest) -> None:
    """Raise BuildError with everything the images lack: kernels at all, one signature a name, promised devices."""
    problems = [problem for built in modules for problem in built.problems()]
    if manifest.supports is not None and not problems:
        problems = [
            f"{built.planned.module.where}: {gap}"
            for built in modules
            for gap in find_gaps(manifest.supports, built.kernels, built.images)
        ]
    if problems:
        raise BuildError(problems)


def _editable(manifest: Manifest, out: Path) -> dict[str, str]:
    """Return where the project is from the store, by their real places: a link may lead to either."""
    return {
        "root": os.path.relpath(os.path.realpath(manifest.root), os.path.realpath(out)).replace(os.sep, "/"),
        "manifest": manifest.path.name,
        "manifest_sha256": manifest.sha256,
    }


def _logged(modules: tuple[BuiltModule, ...]) -> list[str]:
    """Return each module's compiler warnings, once where every architecture says the same."""
    logs = (
        f"module {built.planned.module.name!r}: {entry.log}"
        for built in modules
        for entry in built.entries
        if entry.log
    )
    return list(dict.fromkeys(logs))
