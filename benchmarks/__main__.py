"""All benchmarks, and one of them with its arguments.

python -m benchmarks                  what there is
python -m benchmarks NAME [...]       run one; --help says what it takes
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

FOLDER: Final = Path(__file__).parent


class Benchmark(NamedTuple):
    """A script of this folder."""

    script: str
    needs: str
    does: str


#: By heading, then by name.
BENCHMARKS: Final[dict[str, dict[str, Benchmark]]] = {
    "Builds": {
        "build": Benchmark("build.py", "nvcc", "whole builds beside nvcc and NVRTC alone: times, wheels"),
        "cache": Benchmark("cache.py", "", "the disk cache under load, and what a hit costs"),
        "precompiled": Benchmark("precompiled.py", "checkouts", "compiles with and without a precompiled header"),
        "package-headers": Benchmark("package_headers.py", "wheels", "headers of packages: read, shipped, verified"),
        "lean-images": Benchmark("lean_images.py", "", "images without unused variables beside NVRTC's own"),
        "aarch64": Benchmark("aarch64.sh", "uv, qemu", "the same builds on emulated aarch64, digest by digest"),
        "windows": Benchmark("windows.sh", "uv, wine", "the same builds on Windows under Wine, digest by digest"),
        "newcomer": Benchmark("newcomer.sh", "uv, pipx", "from nothing to a verified wheel, in each way"),
    },
    "Run time": {
        "runtime": Benchmark("runtime.py", "GPU", "cold start, look-ups and launches beside other tools"),
        "runtime-cpp": Benchmark("runtime_cpp.py", "GPU, g++", "cold start through the loader for C++"),
        "first-compile": Benchmark("first_compile.py", "", "a first compile at run time, beside cuda.core's"),
        "lookup": Benchmark("lookup.py", "", "finding a kernel in stores of 10 and of 10,000 modules"),
        "launch-tvm": Benchmark("launch_tvm.py", "GPU, g++", "a launch with nine tensors beside tvm-ffi's"),
        "launch-share": Benchmark("launch_share.py", "torch", "the host's share of a launch, on an imitated driver"),
        "kernel-speed": Benchmark("kernel_speed.py", "GPU", "how fast kernels run by the route that made them"),
        "operators-torch": Benchmark("operators_torch.py", "GPU", "what an operator of torch costs"),
        "operators-jax": Benchmark("operators_jax.py", "jax", "what a call inside jax.jit costs"),
        "gpu-tests": Benchmark("gpu_tests.sh", "GPU", "the GPU tests and the example, with a record"),
    },
    "Robustness": {
        "fuzz-loader": Benchmark("fuzz_loader.py", "g++", "the loader for C++ with damaged stores, sanitized"),
    },
    "Reading C++": {
        "checkouts": Benchmark("corpus/checkouts.py", "git", "write the checkouts that others here need"),
        "goldens": Benchmark("corpus/goldens.py", "checkouts", "what public sources compile to, beside nvcc"),
        "corpus": Benchmark("corpus/run.py", "checkouts", "how many public sources compile, and why not all"),
        "blind": Benchmark("corpus/blind.py", "git", "draw sources of projects that nobody has looked at"),
        "include-scan": Benchmark("include_scan.py", "checkouts", "the include scan beside two compilers"),
        "preprocessors": Benchmark("preprocessors.py", "nvcc, gcc", "directives, macros and tokens beside compilers"),
        "host-code": Benchmark("corpus_host_code.py", "nvcc", "kernels without their host code beside nvcc's"),
        "host-code-outcomes": Benchmark("host_code_outcomes.py", "checkouts", "what NVRTC is shown, as digests"),
        "fuzz": Benchmark("fuzz_host_code/fuzz_host_code.py", "nvcc", "random sources with host code, beside nvcc"),
    },
    "Public projects": {
        "projects": Benchmark("projects/build.py", "checkouts", "projects that build from manifests of a few lines"),
        "projects-gpu-prepare": Benchmark("projects/gpu/prepare.py", "checkouts", "what projects-gpu carries along"),
        "projects-gpu": Benchmark("projects/gpu.sh", "GPU", "the projects' own tests, with kernels from a wheel"),
        "loaders-prepare": Benchmark("projects/gpu/prepare_loaders.py", "checkouts", "what loaders carries along"),
        "loaders": Benchmark("projects/loaders.sh", "GPU", "projects with one changed loader: tests, first use"),
        "projects-operators": Benchmark("projects/operators/build.py", "checkouts", "stores of kernels for the next"),
        "projects-operators-check": Benchmark("projects/operators/check.py", "GPU", "these as operators of torch"),
    },
}
#: Scripts that others start.
PARTS: Final = frozenset(
    {"build_floor.py", "build_sources.py", "corpus/ways.py", "projects/gpu/compare.py", "runtime_cold.py"}
)


def main() -> int:
    listed = {name: benchmark for group in BENCHMARKS.values() for name, benchmark in group.items()}
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Runs one of the benchmarks.",
        epilog=listing(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", choices=listed, metavar="NAME")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="what the benchmark takes")
    args = parser.parse_args()
    if args.name is None:
        print(listing())
        return 0
    script = FOLDER / listed[args.name].script
    program = [sys.executable] if script.suffix == ".py" else ["bash"]
    return subprocess.run([*program, str(script), *args.arguments], check=False).returncode


def listing() -> str:
    """Return a line for each benchmark, with what it needs besides this package and NVRTC."""
    lines = []
    for heading, group in BENCHMARKS.items():
        lines += ["", f"{heading}:"]
        lines += [f"  {name:25}{benchmark.needs:11}{benchmark.does}" for name, benchmark in group.items()]
    return "\n".join(lines[1:])


if __name__ == "__main__":
    sys.exit(main())
