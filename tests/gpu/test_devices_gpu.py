"""Two devices in one process, without any ``with device``. Skipped with one."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from hatch_cuda_kernels import compile_to_cubin, tensor_map
from hatch_cuda_kernels.driver import compute_capability, device_count, memory_device
from hatch_cuda_kernels.errors import ArgumentError, HatchCudaKernelsError


@pytest.fixture(autouse=True)
def _two_devices(device):
    if device_count() < 2:
        pytest.skip("one device here")


@pytest.fixture
def torch():
    """Return torch, with its contexts made."""
    torch = pytest.importorskip("torch")
    for ordinal in range(2):
        torch.zeros(1, device=f"cuda:{ordinal}")
    return torch


@pytest.fixture
def saxpy(build, native):
    """Return the prebuilt saxpy kernel."""
    return build(native).get_kernel("saxpy")


def run(torch, kernel, ordinal, factor):
    """Launch on a device's tensors and check the result."""
    x = torch.ones(1000, device=f"cuda:{ordinal}")
    y = torch.zeros(1000, device=f"cuda:{ordinal}")
    kernel[4, 256](y, x, 1000, factor)
    assert (y == factor).all()


def test_a_launch_goes_to_the_device_of_its_tensors(torch, saxpy):
    """Whichever device is current, and it stays current."""
    for current in range(2):
        with torch.cuda.device(current):
            for ordinal in (0, 1, 1, 0):
                run(torch, saxpy, ordinal, ordinal + 1.0)
            assert torch.cuda.current_device() == current


def test_tensors_of_two_devices_are_refused(torch, saxpy):
    """The error names both; the context lives."""
    x, y = torch.ones(4, device="cuda:0"), torch.zeros(4, device="cuda:1")
    with pytest.raises(ArgumentError, match=r"argument 0 on device 1, argument 1 on device 0"):
        saxpy[1, 32](y, x, 4, 1.0)
    run(torch, saxpy, 0, 1.0)


def test_the_current_stream_is_that_of_the_device(torch, saxpy):
    """Each device has its own current stream."""
    side = torch.cuda.Stream(device=1)
    x, y = torch.ones(1000, device="cuda:1"), torch.zeros(1000, device="cuda:1")
    torch.cuda.synchronize(1)
    with torch.cuda.stream(side):
        torch.cuda._sleep(20_000_000)
        x.fill_(3)
    with torch.cuda.device(0), torch.cuda.stream(side):
        saxpy[4, 256](y, x, 1000, 1.0)
    side.synchronize()
    assert (y == 3).all()


def test_threads_without_a_context(torch, saxpy):
    """Eight threads, each on its device, none of which has used CUDA before."""
    failures = []

    def work(ordinal):
        try:
            for _ in range(50):
                run(torch, saxpy, ordinal, 2.0)
        except (AssertionError, RuntimeError, HatchCudaKernelsError) as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number % 2,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_cupy_arrays_on_the_other_device(saxpy):
    """CuPy's arrays tell their device too."""
    cupy = pytest.importorskip("cupy")
    with cupy.cuda.Device(1):
        x, y = cupy.ones(1000, cupy.float32), cupy.zeros(1000, cupy.float32)
    saxpy[4, 256](y, x, 1000, 5.0)
    with cupy.cuda.Device(1):
        cupy.cuda.Device(1).synchronize()
        assert float(y.sum()) == 5000
    with cupy.cuda.Device(0):
        other = cupy.ones(1000, cupy.float32)
    with pytest.raises(ArgumentError, match="on several devices"):
        saxpy[4, 256](y, other, 1000, 5.0)


def test_jax_beside_torch(torch, saxpy):
    """Arrays of both on the second device, while torch's current device is the first one."""
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu" or len(jax.devices()) < 2:
        pytest.skip("jax sees no two GPUs here")
    x = jax.device_put(np.full(1000, 3, np.float32), jax.devices()[1])
    x.block_until_ready()
    y = torch.zeros(1000, device="cuda:1")
    with torch.cuda.device(0):
        saxpy[4, 256](y, x, 1000, 2.0)
        assert (y == 6).all()
        with pytest.raises(ArgumentError, match="on several devices"):
            saxpy[4, 256](torch.zeros(1000, device="cuda:0"), x, 1000, 2.0)


def test_a_tensor_map_on_the_other_device(torch, native):
    """The launch goes to the device of the map's array, on its current stream."""
    if compute_capability(0) < (9, 0):
        pytest.skip("TMA needs compute capability 9.0")
    x = torch.ones(64, 64, device="cuda:1")
    source = """
    struct alignas(64) Map { unsigned long long opaque[16]; };
    extern "C" __global__ void first(const __grid_constant__ Map map, unsigned long long* y) { *y = map.opaque[0]; }
    """
    y = torch.zeros(1, dtype=torch.int64, device="cuda:1")
    found = tensor_map(x, box=(8, 32))
    with torch.cuda.device(1):
        kernel = compile_to_cubin(source, arch=native).get_kernel("first")
    with torch.cuda.device(0):
        kernel[1, 1](found, y)
    assert y.item() == int.from_bytes(found.tobytes()[:8], "little", signed=True)


def test_arrays_of_the_interface_alone(torch, saxpy):
    """Their device is asked from the driver."""

    class Only:
        def __init__(self, tensor):
            self.tensor = tensor

        @property
        def __cuda_array_interface__(self):
            return self.tensor.__cuda_array_interface__

    x, y = torch.ones(1000, device="cuda:1"), torch.zeros(1000, device="cuda:1")
    assert memory_device(y.data_ptr()) == 1
    torch.cuda.synchronize(1)
    saxpy[4, 256](Only(y), Only(x), 1000, 5.0)
    torch.cuda.synchronize(1)
    assert (y == 5).all()


def test_a_variable_is_on_every_device(torch, build, native):
    """An array sets it on its own device, a host array on the current one."""
    store = build(native)
    variable, bias = store.get_global("d_bias"), store.get_kernel("bias")
    variable.copy_from(np.arange(4, dtype=np.float32))
    variable.copy_from(torch.full((4,), 7.0, device="cuda:1"))
    for ordinal, expected in ((0, [0, 2, 4, 6]), (1, [14] * 4)):
        y = torch.zeros(4, device=f"cuda:{ordinal}")
        bias[1, 4](y)
        assert y.tolist() == expected
    with torch.cuda.device(1):
        copy = np.zeros(4, np.float32)
        variable.copy_to(copy)
    assert copy.tolist() == [7] * 4


def test_a_bound_launch_stays_on_its_device(torch, saxpy):
    """From whichever device is current."""
    x, y = torch.ones(1000, device="cuda:1"), torch.zeros(1000, device="cuda:1")
    go = saxpy.bind(4, 256, (y, x, 1000, 1.0))
    with torch.cuda.device(0):
        go()
    with torch.cuda.device(1):
        go()
    assert (y == 2).all()


def test_kernels_are_loaded_for_the_device_that_is_current(torch, build, native):
    """One object for both; ``warm_up`` loads it on each."""
    store = build(native)
    assert store.warm_up(["bias"], devices=[0, 1]).prebuilt == 2
    kernel = store.get_kernel("bias")
    with torch.cuda.device(1):
        assert store.get_kernel("bias") is kernel
        assert kernel.ordinal == 1
    assert kernel.ordinal == 0
