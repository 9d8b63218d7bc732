"""The build itself, without any build system: manifest in, store out. The hook and the command line both call it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from hatch_cuda_kernels.build_report import BuildReport
from hatch_cuda_kernels.cache import open_cache
from hatch_cuda_kernels.compiler.toolchain.installed import find_toolchain
from hatch_cuda_kernels.errors import BuildError, InputError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.names import listed_module
from hatch_cuda_kernels.plan.notes import arch_warnings
from hatch_cuda_kernels.plan.plan import make_plan
from hatch_cuda_kernels.plan.release import check_release
from hatch_cuda_kernels.pool.compilation import Compilation, find_fresh, missing_jobs, planned_keys
from hatch_cuda_kernels.pool.executors import choose_executor
from hatch_cuda_kernels.pool.progress import open_progress
from hatch_cuda_kernels.store.index import STORE_FOLDER
from hatch_cuda_kernels.store.promises.spills import find_spills
from hatch_cuda_kernels.store.promises.supports import find_gaps
from hatch_cuda_kernels.store.writer import check_replaceable, clear_leftovers, write_store
from hatch_cuda_kernels.stubs.stub_file import write_stubs
from hatch_cuda_kernels.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

    from hatch_cuda_kernels.manifest import Manifest
    from hatch_cuda_kernels.pool.compilation import Progress
    from hatch_cuda_kernels.store.built import BuiltModule
    from hatch_cuda_kernels.store.promises.model import Gap, Promises

__all__ = ["build_kernels", "build_store"]


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
    plan = make_plan(manifest)
    warnings = check_release(manifest)
    cache, toolchain = open_cache(), find_toolchain()
    keys = planned_keys(plan, toolchain)
    entries = find_fresh(keys, cache)
    known = {image for image, key in keys.items() if key in entries}
    compilation = Compilation(
        manifest=manifest,
        cache=cache,
        executor=executor or choose_executor(),
        workers=workers,
        progress=progress,
        warnings=warnings,
        keys=keys,
        fresh=dict(entries),
    )
    missing = [job for planned in plan for job in missing_jobs(planned, known)]
    compiled = compilation.run(missing) if missing else {}
    entries |= compiled
    modules = tuple(planned.built([entries[keys[image]] for image in planned.images], toolchain) for planned in plan)
    _check(modules, manifest)
    place = _editable(manifest, out) if editable else None
    write_store(out, modules, root=manifest.root, editable=place, promises=manifest.promises)
    write_stubs(manifest, modules)
    return BuildReport(
        modules=modules,
        compiled=frozenset(compiled),
        warnings=(*warnings, *arch_warnings(plan), *_logged(modules)),
        seconds=time.perf_counter() - start,
    )


def _check(modules: tuple[BuiltModule, ...], manifest: Manifest) -> None:
    """Raise BuildError with everything the images lack: kernels at all, one signature a name, what is promised."""
    problems = [problem for built in modules for problem in built.problems()]
    if not problems:
        problems = [f"{built.where}: {gap}" for built in modules for gap in _gaps(built, manifest.promises)]
    if problems:
        raise BuildError(problems)


def _gaps(built: BuiltModule, promises: Promises) -> Iterator[Gap]:
    """Yield where a module does not keep the manifest's promises."""
    limit = promises.max_spill_bytes.get(listed_module(built.name))
    if promises.supports is not None:
        yield from find_gaps(promises.supports, built.kernels, built.images)
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
        f"module {built.name!r}: {printable(entry.log, lines=True)}"
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
    """Compile a manifest and put the store into a package's folder, where the run side looks for it.

    ``package`` is the folder that becomes the import package: in the build tree for a wheel, in the source tree for an
    editable install, where ``editable`` makes an edited source count. ``jobs`` is the most compiles at a time on this
    machine. ``executor`` is one of ``concurrent.futures``, which is left open, or a name as in the hook's option.
    Raises InputError for a folder that is not there, and what ``build_store`` raises.
    """
    folder = Path(package).absolute()
    if not folder.is_dir():
        raise InputError(f"there is no package folder {folder}; build the package's modules first")
    loaded = load_manifest(manifest)
    return build_store(
        loaded, folder / STORE_FOLDER, executor=executor, workers=jobs, progress=open_progress(), editable=editable
    )
