"""The ways a source is tried, and the compiles of each. A worker process: jobs come in as JSON lines, results go out.

A way is a manifest: it is read, planned and compiled as a build does it. To the folders of the list come those in
which ``init`` finds what a source includes. Kernels that are templates have the instances
that ``port`` drafts from the launches that it sees, and the sources that define what one lacks are linked to it, as
``init`` lists them.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.link_faults import undefined_symbols
from hatch_cuda_kernels.compiler.nvrtc import run_job
from hatch_cuda_kernels.compiler.recipe import Recipe
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.compiler.toolchain.installed import load_toolchain
from hatch_cuda_kernels.errors import CompileError, HatchCudaKernelsError
from hatch_cuda_kernels.includes import Project
from hatch_cuda_kernels.manifest import parse_manifest
from hatch_cuda_kernels.options import CppStd, NvrtcOptions
from hatch_cuda_kernels.plan import make_plan
from hatch_cuda_kernels.port import (
    accepted_guesses,
    include_folders,
    list_files,
    other_sources,
    port,
    refused_instances,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.compiler.job import Compiled, CompileJob
    from hatch_cuda_kernels.port import Ported

_DROP: Final = {"host_code": "drop"}
#: The options for all modules that ``port`` drafts besides those that it is given.
_DRAFTED: Final = frozenset({"default_device", "host_code", "host_only"})
_DEVICE: Final = {"default_device": True}


class Way(NamedTuple):
    """One way to compile."""

    what: str
    options: tuple[dict[str, Any], ...] = ({},)
    """Beside ``include``: the first that gives an image with a kernel counts."""
    listed: bool = False
    """With the macros, the standard and the headers before the source of the list, too."""
    drafted: bool = False
    """At last with the options that ``port`` drafts, which changes no file then."""
    ported: bool = False
    """After the patch of ``port``, with the manifest that it drafts."""


WAYS: Final = {
    "a": Way("`source` and `include`, and `instances` of templates"),
    "b": Way(
        "the same with options: `host_code: drop`, `default_device: true` or both, and `define` and `std` where"
        " list.toml has them; where none of these is enough, those that `port --no-patch` drafts",
        (_DROP, _DROP | _DEVICE, _DEVICE),
        listed=True,
        drafted=True,
    ),
    "c": Way("after the patch of `port`, with the manifest that it drafts", listed=True, ported=True),
}


@cache
def _files(root: Path) -> list[str]:
    return list_files(root)


class Attempt(NamedTuple):
    """One compile of a source."""

    kernels: int
    """In the image."""
    log: str = ""
    """Empty where the source compiles."""


def compile_one(job: dict[str, Any]) -> dict[str, Any]:
    """Return how many kernels are in a source's image, and the log of the compile if there is none."""
    start = time.process_time()
    way = WAYS[job["way"]]
    try:
        root = Path(job["root"])
        job = job | {"include": include_folders(root, job["source"], _files(root), job["include"])}
        attempts = [*(_ported(job, way) if way.ported else _unchanged(job, way))]
    except HatchCudaKernelsError as error:
        attempts = [Attempt(0, str(error))]
    best = max(attempts, key=lambda attempt: attempt.kernels)
    best = best if best.kernels else attempts[0]
    found = {"ok": not best.log, "entries": best.kernels, "log": _without_paths(best.log, job)}
    return found | {"cpu": round(time.process_time() - start, 3)}


def _unchanged(job: dict[str, Any], way: Way) -> Iterator[Attempt]:
    """Yield the compiles of the source as it is, until one gives an image with a kernel."""
    ported: Ported | None = None
    for options in way.options:
        for instances in (False, True):
            if instances and ported is None:
                ported = port(Path(job["root"]), [job["source"]], _options(job))
            attempt = _compile(job, way, Path(job["root"]), options, ported if instances else None)
            yield attempt
            if attempt.kernels:
                return
            if attempt.log and not instances:
                break
    if way.drafted:
        yield from _ported(job, way)


