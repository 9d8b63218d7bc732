"""The build itself, without a build system: manifest in, store out. The hook and the command line both call it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from hatch_cuda_kernels.cache import open_cache
from hatch_cuda_kernels.compiler.toolchain import find_toolchain
from hatch_cuda_kernels.daemon_executor import DaemonThreads
from hatch_cuda_kernels.errors import BuildError, HatchCudaKernelsError, InputError, Problem
from hatch_cuda_kernels.includes import ProjectFiles
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.names import spelled_without_archs
from hatch_cuda_kernels.plan import PlannedModule, arch_warnings, check_release, learn, make_plan, open_reader
from hatch_cuda_kernels.pool import Compilation, find_fresh, find_missing, open_progress
from hatch_cuda_kernels.store import STORE_FOLDER, check_built, prepare_place, read_blocks, write_store
from hatch_cuda_kernels.terminal import count_text, printable, text_table, wrap

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from hatch_cuda_kernels.cache import Entry
    from hatch_cuda_kernels.compiler import SourceReader
    from hatch_cuda_kernels.manifest import Manifest
    from hatch_cuda_kernels.pool import Progress
    from hatch_cuda_kernels.store import BuiltModule


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """What a build made: every module with its images, which of them were compiled now, and how long it took."""

    modules: tuple[BuiltModule, ...]
    compiled: frozenset[str]
    """Keys compiled in this build; the rest came from the disk cache."""
    warnings: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        return "\n".join((*self.warnings, render_report(self)))


def render_report(report: BuildReport) -> str:
    """Return the table of a build as text: one line for each image, and the totals."""
    entries = [entry for built in report.modules for entry in built.entries]
    headings = ("module", "arch", "kind", "bytes", "registers", "spills", "ms")
    rows = [
        (*_describe(one), f"{one.seconds * 1000:.0f}" if one.key in report.compiled else "cached") for one in entries
    ]
    cached = sum(entry.key not in report.compiled for entry in entries)
    total = sum(len(entry.image) for entry in entries)
    summary = (
        f"{count_text(len(entries), 'image')} of {count_text(len(report.modules), 'module')}, {total:,} bytes: "
        f"{len(entries) - cached} compiled, {cached} from the cache, in {report.seconds:.2f} s"
    )
    cut = dict.fromkeys(filter(None, (built.recipe.cut_sentence(built.sources) for built in report.modules)))
    return "\n".join((text_table(headings, rows, right=headings[3:]), *(wrap(line, 2) for line in cut), summary))


def _describe(entry: Entry) -> tuple[str, ...]:
    registers = spills = ""
    if entry.kind == "cubin":
        found = entry.resources.values()
        registers = str(max((kernel.get("registers", 0) for kernel in found), default=""))
        spills = str(
            max((kernel.get("spill_stores", 0) + kernel.get("spill_loads", 0) for kernel in found), default="")
        )
    return entry.module, str(entry.arch), entry.kind, f"{len(entry.image):,}", registers, spills


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

    ``executor`` is one of ``concurrent.futures``, which is left open, or ``process`` or ``dask:ADDRESS``; None stands
    for the environment's choice, else ``process``. ``workers`` limits the processes on this machine only.

    Raises InputError when ``out`` is a folder that is not a store, ManifestError for unreadable sources, ToolchainError
    for a missing or wrong NVRTC here or in a worker, and BuildError with every failed compile of the run, or with every
    problem of the images.
    """
    start = time.perf_counter()
    prepare_place(out)
    # While the sources are read: lzma runs without the GIL.
    before = None if editable else DaemonThreads(1).submit(read_blocks, out)
    reader = open_reader(manifest)
    first = make_plan(manifest, reader)
    warnings = [*check_release(manifest), *arch_warnings(first)]
    plan, done = compile_images(first, manifest, reader, warnings.append, executor, workers, progress)
    toolchain = find_toolchain()
    modules = tuple(one.built(done.entries, toolchain) for one in plan if done.entries.keys() >= {*one.images})
    problems = [*done.problems, *check_built(modules, manifest.promises)]
    if problems:
        raise BuildError(list(dict.fromkeys(map(str, sorted(problems, key=Problem.place)))))
    blocks = before.result() if before else None
    place = _editable_place(manifest, out) if editable else None
    read = ProjectFiles(manifest.root).read
    write_store(out, modules, read=read, editable=place, promises=manifest.promises, before=blocks)
    if manifest.stubs is not None:
        from hatch_cuda_kernels.stubs import write_stubs  # few manifests ask for them

        write_stubs(manifest, modules)
    return BuildReport(
        modules=modules,
        compiled=done.compiled,
        warnings=(*warnings, *_log_warnings(modules)),
        seconds=time.perf_counter() - start,
    )


