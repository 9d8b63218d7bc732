"""Our own share of a launch, without a GPU: on an imitated driver whose calls cost next to nothing.

    python benchmarks/launch_share.py [--driver-us 3.9]

Needs NVRTC and torch (one for the CPU will do: torch numbers the CPU -1, and so does the driver here). Prints
microseconds, minima of rounds that take turns, and ratios to the plain launch once the driver's call is added to both.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import timeit
from pathlib import Path

ROUNDS, BATCH = 15, 1000
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tests" / "support")]

from fake_driver import OK, FakeDriver  # noqa: E402 - of the tests
from runtime_hot import build  # noqa: E402 - a sibling script

STATEMENTS = {
    "kernel[grid, block](torch, torch, int, float)": "kernel[4, 256](y, x, 1000, 2.0)",
    "launcher kept": "kept(y, x, 1000, 2.0)",
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


class Stream:
    """A stream by the protocol."""

    def __cuda_stream__(self):
        return 0, 5


class Array:
    """An array by the array interface."""

    def __init__(self):
        self.__cuda_array_interface__ = {"data": (4096, False), "shape": (1,), "typestr": "<f4", "version": 3}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--driver-us", type=float, default=3.9, help="what the driver's call takes (H200: 3.9)")
    call = parser.parse_args().driver_us
    with tempfile.TemporaryDirectory() as folder:
        names = prepare(build(Path(folder) / "p", "sm_90"))
        timers = {name: timeit.Timer(statement, globals=names) for name, statement in STATEMENTS.items()}
        times: dict[str, list[float]] = {name: [] for name in timers}
        for _ in range(ROUNDS):
            for name, timer in timers.items():
                timer.timeit(20)
                times[name].append(timer.timeit(BATCH) / BATCH * 1e6)
    plain = min(next(iter(times.values())))
    for name, values in times.items():
        added = 0 if name == "get_kernel" else call
        print(f"{name:48s} {min(values):7.3f} us {(min(values) + added) / (plain + call):6.2f}")


def prepare(store_folder: Path) -> dict[str, object]:
    """Return what the statements name, with the imitated driver in the place of the bindings."""
    import cuda.bindings
    import cuda.bindings.driver as real
    import numpy as np
    import torch

    from hatch_cuda_kernels import early, open_store

    fake = FakeDriver()
    sys.modules["cuda.bindings.driver"] = cuda.bindings.driver = fake
    early._started[:] = [None]
    fake.context = 7
    current, launched = (OK, 7), (OK,)
    fake.cuCtxGetId = lambda _: current
    fake.cuCtxGetDevice = lambda: (OK, -1)
    fake.cuLaunchKernelEx = lambda *_: launched
    fake.CUlaunchConfig = real.CUlaunchConfig
    torch._C._cuda_getCurrentRawStream = lambda _: 0
    store = open_store(store_folder)
    kernel = store.get_kernel("saxpy")
    x, y = torch.ones(4), torch.ones(4)
    kernel[4, 256](y, x, 1000, 2.0)  # the first launch is checked in full
    return {
        "store": store, "kernel": kernel, "x": x, "y": y, "kept": kernel[4, 256],
        "bound": kernel.bind(4, 256, (y, x, 1000, 2.0)),
        "parameter": torch.nn.Parameter(torch.ones(4)), "array": Array(), "stream": Stream(),
        "count": np.int32(1000), "factor": np.float32(2), "grids": itertools.count(1000),
    }  # fmt: skip


if __name__ == "__main__":
    main()
