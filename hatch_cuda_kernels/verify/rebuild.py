"""The check that the shipped sources, compiled again, give every byte of the store."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from hatch_cuda_kernels import store
from hatch_cuda_kernels.compiler import CompileJob, FinishInput, FinishJob, entry_of
from hatch_cuda_kernels.compiler.toolchain import (
    missing_bindings,
    pip_install,
    reinstall_option,
    toolchain_requirements,
)
from hatch_cuda_kernels.errors import BuildError, HatchCudaKernelsError, InputError, Problem, StoreError, ToolchainError
from hatch_cuda_kernels.names import build_order
from hatch_cuda_kernels.plan import lay_out_jobs
from hatch_cuda_kernels.verify.subject import REBUILD, Outcome, StoredImage, Subject, grouped

if TYPE_CHECKING:
    from hatch_cuda_kernels.cache import Entry
    from hatch_cuda_kernels.compiler import Compiled, Job
    from hatch_cuda_kernels.compiler.toolchain import Toolchain
    from hatch_cuda_kernels.image import Kind


_SHIPPED: Final = "shipped"
_REBUILT: Final = "rebuilt"
_PACKED: Final = "; its images are right, so this liblzma may differ from the build's"


@dataclass(frozen=True, slots=True)
class _RebuiltModule:
    index: store.ModuleIndex
    entries: tuple[Entry, ...]
    """Its images, in the order of the index."""
    toolchain: Toolchain


def _compare_stores(subject: Subject, modules: Sequence[_RebuiltModule]) -> Iterator[Problem]:
    """Write the store again, from all its modules, and yield each file that is not, byte for byte, the shipped one.

    Raises InputError if the folder to keep both stores in cannot be written.
    """
    keep, shipped = subject.demands.keep, subject.reader.folder
    with ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hatch-cuda-kernels-")))
        try:
            if keep is not None:
                shutil.copytree(shipped, keep / _SHIPPED)
            _write(subject, modules, folder / _REBUILT)
        except BuildError as error:
            yield Problem(f"the store cannot be written again: {error}", _comparison_command(subject))
        except OSError as error:
            raise InputError(f"{folder} cannot hold both stores: {error}; name a new folder") from error
        else:
            one, other = (
                {path.relative_to(one).as_posix(): path.read_bytes() for path in one.rglob("*") if path.is_file()}
                for one in (shipped, folder / _REBUILT)
            )
            differing = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
            for name in [name for name in differing if name != store.DIGESTS_FILE] or differing:
                place, inside, _ = name.partition("/")
                message = (
                    f"{name} is not what the shipped sources give{_PACKED if name.endswith(store.PACK_FILE) else ''}"
                )
                module = place if inside and place != store.SOURCE_FOLDER else ""
                yield Problem(message, _comparison_command(subject), module)


def _write(subject: Subject, modules: Sequence[_RebuiltModule], out: Path) -> None:
    """Write the store as a build does: from one project, which has the sources of all modules."""
    ordered = sorted(modules, key=lambda module: build_order(module.index.module))
    with tempfile.TemporaryDirectory(prefix="hatch-cuda-kernels-") as project:
        for root in {subject.reader.source_root(module.index.module) for module in ordered}:
            shutil.copytree(root, project, dirs_exist_ok=True)
        built = [_build_module(subject, module) for module in ordered]
        index = ordered[0].index  # what modules of one store have in common
        promises, editable, schema = subject.promises, index.editable, index.schema
        folder = Path(project)
        read = lambda name: (folder / name).read_bytes()  # noqa: E731 - as short as it can be
        store.write_store(out, built, read=read, editable=editable, promises=promises, schema=schema)


def _build_module(subject: Subject, module: _RebuiltModule) -> store.BuiltModule:
    index = module.index
    recipe = store.recipe_of(index, index.names)
    details = subject.reader.details(index.module)
    sources = replace(store.read_shipped(subject.reader, index, recipe), levels=details.levels)
    pack = f"{index.module}/{store.PACK_FILE}"
    packed = any(image.stored and image.stored.file == pack for image in index.images)
    return store.BuiltModule.of(
        module.entries,
        recipe=recipe,
        toolchain=module.toolchain,
        sources=sources,
        units=recipe.units(sources),
        libraries=recipe.load_libraries(sources),
        front_end=index.front_end,
        packing="solid" if packed else "none",
        patterns=index.patterns,
        launch=tuple(map(store.LaunchRule.from_json, index.launch)),
        where=index.module,
        family=index.family,
        axes=index.axes,
        packages=index.packages,
        others=details.family,
    )


def _comparison_command(subject: Subject) -> str:
    if subject.demands.keep is not None:
        return f"see what differs: diff -r {subject.demands.keep / _SHIPPED} {subject.demands.keep / _REBUILT}"
    package = subject.wheel or subject.reader.label
    return (
        f"see what differs: hatch-cuda-kernels verify {package} --rebuild --keep DIR; diff -r DIR/shipped DIR/rebuilt"
    )


_FIX = "find out whether the source or the image changed, then build the wheel again"


class _Recompile(NamedTuple):
    job: Job
    images: tuple[StoredImage, ...]


if TYPE_CHECKING:
    _Done: TypeAlias = tuple[_Recompile, Compiled | Exception]


def check_rebuild(subject: Subject) -> Outcome:
    """Check that every file is, byte for byte, what the recorded toolchain makes of the shipped sources."""
    if not subject.demands.rebuild:
        return Outcome.skip("only with --rebuild")
    from hatch_cuda_kernels.compiler.toolchain import load_toolchain  # loads NVRTC

    try:
        toolchain = load_toolchain()
    except ToolchainError as error:
        return Outcome.of(0, "images", [_no_compiler(error)])
    plan: list[_Recompile] = []
    problems: list[Problem] = []
    done: list[_Done] = []
    for index in subject.modules:
        again = _plan(subject, index)
        refusal = again if isinstance(again, Problem) else _refusal(index, again, toolchain)
        problems += [refusal] if refusal is not None else []
        plan += again if refusal is None and not isinstance(again, Problem) else []
    try:
        done = _compile(plan)
    except ToolchainError as error:
        problems.append(_no_compiler(error))
    problems += [
        image.problem(difference, _FIX)
        for again, outcome in done
        for image in again.images
        if (difference := _difference(image, outcome))
    ]
    if not problems:
        rebuilt = [*_rebuild_modules(subject, done, toolchain)]
        names = {index.module for index in subject.modules} | subject.unread
        left_out = sorted(names - {module.index.module for module in rebuilt})
        if left_out or not rebuilt:
            message = "not every image was compiled again: no file was compared"
            problems.append(Problem(message, REBUILD, ", ".join(left_out)))
        else:
            problems += _compare_stores(subject, rebuilt)
    return Outcome.of(sum(len(again.images) for again in plan), "images compiled again", problems)


def _no_compiler(error: ToolchainError) -> Problem:
    return Problem(f"the sources cannot be compiled again: {error.message}", error.fix)


def _plan(subject: Subject, index: store.ModuleIndex) -> list[_Recompile] | Problem:
    images = [image for image in subject.module_images[index.module] if image.data is not None]
    recipe = store.recipe_of(index, index.names)
    try:
        sources = store.read_shipped(subject.reader, index, recipe)
        jobs, finishing = lay_out_jobs(recipe, sources, [record.arch for record in index.images], index.front_end)
    except ToolchainError as error:
        return _no_compiler(error)._replace(where=index.module)
    except (InputError, StoreError) as error:
        return Problem(f"the shipped source cannot be compiled again: {error}", REBUILD, index.module)
    every: tuple[Job, ...] = (*jobs, *finishing)
    return [
        _Recompile(
            job, tuple(one for one in images if one.record.arch.real == job.arch and one.record.kind in job.kinds)
        )
        for job in every
    ]


def _refusal(index: store.ModuleIndex, plan: list[_Recompile], toolchain: Toolchain) -> Problem | None:
    """Return what to install if the toolchain here is not the one that compiled a module."""
    if not plan:
        return None
    last = plan[-1].job  # one that finishes a shared run, if any does: its finisher contributes to the module
    here = last.toolchain(toolchain).to_json()
    if here == index.toolchain:
        return None
    message = f"was compiled by {_toolchain_text(index.toolchain)}, but the toolchain here is {_toolchain_text(here)}"
    nvrtc = index.toolchain["nvrtc"]
    bindings = missing_bindings(int(nvrtc.partition(".")[0]))
    others = (index.toolchain.get(name, "") for name in ("nvjitlink", "headers", "ptxas", "cudadevrt"))
    tools = toolchain_requirements(nvrtc, *others)
    return Problem(message, pip_install(*bindings, *tools, options=reinstall_option(here.values())), index.module)


def _toolchain_text(toolchain: dict[str, str]) -> str:
    named = (
        f"{name} {toolchain[name]}" for name in ("nvrtc", "nvjitlink", "ptxas", "cudadevrt") if toolchain.get(name)
    )
    return ", ".join(filter(None, (*named, toolchain.get("headers", ""))))


def _compile(plan: list[_Recompile]) -> list[_Done]:
    """Run the jobs, finishing jobs last, and return what each gave."""
    jobs = {id(again.job): again.job for again in plan}
    outcomes = _outcomes({name: job for name, job in jobs.items() if isinstance(job, CompileJob)})
    ready: dict[int, Job] = {}
    for name, job in jobs.items():
        if isinstance(job, FinishJob):
            fronts = [outcomes[id(front)] for front in job.fronts]
            made = [front for front in fronts if not isinstance(front, Exception)]
            if len(made) == len(fronts):
                ready[name] = job.starting_from([FinishInput.of(one.images[job.input_kind], one) for one in made])
            else:
                outcomes[name] = next(front for front in fronts if isinstance(front, Exception))
    outcomes |= _outcomes(ready)
    return [(again, outcomes[id(again.job)]) for again in plan]


def _outcomes(jobs: dict[int, Job]) -> dict[int, Compiled | Exception]:
    from hatch_cuda_kernels.pool import choose_executor, compile_on  # needs NVRTC, which the other checks do without

    names = {id(job): name for name, job in jobs.items()}
    with closing(compile_on(choose_executor(), [*jobs.values()])) as done:
        return {names[id(job)]: outcome for job, outcome in done}


def _rebuild_modules(subject: Subject, done: list[_Done], toolchain: Toolchain) -> Iterator[_RebuiltModule]:
    """Yield each module whose images were all compiled again, with what a store keeps of it."""
    by_module = grouped((again.job.module, (again, outcome)) for again, outcome in done)
    for index in subject.modules:
        mine = by_module[index.module]
        entries = {
            image.record.file: entry_of(again.job, image.record.kind, outcome)
            for again, outcome in mine
            if not isinstance(outcome, Exception)
            for image in again.images
        }
        if entries.keys() == {record.file for record in index.images}:
            listed = tuple(entries[record.file] for record in index.images)
            yield _RebuiltModule(index, listed, mine[-1][0].job.toolchain(toolchain))


def _difference(image: StoredImage, outcome: Compiled | Exception) -> str:
    if isinstance(outcome, Exception):
        if not isinstance(outcome, HatchCudaKernelsError):
            raise outcome
        return f"the shipped source does not compile: {outcome}"
    kind: Kind = image.record.kind
    shipped, made = image.data or b"", outcome.images[kind]
    if len(shipped) != len(made):
        return f"has {len(shipped)} bytes, but the shipped source gives {len(made)}"
    different = [at for at, pair in enumerate(zip(shipped, made, strict=True)) if pair[0] != pair[1]]
    if different:
        amount = f"{len(different)} of {len(made)} bytes"
        return f"{amount} differ from what the shipped source gives, the first at {different[0]}"
    return ""
