"""Our own share of a launch, without a GPU: on an imitated driver whose calls cost next to nothing.

    python benchmarks/launch_share.py [--driver-us 3.3] [--bindings]

Needs NVRTC and torch (one for the CPU will do: torch numbers the CPU -1, and so does the driver here). Prints
microseconds, minima of short rounds that take turns, and ratios to the plain launch once the driver's call is added to
both. The driver is imitated in Python; with ``--bindings`` it is a library that does nothing, made by the C compiler,
so that the bindings' own cost counts, and cuda.core can be measured beside; so can our launches with the accelerator,
where it is installed.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import os
import subprocess
import sys
import tempfile
import timeit
from pathlib import Path

ROUNDS, BATCH = 1500, 100
HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "support")]

from fake_driver import OK, FakeDriver  # noqa: E402 - of the tests
from runtime_hot import build  # noqa: E402 - a sibling script

STATEMENTS = {
    "kernel[grid, block](torch, torch, int, float)": "kernel[4, 256](y, x, 1000, 2.0)",
    "launcher kept": "kept(y, x, 1000, 2.0)",
    "kernel(torch, torch, int, float)": "kernel(y, x, 1000, 2.0)",
    "bound": "bound()",
    "kernel.launch(...)": "kernel.launch(4, 256, (y, x, 1000, 2.0))",
    "addresses as int": "kernel[4, 256](4096, 8192, 1000, 2.0)",
    "a negative int": "kernel[4, 256](y, x, -5, 2.0)",
    "numpy scalars": "kernel[4, 256](y, x, count, factor)",
    "nn.Parameter": "kernel[4, 256](parameter, parameter, 1000, 2.0)",
    "the array interface": "kernel[4, 256](array, array, 1000, 2.0)",
    "a stream object": "kernel[4, 256, 0, stream](y, x, 1000, 2.0)",
    "a grid not seen before": "kernel[next(grids), 256](y, x, 1000, 2.0)",
    "get_kernel": 'store.get_kernel("saxpy")',
}
PEERS = {
    "the bindings' cuLaunchKernelEx alone": "cu_launch(config, function, 0, extra)",
    "cuda.core, typed before": "launch(core_stream, core_config, core_kernel, *typed)",
    "cuda.core, typed each time": (
        "launch(core_stream, core_config, core_kernel, y.data_ptr(), x.data_ptr(), int32(1000), float32(2))"
    ),
}


class Stream:
    """A stream by the protocol."""

    def __cuda_stream__(self):
        return 0, 5


class Array:
    """An array by the array interface."""

    def __init__(self):
        self.__cuda_array_interface__ = {"data": (4096, False), "shape": (1,), "typestr": "<f4", "version": 3}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver-us", type=float, default=3.3, help="what the driver itself takes (H200: 3.3)")
    parser.add_argument("--bindings", action="store_true", help="count the bindings' cost, and measure cuda.core")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if args.bindings and "LAUNCH_SHARE_STUB" not in os.environ:
            sys.exit(again_with_stub(Path(folder)))
        if not args.bindings:
            imitate_driver()
        store = build(Path(folder) / "p", "sm_90")
        names = prepare(store, compiled=False)
        statements = STATEMENTS | (PEERS if args.bindings and add_peers(names) else {})
        timers = {name: timeit.Timer(text, globals=names) for name, text in statements.items()}
        for timer in timers.values():
            timer.timeit(1)  # makes its launch function, in Python
        if args.bindings and add_exchange(Path(folder)):
            names = prepare(store, compiled=True)
            timers |= {f"compiled: {name}": timeit.Timer(text, globals=names) for name, text in STATEMENTS.items()}
        best = measure(timers)
    plain = next(iter(best.values()))
    for name, value in best.items():
        added = 0 if name.endswith("get_kernel") else args.driver_us
        print(f"{name:56s} {value:7.3f} us {(value + added) / (plain + args.driver_us):6.2f}")


def again_with_stub(folder: Path) -> int:
    """Run this script again where the driver's library is one that does nothing."""
    library = folder / "libcuda.so.1"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-w", "-o", library, HERE / "stub_driver.c"], check=True)
    environment = os.environ | {"LD_LIBRARY_PATH": str(folder), "LAUNCH_SHARE_STUB": "1"}
    return subprocess.run([sys.executable, *sys.argv], env=environment, check=False).returncode