def _ported(job: dict[str, Any], way: Way) -> Iterator[Attempt]:
    """Yield the compile of the source after the patch, or with the options that stand for it."""
    root, source = Path(job["root"]), job["source"]
    ported = port(root, [source], _options(job), arch=SmArch.parse(job["arch"]), patch=way.ported)
    module = _module(yaml.safe_load(ported.manifest))
    recipe = Recipe(module="source", sources=tuple(module.get("sources", [source])), options=_options(job))
    with tempfile.TemporaryDirectory() as scratch:
        for folder in job["include"]:
            (Path(scratch) / folder).mkdir(parents=True, exist_ok=True)
        for path in read_recipe(recipe, root, clocks=True).files:
            target = Path(scratch) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(ported.after[path].encode() if path in ported.after else (root / path).read_bytes())
        yield _compile(job, way, Path(scratch), {}, ported)


def _options(job: dict[str, Any]) -> NvrtcOptions:
    define = tuple((name, value) for name, value in job["define"])
    forced = tuple(job.get("pre_include", ()))
    return NvrtcOptions(include=tuple(job["include"]), define=define, std=CppStd(job["std"]), pre_include=forced)


def _module(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return what a drafted manifest says of its module, also by the options that it states for all."""
    (module,) = manifest["modules"].values()
    stated = {key: value for key, value in manifest.get("options", {}).items() if key in _DRAFTED}
    return {**module, "options": {**stated, **module.get("options", {})}}


def _compile(job: dict[str, Any], way: Way, root: Path, options: dict[str, Any], ported: Ported | None) -> Attempt:
    """Return how many kernels the image has of a source below a folder, without instances that NVRTC refuses."""
    drafted = _module(yaml.safe_load(ported.manifest)) if ported else {}
    merged = {**drafted.get("options", {}), "include": job["include"], **options}
    if way.listed:
        merged |= {"std": job["std"], "define": dict(job["define"])}
        merged.setdefault("pre_include", list(job.get("pre_include", ())))
    sources = {} if "sources" in drafted else {"source": job["source"]}
    module = {**drafted, **sources, "options": merged}
    text = json.dumps({"schema": 1, "arches": [job["arch"]], "modules": {"source": module}})
    try:
        (planned,) = make_plan(parse_manifest(text, root=root))
        if planned.finishing:
            return Attempt(len(run_job(planned.finishing[0]).kernels))
        found = planned.jobs[0]
        refused = {} if not found.names or way.ported else refused_instances(Project(root), text, found.arch)
        left = tuple(name for name in found.names if name not in refused)
        if ported and not left and not way.ported:
            tries = {"source": next(iter(ported.guesses.values()), ())}
            left = tuple(accepted_guesses(Project(root), text, found.arch, tries))
        recipe = replace(planned.module.recipe, names=left)
        return Attempt(len(_image(recipe, replace(found, names=left), root).kernels))
    except CompileError as error:
        return Attempt(0, f"{error}\n{error.log}".replace(f"{root}/", ""))
    except HatchCudaKernelsError as error:
        return Attempt(0, str(error).replace(f"{root}/", ""))


def _image(recipe: Recipe, job: CompileJob, root: Path) -> Compiled:
    """Return what a compile gives, together with the other sources of the project that define what it lacks."""
    try:
        return run_job(job)
    except CompileError as error:
        lacking = undefined_symbols(error.log)
        others = other_sources(recipe, Project(root), job.arch, _files(root)) if lacking else None
        if not others:
            raise
        linked = replace(recipe, sources=(*recipe.sources, *others))
        return run_job(linked.job(read_recipe(linked, root), job.arch, ("cubin",)))


def _without_paths(log: str, job: dict[str, Any]) -> str:
    log = log.replace(f"{job['root']}/", "")
    for folder in load_toolchain().include_dirs:
        log = log.replace(f"{folder}/", "toolkit/")
    return log


def main() -> None:
    os.nice(10)
    for line in sys.stdin:
        found = compile_one(json.loads(line))
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
