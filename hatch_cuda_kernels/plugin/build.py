"""The build itself, without any build system: manifest in, store out. The hook and the command line both call it."""

from __future__ import annotations

import os
import time
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hatch_cuda_kernels.cache import Entry, open_cache
from hatch_cuda_kernels.compiler.link_job import LinkJob
from hatch_cuda_kernels.compiler.toolchain import load_toolchain
from hatch_cuda_kernels.errors import BuildError, CompileError
from hatch_cuda_kernels.plugin.built import BuiltModule
from hatch_cuda_kernels.plugin.front_end import arch_warnings
from hatch_cuda_kernels.plugin.plan import ImageId, PlannedModule, job_images, make_plan
from hatch_cuda_kernels.plugin.pool import compile_all
from hatch_cuda_kernels.plugin.promises import Promises
from hatch_cuda_kernels.plugin.release import check_release
from hatch_cuda_kernels.plugin.spills import find_spills
from hatch_cuda_kernels.plugin.store_writer import check_replaceable, write_store
from hatch_cuda_kernels.plugin.stubs import write_stubs
from hatch_cuda_kernels.plugin.supports import find_gaps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from hatch_cuda_kernels.cache import DiskCache
    from hatch_cuda_kernels.compiler.job import Compiled
    from hatch_cuda_kernels.compiler.link_job import Job
    from hatch_cuda_kernels.compiler.toolchain import Toolchain
    from hatch_cuda_kernels.plugin.manifest import Manifest, Module
    from hatch_cuda_kernels.plugin.promises import Gap, Supports

__all__ = ["BuildReport", "Progress", "build_store", "find_fresh"]


class Progress(Protocol):
    """What a build tells while it runs."""

    def start(self, total: int) -> None:
        """Say that ``total`` jobs will be compiled."""

    def done(self, job: Job, seconds: float | None) -> None:
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
    workers: int | None = None,
    progress: Progress | None = None,
    editable: bool = False,
) -> BuildReport:
    """Compile what the disk cache does not hold and write the store to ``out``, which is replaced whole or not touched.

    Raises InputError when ``out`` is a folder but no store, ManifestError for unreadable sources, ToolchainError for a
    missing or wrong NVRTC, BuildError with every failed compile of the run, or every gap in what the images must hold.
    """
    start = time.perf_counter()
    check_replaceable(out)
    plan = make_plan(manifest)
    warnings = check_release(manifest)
    cache, toolchain = open_cache(), load_toolchain()
    keys = planned_keys(plan, toolchain)
    entries = find_fresh(keys, cache)
    known = {image for image, key in keys.items() if key in entries}
    missing = [job for planned in plan for job in _missing(planned, known)]
    compiled = _compile_missing(missing, entries, toolchain, _Run(manifest, cache, workers, progress, warnings))
    entries |= compiled
    modules = tuple(
        BuiltModule.of(planned, [entries[keys[image]] for image in planned.images], toolchain) for planned in plan
    )
    _check(modules, manifest)
    place = _editable(manifest, out) if editable else None
    write_store(out, modules, root=manifest.root, editable=place, promises=Promises.of(manifest))
    write_stubs(manifest, modules)
    return BuildReport(
        modules=modules,
        compiled=frozenset(compiled),
        warnings=(*warnings, *arch_warnings(plan), *_logged(modules)),
        seconds=time.perf_counter() - start,
    )


def planned_keys(plan: tuple[PlannedModule, ...], toolchain: Toolchain) -> dict[ImageId, str]:
    """Return the key of every planned image, also of those that others are only made from."""
    jobs = (job for planned in plan for job in planned.all_jobs)
    return {image: job.key(image.kind, toolchain) for job in jobs for image in job_images(job)}


def find_fresh(keys: dict[ImageId, str], cache: DiskCache) -> dict[str, Entry]:
    """Return the planned images that the disk cache holds already, by key."""
    found = ((key, cache.get(key)) for key in keys.values())
    return {key: entry for key, entry in found if entry is not None}


@dataclass(frozen=True, slots=True)
class _Run:
    """What to compile for, how, and where to say what happened meanwhile."""

    manifest: Manifest
    cache: DiskCache
    workers: int | None
    progress: Progress | None
    warnings: list[str]


def _missing(planned: PlannedModule, known: set[ImageId]) -> list[Job]:
    """Return the jobs that give what is not known; a shared front-end run also where a link needs its image."""
    links = [link for link in planned.links if not known.issuperset(job_images(link))]
    wanted = {*planned.images, *(_input_image(link) for link in links)}
    return [*(job for job in planned.jobs if not known.issuperset(wanted.intersection(job_images(job)))), *links]


def _input_image(link: LinkJob) -> ImageId:
    return ImageId(link.module, link.front.image_arch(link.input_kind), link.input_kind)


def _compile_missing(jobs: Sequence[Job], known: dict[str, Entry], toolchain: Toolchain, run: _Run) -> dict[str, Entry]:
    """Return what the jobs gave, by key: NVRTC's first, because links start from those. Raises BuildError."""
    if run.progress is not None and jobs:
        run.progress.start(len(jobs))
    problems: list[str] = []
    try:
        entries = _compile_all([job for job in jobs if not isinstance(job, LinkJob)], problems, run)
        links = (_with_input(job, known | entries, toolchain) for job in jobs if isinstance(job, LinkJob))
        entries |= _compile_all([link for link in links if link is not None], problems, run)
    finally:
        if run.progress is not None and jobs:
            run.progress.finish()
    if problems:
        raise BuildError(list(dict.fromkeys(problems)))
    return entries


def _compile_all(jobs: Sequence[Job], problems: list[str], run: _Run) -> dict[str, Entry]:
    modules = {module.name: module for module in run.manifest.modules}
    entries: dict[str, Entry] = {}
    with closing(compile_all(jobs, workers=run.workers, warn=run.warnings.append)) as outcomes:
        for job, outcome in outcomes:
            if isinstance(outcome, Exception):
                problems += locate(outcome, modules[job.module])
            else:
                entries |= _keep(job, outcome, run.cache)
            if run.progress is not None:
                run.progress.done(job, None if isinstance(outcome, Exception) else outcome.seconds)
    return entries


def _with_input(link: LinkJob, known: dict[str, Entry], toolchain: Toolchain) -> LinkJob | None:
    """Return a link with the image it starts from; None where that failed, which has been reported."""
    found = known.get(link.front.key(link.input_kind, toolchain))
    if found is None:
        return None
    return link.starting_from(found.image, found)


def _keep(job: Job, compiled: Compiled, cache: DiskCache) -> dict[str, Entry]:
    entries = {}
    for kind in job.kinds:
        entry = Entry.of(job, kind, compiled)
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
    """Raise BuildError with everything the images lack: kernels at all, one signature a name, what is promised."""
    problems = [problem for built in modules for problem in built.problems()]
    if not problems:
        problems = [
            f"{built.planned.module.where}: {gap}" for built in modules for gap in _gaps(built, manifest.supports)
        ]
    if problems:
        raise BuildError(problems)


def _gaps(built: BuiltModule, supports: Supports | None) -> Iterator[Gap]:
    """Yield where a module does not keep the manifest's promises."""
    limit = built.planned.module.max_spill_bytes
    if supports is not None:
        yield from find_gaps(supports, built.kernels, built.images)
    if limit is not None:
        yield from find_spills(limit, built.kernels, built.images)


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
