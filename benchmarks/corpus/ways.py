"""The ways a source is tried, and one compile of each. A worker process: jobs come in as JSON lines, results go out.

A way is a manifest: it is read, planned and compiled as a build does it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, NamedTuple

from hatch_cuda_kernels.compiler.nvrtc import compile as compile_job
from hatch_cuda_kernels.compiler.toolchain.installed import load_toolchain
from hatch_cuda_kernels.errors import CompileError, HatchCudaKernelsError
from hatch_cuda_kernels.manifest import parse_manifest
from hatch_cuda_kernels.plan.plan import make_plan

ARCH = "sm_90"


class Way(NamedTuple):
    """One way to compile."""

    what: str
    options: dict[str, Any]
    """Beside ``include``."""
    listed: bool = False
    """With the macros and the standard of the list, too."""


WAYS = {
    "a": Way("`source` and `include`, with `standard_headers: false`", {"standard_headers": False}),
    "b": Way("`source` and `include`", {}),
    "c": Way(
        "the same, with `default_device: true`, and `define` and `std` where list.toml has them",
        {"default_device": True},
        listed=True,
    ),
}


def compile_one(job: dict[str, Any]) -> dict[str, Any]:
    """Return whether a source compiles, how many kernels are in the image, and the log, without machine paths."""
    start = time.process_time()
    try:
        found: dict[str, Any] = {"ok": True, "entries": _kernels(job, WAYS[job["way"]]), "log": ""}
    except CompileError as error:
        found = {"ok": False, "log": f"{error}\n{error.log}"}
    except HatchCudaKernelsError as error:
        found = {"ok": False, "log": str(error)}
    return found | {"log": _without_paths(found["log"], job), "cpu": round(time.process_time() - start, 3)}


def _kernels(job: dict[str, Any], way: Way) -> int:
    """Return how many kernels the image of a source has."""
    options = {"include": job["include"], **way.options}
    if way.listed:
        options |= {"std": job["std"], "define": dict(job["define"])}
    modules = {"source": {"source": job["source"], "options": options}}
    text = json.dumps({"schema": 1, "arches": [ARCH], "modules": modules})
    (planned,) = make_plan(parse_manifest(text, root=job["root"]))
    return len(compile_job(planned.jobs[0]).kernels)


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
