"""The compiler floor: all jobs of a matrix by NVRTC in one thread of one process, with nothing around it.

    python benchmarks/build_floor.py 30x8 FOLDER

Prints JSON: the CPU seconds and the bytes of each compile, by module and architecture.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from build_sources import MATRICES, Source
from cuda.bindings import nvrtc

from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain


def main() -> None:
    matrix, folder = sys.argv[1], Path(sys.argv[2])
    sources, arches = MATRICES[matrix]
    include = [f"-I{path}" for path in (folder / "include", *load_toolchain().include_dirs)]
    jobs = {}
    for name, source in sources().items():
        for arch in arches:
            start = time.process_time()
            made = compile_one(name, source, ["-std=c++17", "-no-cache", f"-arch=sm_{arch}", *include])
            jobs[f"{name} sm_{arch}"] = {"seconds": time.process_time() - start, "bytes": made}
    print(json.dumps(jobs))


def compile_one(name: str, source: Source, flags: list[str]) -> int:
    """Compile to a CUBIN and return its bytes."""
    program = check(nvrtc.nvrtcCreateProgram(source.text.encode(), f"{name}.cu".encode(), 0, [], []))
    for instance in source.instances:
        check(nvrtc.nvrtcAddNameExpression(program, instance.encode()))
    check(nvrtc.nvrtcCompileProgram(program, len(flags), [flag.encode() for flag in flags]))
    image = bytes(check(nvrtc.nvrtcGetCUBINSize(program)))
    check(nvrtc.nvrtcGetCUBIN(program, image))
    nvrtc.nvrtcDestroyProgram(program)
    return len(image)


def check(result: tuple[Any, ...]) -> Any:
    status, *values = result
    if int(status) != 0:
        sys.exit(f"NVRTC: {status.name}")
    return values[0] if values else None


if __name__ == "__main__":
    main()