def compile_images(
    plan: Sequence[PlannedModule],
    manifest: Manifest,
    reader: SourceReader,
    warn: Callable[[str], None],
    executor: Executor | str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> tuple[Sequence[PlannedModule], Compilation]:
    """Compile what the disk cache lacks of a manifest's plan; return the plan with all its images, and what failed.

    Host code that NVRTC refuses is cut, and the plan is made again. Raises ToolchainError for a missing or wrong NVRTC
    here or in a worker.
    """
    toolchain, cache = find_toolchain(), open_cache()
    known = find_fresh(plan, toolchain, cache)
    done = Compilation(known)
    while missing := find_missing(plan, known):
        from hatch_cuda_kernels.pool import compile_missing  # a rebuild needs none of it

        compile_now = partial(compile_missing, executor=executor, workers=workers, progress=progress)
        learns = partial(learn, plan, reader=reader)
        made = compile_now(missing, known, toolchain, cache, warn=warn, learn=learns)
        done = made._replace(entries={**known, **made.entries}, compiled=made.compiled | done.compiled)
        if not made.repeats:
            return plan, done
        plan = make_plan(manifest, reader)
        known = {**find_fresh(plan, toolchain, cache), **made.entries}
    return plan, Compilation(known, compiled=done.compiled)


def _editable_place(manifest: Manifest, out: Path) -> dict[str, str]:
    """Return where the project is, relative to the store; symbolic links to either are resolved."""
    return {
        "root": os.path.relpath(os.path.realpath(manifest.root), os.path.realpath(out)).replace(os.sep, "/"),
        "manifest": manifest.path.name,
        "manifest_sha256": manifest.sha256,
    }


def _log_warnings(modules: tuple[BuiltModule, ...]) -> list[str]:
    """Return each module's compiler warnings, once if every architecture gives the same ones."""
    logs = (
        f"module {built.name!r}: {printable(spelled_without_archs(entry.log), lines=True)}"
        for built in modules
        for entry in built.entries
        if entry.log
    )
    return list(dict.fromkeys(logs))


def build_kernels(
    manifest: Path | str,
    package: Path | str,
    *,
    jobs: int | None = None,
    executor: Executor | str | None = None,
    editable: bool = False,
) -> BuildReport:
    """Compile a manifest and put the store into a package's folder, where the package looks for it at run time.

    ``package`` is the folder that becomes the import package: in the build tree for a wheel, in the source tree for an
    editable install, where ``editable`` makes edited sources take effect. ``jobs`` limits the parallel compiles on this
    machine. ``executor`` is one of ``concurrent.futures``, which is left open, or a name as in the hook's option.
    Raises InputError if the folder does not exist, and what ``build_store`` raises; in setup.py, the error is also one
    of setuptools, which shows it without a traceback.
    """
    folder = Path(package).absolute()
    try:
        if not folder.is_dir():
            raise InputError(f"the package folder {folder} does not exist; build the package's modules first")
        loaded, out, progress = load_manifest(manifest), folder / STORE_FOLDER, open_progress()
        return build_store(loaded, out, executor=executor, workers=jobs, progress=progress, editable=editable)
    except HatchCudaKernelsError as error:
        if "setuptools" not in sys.modules:
            raise
        kind: type[HatchCudaKernelsError] = type(error)
        base: type[Exception] = import_module("setuptools.errors").BaseError
        raise type(kind.__name__, (kind, base), {})(*error.args) from None
