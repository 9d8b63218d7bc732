"""The ways a source is tried, and one compile of each. A worker process: jobs come in as JSON lines, results go out.

This module alone says what "with the standard headers" and "default device" mean. Once the package has options for
them, a way says so in ``options`` and goes through the package; ``flags`` then goes away.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.nvrtc import compile as compile_job
from hatch_cuda_kernels.compiler.output.ptx import read_ptx
from hatch_cuda_kernels.compiler.recipe import Recipe
from hatch_cuda_kernels.compiler.toolchain.installed import load_toolchain
from hatch_cuda_kernels.errors import CompileError, HatchCudaKernelsError
from hatch_cuda_kernels.options import CppStd, NvrtcOptions

PROJECT = Path(__file__).parents[2]
STANDARD = PROJECT / "hatch_cuda_kernels/compiler/source/standard"
ARCH = "sm_90"

sys.path.insert(0, str(PROJECT / "tests/support"))
from raw_nvrtc import compile_raw  # noqa: E402 - NVRTC with nothing around it, as the tests know it


class Way(NamedTuple):
    """One way to compile."""

    what: str
    package: bool
    """Through the package, as a build does it; else NVRTC alone, with folders on the include path."""
    standard_headers: bool = False
    flags: tuple[str, ...] = ()


WAYS = {
    "a": Way("as it is, by the package", package=True),
    "b": Way("with the standard headers", package=False, standard_headers=True),
    "c": Way(
        "with the standard headers and -default-device",
        package=False,
        standard_headers=True,
        flags=("-default-device",),
    ),
}


def compile_one(job: dict[str, Any]) -> dict[str, Any]:
    """Return whether a source compiles, how many kernels are in the image, and the log, without machine paths."""
    way = WAYS[job["way"]]
    start = time.process_time()
    try:
        entries = (_by_package if way.package else _by_nvrtc)(job, way)
        found: dict[str, Any] = {"ok": True, "entries": entries, "log": ""}
    except CompileError as error:
        found = {"ok": False, "log": f"{error}\n{error.log}"}
    except HatchCudaKernelsError as error:
        found = {"ok": False, "log": str(error)}
    except _RefusedError as error:
        found = {"ok": False, "log": str(error)}
    return found | {"log": _without_paths(found["log"], job), "cpu": round(time.process_time() - start, 3)}


class _RefusedError(Exception):
    pass


def _by_package(job: dict[str, Any], _way: Way) -> int:
    options = NvrtcOptions(
        std=CppStd(job["std"]), include=tuple(job["include"]), define=tuple(map(tuple, job["define"]))
    )
    recipe = Recipe(module="source", source=job["source"], options=options)
    program = recipe.program(recipe.read(Path(job["root"])))
    compiled = compile_job(recipe.job(program, SmArch.parse(ARCH), ("cubin",)))
    return len(compiled.kernels)


def _by_nvrtc(job: dict[str, Any], way: Way) -> int:
    root = Path(job["root"])
    path = root / job["source"]
    folders = [*(root / folder for folder in job["include"]), *([STANDARD] if way.standard_headers else [])]
    flags = [f"-I{folder}" for folder in (*folders, *load_toolchain().include_dirs)]
    flags += [f"-D{name}" if value is None else f"-D{name}={value}" for name, value in job["define"]]
    flags += ["--modify-stack-limit=false", f"--std={job['std']}", *way.flags]
    text = path.read_bytes().decode("utf-8", "replace").replace("\0", " ")
    result = compile_raw(text, *flags, name=str(path), arch=ARCH)
    if not result.ok:
        raise _RefusedError(result.log)
    return len(read_ptx(result.ptx).entries)


def _without_paths(log: str, job: dict[str, Any]) -> str:
    log = log.replace(f"{STANDARD}/", "standard/").replace(f"{job['root']}/", "")
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
