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
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.job import Recipe
from hatch_cuda_kernels.compiler.nvrtc import run_job
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.errors import CompileError, HatchCudaKernelsError
from hatch_cuda_kernels.manifest import list_files, parse_manifest
from hatch_cuda_kernels.options import CppStd, NvrtcOptions
from hatch_cuda_kernels.plan import make_plan
from hatch_cuda_kernels.port import port
from hatch_cuda_kernels.scaffold import include_folders

if TYPE_CHECKING:
    from collections.abc import Iterator

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
                ported = _port(job, patch=False)
            module = _module(ported) if instances and ported is not None else {}
            module.get("options", {}).pop("host_only", None)  # only what is drafted at last has it
            attempt = _compile(job, way, Path(job["root"]), options, module)
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
    ported = _port(job, patch=way.ported)
    module = _module(ported)
    recipe = Recipe(module="source", sources=tuple(module.get("sources", [source])), options=_options(job))
    with tempfile.TemporaryDirectory() as scratch:
        for folder in job["include"]:
            (Path(scratch) / folder).mkdir(parents=True, exist_ok=True)
        for path in read_recipe(recipe, root, clocks=True).files:
            target = Path(scratch) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(ported.after[path].encode() if path in ported.after else (root / path).read_bytes())
        yield _compile(job, way, Path(scratch), {}, module)


def _port(job: dict[str, Any], *, patch: bool) -> Ported:
    arch, source = SmArch.parse(job["arch"]), job["source"]
    return port(Path(job["root"]), [source], _options(job), arch=arch, patch=patch, seconds=float("inf"))


def _options(job: dict[str, Any]) -> NvrtcOptions:
    define = tuple((name, value) for name, value in job["define"])
    forced = tuple(job.get("pre_include", ()))
    return NvrtcOptions(include=tuple(job["include"]), define=define, std=CppStd(job["std"]), pre_include=forced)


def _module(ported: Ported) -> dict[str, Any]:
    """Return what a drafted manifest says of its module, also by the options that it states for all."""
    manifest = yaml.safe_load(ported.manifest)
    (module,) = manifest["modules"].values()
    stated = {key: value for key, value in manifest.get("options", {}).items() if key in _DRAFTED}
    return {**module, "options": {**stated, **module.get("options", {})}}


def _compile(job: dict[str, Any], way: Way, root: Path, options: dict[str, Any], module: dict[str, Any]) -> Attempt:
    """Return how many kernels the image has of a source below a folder, with what is drafted of its module."""
    merged = {**module.get("options", {}), "include": job["include"], **options}
    if way.listed:
        merged |= {"std": job["std"], "define": dict(job["define"])}
        merged.setdefault("pre_include", list(job.get("pre_include", ())))
    sources = {} if "sources" in module else {"source": job["source"]}
    stated = {**module, **sources, "options": merged, "arches": [job["arch"]]}
    text = json.dumps({"schema": 1, "modules": {"source": stated}})
    try:
        (planned,) = make_plan(parse_manifest(text, root=root))
        return Attempt(len(run_job((*planned.finishing, *planned.jobs)[0]).kernels))
    except CompileError as error:
        return Attempt(0, f"{error}\n{error.log}".replace(f"{root}/", ""))
    except HatchCudaKernelsError as error:
        return Attempt(0, str(error).replace(f"{root}/", ""))


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
