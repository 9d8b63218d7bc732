"""Launches that the driver refuses, or would: a value beyond a limit is named with the limit and its source."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fake_driver
import pytest
from fake_driver import Result

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.errors import DriverError, LaunchError

ARGS = (2.0, None, None, 4)


@pytest.fixture
def kernel(example_store, driver, fresh_cache):
    """Return saxpy on an imitated driver."""
    return open_store(example_store).get_kernel("saxpy")


REFUSED = [
    ({"block": 2048}, r"a block of 2048 threads: this device takes at most 1024 \(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER"),
    ({"block": (1, 1, 65)}, r"block z is 65: this device takes at most 64 \(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z\)"),
    ({"grid": (1, 70000)}, r"grid y is 70000: this device takes at most 65535 \(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y\)"),
    ({"cluster": 32, "grid": 32}, r"a cluster of 32 blocks: this kernel takes at most 16 \(cuOccupancyMaxPotentialClu"),
    ({"cluster": 2, "grid": 3}, r"a grid of \(3, 1, 1\) blocks is not made of whole clusters of \(2, 1, 1\)"),
    (
        {"cooperative": True, "grid": 9000},
        r"a cooperative grid of 9000 blocks: at most 8448 run at a time \(64 on each of",
    ),
    (
        {"stream": 0x77},
        r"the stream 0x77 does not exist, or was destroyed \(cuStreamGetCtx: CUDA_ERROR_INVALID_HANDLE\)",
    ),
    ({"stream": 0x55}, r"the stream 0x55 is of another context than the one the kernel is launched in"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_a_refused_launch_says_why(kernel, driver, options, message):
    """The driver says INVALID_VALUE; the error says which value, its limit, and where that comes from."""
    driver.status = Result.CUDA_ERROR_INVALID_VALUE
    driver.stream_contexts[0x55] = 17
    with pytest.raises(DriverError, match=rf"launching saxpy failed with CUDA_ERROR_INVALID_VALUE \(1\): {message}"):
        kernel.launch(**{"grid": 1, "block": 32, "args": ARGS} | options)


def test_a_cluster_that_the_kernel_cannot_have(kernel, driver, monkeypatch):
    """One of 16, where registers and shared memory allow 8."""
    monkeypatch.setattr(driver, "cuOccupancyMaxPotentialClusterSize", lambda *_: (Result.CUDA_SUCCESS, 8))
    driver.status = Result.CUDA_ERROR_INVALID_VALUE
    with pytest.raises(DriverError, match=r"a cluster of 16 blocks: this kernel takes at most 8 \(cuOccupancyMaxPot"):
        kernel.launch(16, 32, ARGS, cluster=16)


WAYS = {
    "brackets": lambda kernel: kernel[1, 2048](*ARGS),
    "launch": lambda kernel: kernel.launch(1, 2048, ARGS),
    "bind": lambda kernel: kernel.bind(1, 2048, ARGS)(),
    "a stream in the brackets": lambda kernel: kernel[1, 2048, 0, 5](*ARGS),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_launch_explains(kernel, driver, way):
    """The first launch, a shape not seen before, one that is remembered: the same facts."""
    launch = WAYS[way]
    driver.status = Result.CUDA_ERROR_INVALID_VALUE
    for warm in (False, False, True, True, True):
        kernel._launches.was_launched = warm
        with pytest.raises(DriverError, match=r"launching saxpy failed .*: a block of 2048 threads: this device takes"):
            launch(kernel)
    assert len(driver.launches) == 5


def test_launch_bounds_are_named(kernel, driver):
    """A block that the device would take and the kernel does not."""
    driver.kernel_attributes["MAX_THREADS_PER_BLOCK", kernel.handle, 0] = 64
    driver.status = Result.CUDA_ERROR_INVALID_VALUE
    with pytest.raises(
        DriverError, match=r"a block of 256 threads: this kernel takes at most 64 \(by its __launch_boun"
    ):
        kernel[1, 256](*ARGS)


NEVER_TRIED = [
    ({"grid": 2**32}, r"saxpy: grid 4294967296 has a size beyond 2\*\*32 - 1"),
    ({"block": 0}, "saxpy: block must be one to three positive integers, got 0"),
    ({"grid": -1}, "saxpy: grid must be one to three integers that are not negative, got -1"),
    ({"grid": 1.5}, "saxpy: grid must be one to three integers that are not negative, got 1.5"),
    ({"shared_mem": 1 << 20}, r"saxpy: 1048576 bytes of dynamic shared memory: a block has at most 232448 on this dev"),
    ({"shared_mem": 1.5}, "saxpy: shared memory must be a number of bytes, got 1.5"),
    ({"priority": 2**40}, "the launch attribute PRIORITY cannot be 1099511627776"),
]


@pytest.mark.parametrize(("options", "message"), NEVER_TRIED)
def test_what_cannot_be_said_to_the_driver_is_refused_before(kernel, driver, options, message):
    """These are this package's errors, and never one of Python's own."""
    with pytest.raises(LaunchError, match=message):
        kernel.launch(**{"grid": 1, "block": 32, "args": ARGS} | options)
    assert driver.launches == []


def test_a_fault_of_an_earlier_kernel_is_called_so(kernel, driver):
    """An error that sticks to the context is not put down to the launch that is told of it."""
    driver.status = Result.CUDA_ERROR_ILLEGAL_ADDRESS
    with pytest.raises(
        DriverError, match=r"ILLEGAL_ADDRESS.*an earlier kernel or copy on this device failed"
    ) as caught:
        kernel[1, 32](*ARGS)
    assert caught.value.code == 700
    assert "compute-sanitizer" in caught.value.facts


FORKED = """
import os, sys
from pathlib import Path
import cuda.bindings.driver
sys.path.insert(0, sys.argv[2])
from fake_driver import FakeDriver, Result
fake = FakeDriver()
sys.modules["cuda.bindings.driver"] = cuda.bindings.driver = fake
from hatch_cuda_kernels import DriverError, early, open_store
early._started[:] = [None]
kernel = open_store(Path(sys.argv[1])).get_kernel("saxpy")
if os.fork() == 0:
    # As the driver does in a child: nothing is initialised there.
    fake.cuCtxGetId = fake.cuCtxGetCurrent = fake.cuCtxGetDevice = lambda *_: (Result.CUDA_ERROR_NOT_INITIALIZED, None)
    fake.cuDeviceGet = fake.cuDevicePrimaryCtxRetain = fake.cuCtxGetId
    try:
        kernel[1, 32](2.0, None, None, 4)
    except DriverError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_use_after_a_fork_is_called_so(example_store):
    """A child that was forked after CUDA had started is told so, and what to do instead."""
    support = Path(fake_driver.__file__).parent
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(example_store), str(support)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "this process was forked after CUDA was initialised, so it cannot use CUDA; start it by spawn" in done.stdout
