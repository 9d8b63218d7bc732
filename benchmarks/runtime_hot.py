"""Hot figures in one process: look-up of a loaded kernel, launches, and the import alone."""

from __future__ import annotations

import itertools
import statistics
import subprocess
import sys
import time
import timeit
from functools import partial
from typing import TYPE_CHECKING

from quickest_cores import on_quickest_cores

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROUNDS = 15
BATCH = 400

SOURCE = """
extern "C" __global__ void saxpy(float* y, const float* x, int n, float a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""

MANIFEST = """
schema: 1
arches: [ARCH]
modules: {saxpy: {source: saxpy.cu, launch: {saxpy: {grid: "ceil_div(n, 256)", block: 256}}}}
"""


def measure_hot(work: Path) -> dict[str, float]:
    """Return microseconds by name. The variants take turns, and a batch of launches is drained outside the clock."""
    results = {f"import {name}, ms over the interpreter": value for name, value in imports().items()}
    try:
        import numpy as np
        import torch
        from cuda.core import Device, LaunchConfig, launch  # noqa: F401 - used by name in a timed statement
    except ImportError as error:
        print(f"left out: hot figures ({error})", file=sys.stderr)
        return results
    from hatch_cuda_kernels import open_store
    from hatch_cuda_kernels.driver import call, cuda
    from hatch_cuda_kernels.runtime.launch.accelerator import find_accelerator

    root = work / "hot"
    store = open_store(str(build(root, (work / "arch").read_text())))
    kernel = store.get_kernel("saxpy")
    x, y, n = torch.zeros(1024, device="cuda"), torch.zeros(1024, device="cuda"), 1024
    device = Device()
    device.set_current()
    core_kernel, config, stream = kernel.as_cuda_core(), LaunchConfig(grid=4, block=256), device.default_stream
    typed = [y.data_ptr(), x.data_ptr(), np.int32(n), np.float32(2)]
    kernel[4, 256](y, x, n, 2.0)  # the first launch is checked in full
    fixed, bound = kernel[4, 256], kernel.bind(4, 256, (y, x, n, 2.0))
    parameter, side = torch.nn.Parameter(torch.zeros(1024, device="cuda")), torch.cuda.current_stream()
    grids = itertools.count(1)
    driver = cuda()
    names = {**globals(), **locals()}
    variants = {
        "get_kernel: ours, loaded": ('store.get_kernel("saxpy")', names),
        "get_kernel: cuda.core ObjectCode.get_kernel": (
            'code.get_kernel("saxpy")',
            names | {"code": core_code(kernel)},
        ),
        "launch: ours, kernel[grid, block](torch, torch, int, float)": ("kernel[4, 256](y, x, n, 2.0)", names),
        "launch: ours, kernel(torch, torch, int, float)": ("kernel(y, x, n, 2.0)", names),
        "launch: ours, launcher kept": ("fixed(y, x, n, 2.0)", names),
        "launch: ours, addresses as int": ("kernel[4, 256](typed[0], typed[1], n, 2.0)", names),
        "launch: ours, bound": ("bound()", names),
        "launch: ours, a negative int": ("kernel[4, 256](y, x, -1, 2.0)", names),
        "launch: ours, numpy scalars": ("kernel[4, 256](y, x, typed[2], typed[3])", names),
        "launch: ours, a stream object": ("kernel[4, 256, 0, side](y, x, n, 2.0)", names),
        "launch: ours, nn.Parameter": ("kernel[4, 256](parameter, parameter, n, 2.0)", names),
        "launch: ours, a grid not seen before": ("kernel[next(grids), 256](y, x, n, 2.0)", names),
        "launch: cuda.core, typed arguments made before": ("launch(stream, config, core_kernel, *typed)", names),
        "launch: cuda.core, arguments typed each time": (
            "launch(stream, config, core_kernel, y.data_ptr(), x.data_ptr(), np.int32(n), np.float32(2))",
            names,
        ),
        "launch: the bindings' call alone": (
            "cu_launch(handle, 4, 1, 1, 256, 1, 1, 0, 0, 0, extra)",
            bare_launch(driver, kernel, y, x, n),
        ),
    }
    if find_accelerator() is not None:  # what is above is compiled, then; the same in Python beside it
        variants |= in_python(store, variants, names)
    results |= first_launches(work, y, x, n)
    variants |= cupy_variants(n) | torch_variants(x, y, n)
    return results | take_turns(variants, lambda: call("cuCtxSynchronize"))


def in_python(store, variants: dict[str, tuple[str, dict[str, object]]], names: dict[str, object]):
    """Return our variants again, of a store that was opened without the accelerator."""
    from hatch_cuda_kernels import open_store
    from hatch_cuda_kernels.runtime.launch import accelerator
    from hatch_cuda_kernels.runtime.launch.codegen import forget_signatures

    found, accelerator._found = accelerator._found, lambda: None
    forget_signatures()
    store = open_store(store.package)
    x, y, n = (names[name] for name in "xyn")
    kernel = store.get_kernel("saxpy")
    kernel[4, 256](y, x, n, 2.0)  # the first launch is checked in full
    own = {"store": store, "kernel": kernel, "fixed": kernel[4, 256], "bound": kernel.bind(4, 256, (y, x, n, 2.0))}
    ours = {
        f"{name}, in Python": (text, names | own)
        for name, (text, _) in variants.items()
        if name.partition(": ")[2].startswith("ours")
    }
    for text, scope in ours.values():
        timeit.Timer(text, globals=scope).timeit(2)  # makes all launch functions
    accelerator._found = found
    forget_signatures()
    return ours


def build(root: Path, arch: str, source: str = SOURCE, manifest: str = MANIFEST) -> Path:
    from hatch_cuda_kernels.build import build_store
    from hatch_cuda_kernels.manifest import load_manifest

    root.mkdir(exist_ok=True)
    (root / "saxpy.cu").write_text(source)
    (root / "kernels.yaml").write_text(manifest.replace("ARCH", arch))
    build_store(load_manifest(root / "kernels.yaml"), root / "_kernels")
    return root / "_kernels"


def first_launches(work: Path, y, x, n) -> dict[str, float]:
    """Return microseconds of a loaded kernel's first launch, the median over kernels of a signature that was seen."""
    from hatch_cuda_kernels import open_store
    from hatch_cuda_kernels.driver import cuda

    body = SOURCE.partition("(")[2]
    text = "".join(f'extern "C" __global__ void k{number}({body}' for number in range(128))
    manifest = MANIFEST.partition(", launch")[0] + "}}"
    store = open_store(str(build(work / "first", (work / "arch").read_text(), text, manifest)))
    kernels = [store.get_kernel(f"k{number}") for number in range(128)]
    slots = [bare_launch(cuda(), kernel, y, x, n) for kernel in kernels[::2]]
    ways = {
        "launch: the bindings' call alone, the first of a kernel": [
            partial(names["cu_launch"], names["handle"], 4, 1, 1, 256, 1, 1, 0, 0, 0, names["extra"]) for names in slots
        ],
        "launch: ours, the first of a kernel, its signature seen": [
            partial(lambda kernel: kernel[4, 256](y, x, n, 2.0), kernel) for kernel in kernels[1::2]
        ],
    }
    return {way: statistics.median(map(microseconds, calls)) for way, calls in ways.items()}


def microseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e6


def core_code(kernel):
    from cuda.core import ObjectCode

    return ObjectCode.from_cubin(kernel.image.data)


def bare_launch(driver, kernel, y, x, n) -> dict[str, object]:
    """The bindings' cuLaunchKernel with a parameter buffer packed before."""
    from hatch_cuda_kernels.runtime.launch.arguments import Signature
    from hatch_cuda_kernels.runtime.launch.shapes import Slot

    signature = Signature("saxpy", kernel.params)
    slot = Slot(signature.layout.size)
    slot.buffer.raw = signature.pack((y, x, n, 2.0))
    return {"cu_launch": driver.cuLaunchKernel, "handle": kernel.handle, "extra": slot.extra, "slot": slot}


def cupy_variants(n: int) -> dict[str, tuple[str, dict[str, object]]]:
    try:
        import cupy
    except ImportError:
        return {}
    module = cupy.RawModule(code=SOURCE)
    function = module.get_function("saxpy")
    cx, cy, cn, ca = cupy.zeros(1024, "f4"), cupy.zeros(1024, "f4"), cupy.int32(n), cupy.float32(2)
    names = {**locals()}
    return {
        "get_kernel: CuPy RawModule.get_function": ('module.get_function("saxpy")', names),
        "launch: CuPy RawKernel, numpy scalars": ("function((4,), (256,), (cy, cx, cn, ca))", names),
    }


def torch_variants(x, y, n: int) -> dict[str, tuple[str, dict[str, object]]]:
    import torch

    try:
        function = torch.cuda._compile_kernel(SOURCE, "saxpy")
    except (AttributeError, RuntimeError) as error:
        print(f"left out: torch._compile_kernel ({error})", file=sys.stderr)
        return {}
    names = {"function": function, "x": x, "y": y, "n": n}
    return {"launch: torch._compile_kernel": ("function((4, 1, 1), (256, 1, 1), (y, x, n, 2.0))", names)}


def take_turns(variants: dict[str, tuple[str, dict[str, object]]], drain: Callable[[], object]) -> dict[str, float]:
    """Time each statement in a compiled loop of its own, so that no wrapper is timed with it."""
    timers = {name: timeit.Timer(statement, globals=names) for name, (statement, names) in variants.items()}
    times: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(ROUNDS):
        with on_quickest_cores(1):
            for name, timer in timers.items():
                timer.timeit(1)
                times[name].append(timer.timeit(BATCH) / BATCH * 1e6)
                drain()
    return {name: statistics.median(values) for name, values in times.items()}


def imports() -> dict[str, float]:
    """Return milliseconds of importing a package in a fresh interpreter, over the interpreter alone."""
    names = ("hatch_cuda_kernels", "cuda.bindings.driver", "cuda.core")
    times: dict[str, list[float]] = {name: [] for name in ("", *names)}
    for _ in range(9):
        for name, values in times.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", f"import {name}" if name else ""], check=False, capture_output=True)
            values.append((time.perf_counter() - start) * 1000)
    base = statistics.median(times.pop(""))
    return {name: statistics.median(values) - base for name, values in times.items()}