def measure(timers: dict[str, timeit.Timer]) -> dict[str, float]:
    """Return minima in microseconds. Rounds are so short that a busy machine leaves some of them alone."""
    best = dict.fromkeys(timers, float("inf"))
    for _ in range(ROUNDS):
        for name, timer in timers.items():
            timer.timeit(5)
            best[name] = min(best[name], timer.timeit(BATCH) / BATCH * 1e6)
    return best


def imitate_driver() -> None:
    """Put the imitated driver in the place of the bindings."""
    import cuda.bindings
    import cuda.bindings.driver as real

    from hatch_cuda_kernels import early

    fake = FakeDriver()
    sys.modules["cuda.bindings.driver"] = cuda.bindings.driver = fake
    early._started[:] = [None]
    fake.context = 7
    current, launched = (OK, 7), (OK,)
    fake.cuCtxGetId = lambda _: current
    fake.cuCtxGetDevice = lambda: (OK, -1)
    fake.cuLaunchKernelEx = lambda *_: launched
    fake.CUlaunchConfig = real.CUlaunchConfig


def add_exchange(folder: Path) -> bool:
    """Let tensors of the CPU be on the driver's device for C, too; return whether the accelerator reads them."""
    try:
        import hatch_cuda_kernels_accelerator as accelerator
    except ImportError as error:
        print(f"left out: the accelerator ({error})", file=sys.stderr)
        return False
    import torch

    library = folder / "cpu_exchange.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, HERE / "cpu_exchange.c"], check=True)
    get, make = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_New
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    change = ctypes.CDLL(str(library)).on_device
    change.restype, change.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)
    name = b"dlpack_exchange_api"
    own = get(torch.Tensor.__dlpack_c_exchange_api__, name)
    torch.Tensor.__dlpack_c_exchange_api__ = make(change(own), name, None)
    return accelerator.learn(torch.Tensor) and accelerator.learn(torch.nn.Parameter)


def prepare(store_folder: Path, *, compiled: bool) -> dict[str, object]:
    """Return what the statements name, of a store whose launches are compiled or not."""
    import numpy as np
    import torch

    from hatch_cuda_kernels import open_store
    from hatch_cuda_kernels.runtime.launch import accelerator
    from hatch_cuda_kernels.runtime.launch.codegen import forget_signatures

    forget_signatures()
    os.environ["HATCH_CUDA_KERNELS_ACCELERATOR"] = str(int(compiled))
    for known in (accelerator._module, accelerator._found):
        known.cache_clear()
    torch._C._cuda_getCurrentRawStream = lambda _: 0
    store = open_store(store_folder)
    kernel = store.get_kernel("saxpy")
    x, y = torch.ones(4), torch.ones(4)
    kernel[4, 256](y, x, 1000, 2.0)  # the first launch is checked in full
    store.get_kernel("saxpy")
    return {
        "store": store, "kernel": kernel, "x": x, "y": y, "kept": kernel[4, 256],
        "bound": kernel.bind(4, 256, (y, x, 1000, 2.0)),
        "parameter": torch.nn.Parameter(torch.ones(4)), "array": Array(), "stream": Stream(),
        "count": np.int32(1000), "factor": np.float32(2), "grids": itertools.count(1000),
    }  # fmt: skip


def add_peers(names: dict[str, object]) -> bool:
    """Add what the peers' statements name; return whether cuda.core is here."""
    try:
        import numpy as np
        from cuda.bindings import driver
        from cuda.core import Device, LaunchConfig, launch
    except ImportError as error:
        print(f"left out: the peers ({error})", file=sys.stderr)
        return False
    from hatch_cuda_kernels.runtime.launch.shapes import Slot

    kernel, device = names["kernel"], Device()
    device.set_current()
    slot = Slot(kernel._launches.signature.layout.size)
    names |= {
        "launch": launch, "core_stream": device.default_stream, "core_config": LaunchConfig(grid=4, block=256),
        "core_kernel": kernel.as_cuda_core(), "int32": np.int32, "float32": np.float32,
        "typed": [names["y"].data_ptr(), names["x"].data_ptr(), np.int32(1000), np.float32(2)],
        "cu_launch": driver.cuLaunchKernelEx, "config": driver.CUlaunchConfig(), "slot": slot, "extra": slot.extra,
        "function": kernel._launches.loaded().function,
    }  # fmt: skip
    return True


if __name__ == "__main__":
    main()
