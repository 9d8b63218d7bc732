"""A launch with nine torch tensors beside tvm-ffi's compiled launcher, with and without the accelerator.

    python benchmarks/launch_tvm.py [--out FILE.json]

Needs a GPU, torch, apache-tvm-ffi, g++ and the toolkit's cuda.h. Microseconds of a call until it returns, medians of
15 rounds of 400 launches; the variants take turns, and launches are drained outside the clock. Both check devices and
types of all tensors, and take torch's current stream. The process without the accelerator is a second one.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from pathlib import Path

HERE = Path(__file__).parent
ROUNDS, BATCH = 15, 400
NAMES = "abcdefghi"
SOURCE = f"""
extern "C" __global__ void nine({", ".join(f"float* {name}" for name in NAMES)}, int n) {{
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < n) a[at] = {" + ".join(f"{name}[at]" for name in NAMES[1:])};
}}
"""


def build_launcher(work: Path) -> Path:
    import tvm_ffi

    root = Path(tvm_ffi.__file__).parent
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    includes = [f"-I{root / 'include'}", f"-I{toolkit / 'include'}"]
    command = [
        "g++",
        "-O2",
        "-std=c++17",
        "-shared",
        "-fPIC",
        *includes,
        HERE / "launch_tvm.cc",
        "-o",
        work / "nine.so",
    ]
    subprocess.run([*command, f"-L{root / 'lib'}", "-ltvm_ffi", f"-Wl,-rpath,{root / 'lib'}"], check=True)
    return work / "nine.so"


def build_kernel(work: Path):
    from hatch_cuda_kernels import open_store
    from hatch_cuda_kernels.build import build_store
    from hatch_cuda_kernels.driver import compute_capability
    from hatch_cuda_kernels.manifest import load_manifest

    arch = "sm_{}{}".format(*compute_capability(0))
    (work / "nine.cu").write_text(SOURCE)
    launch = '{nine: {grid: "ceil_div(n, 256)", block: 256}}'
    manifest = f"{{schema: 1, arches: [{arch}], modules: {{nine: {{source: nine.cu, launch: {launch}}}}}}}"
    (work / "kernels.yaml").write_text(manifest)
    build_store(load_manifest(work / "kernels.yaml"), work / "_kernels")
    return open_store(str(work / "_kernels")).get_kernel("nine")


def measure(work: Path) -> dict[str, float]:
    import torch
    import tvm_ffi

    ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)  # the launcher's calls of the driver are found in it
    from hatch_cuda_kernels.runtime.launch import accelerator_state

    tensors = [torch.ones(1024, device="cuda") for _ in NAMES]
    kernel, launcher = build_kernel(work), tvm_ffi.load_module(str(build_launcher(work)))
    launcher["load"](kernel.image.data)
    launch = launcher["launch"]
    way = accelerator_state()
    kernel[4, 256](*tensors, 1024)
    bound = kernel.bind(4, 256, (*tensors, 1024))
    variants = {
        "tvm-ffi, compiled launcher": "launch(a, b, c, d, e, f, g, h, i, 1024)",
        f"ours, kernel[grid, block](...), accelerator {way}": "kernel[4, 256](a, b, c, d, e, f, g, h, i, 1024)",
        f"ours, kernel(...), accelerator {way}": "kernel(a, b, c, d, e, f, g, h, i, 1024)",
        f"ours, launcher kept, accelerator {way}": "kept(a, b, c, d, e, f, g, h, i, 1024)",
        f"ours, bound, accelerator {way}": "bound()",
    }
    names = {"launch": launch, "kernel": kernel, "kept": kernel[4, 256], "bound": bound}
    names |= dict(zip(NAMES, tensors, strict=True))
    timers = {name: timeit.Timer(text, globals=names) for name, text in variants.items()}
    times: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(ROUNDS + 1):
        for name, timer in timers.items():
            torch.cuda.synchronize()
            times[name].append(timer.timeit(BATCH) / BATCH * 1e6)
            torch.cuda.synchronize()
            assert tensors[0][0].item() == len(NAMES) - 1, name
    return {name: statistics.median(found[1:]) for name, found in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the microseconds here")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if args.one:
            print(json.dumps(measure(Path(folder))))
            return
    found: dict[str, float] = {}
    for accelerator in ("1", "0"):
        environment = os.environ | {"HATCH_CUDA_KERNELS_ACCELERATOR": accelerator}
        command = [sys.executable, __file__, "--one"]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        found |= {f"{name} ({time.strftime('%H:%M')})" if name in found else name: value
                  for name, value in json.loads(done.stdout.splitlines()[-1]).items()}  # fmt: skip
    for name, value in found.items():
        print(f"{value:8.2f} us  {name}")
    if args.out is not None:
        args.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
