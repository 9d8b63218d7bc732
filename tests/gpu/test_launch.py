"""Launches with everybody's arrays, on everybody's streams."""

from __future__ import annotations

import numpy as np
import pytest

from hatch_cuda_kernels import driver, open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.driver import call
from hatch_cuda_kernels.errors import ArgumentError, DriverError, LaunchError
from hatch_cuda_kernels.manifest import load_manifest

N = 5000


@pytest.fixture
def saxpy(build, native):
    """Return the prebuilt saxpy kernel."""
    return build(native).get_kernel("saxpy")


def values():
    """Return x, y and the expected result for a = 3."""
    x, y = np.linspace(0, 1, N, dtype=np.float32), np.full(N, 2, np.float32)
    return x, y, 3 * x + y


def test_numpy_scalars_and_pinned_arrays(saxpy, on_device, pinned):
    """Numpy scalars are numbers; pinned host arrays are in reach of the device."""
    x, y, expected = values()
    out = on_device(y)
    saxpy[20, 256](out, pinned(x), np.int32(N), np.float64(3))
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6)


def test_ordinary_host_array_is_refused(saxpy, on_device):
    """A pageable numpy array is named with its position instead of crashing the kernel."""
    x, y, _ = values()
    with pytest.raises(ArgumentError, match=r"argument 1 \(x\) of saxpy .* ordinary host memory"):
        saxpy[20, 256](on_device(y), x, N, 3.0)


def test_driver_stream(saxpy, on_device, stream):
    """A stream of the bindings is taken as it is."""
    x, y, expected = values()
    out = on_device(y)
    saxpy.launch(20, 256, (out, on_device(x), N, 3), stream=stream)
    call("cuStreamSynchronize", stream)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6)


def test_torch_tensors_on_a_side_stream(saxpy):
    """Torch tensors launch on torch's current stream: ordered after what is queued there."""
    torch = pytest.importorskip("torch")
    x, _, expected = values()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(50_000_000)
        tx, ty = torch.from_numpy(x).pin_memory().to("cuda", non_blocking=True), torch.full((N,), 2.0, device="cuda")
        saxpy[20, 256](ty, tx, N, 3.0)
        result = ty.clone()
    side.synchronize()
    np.testing.assert_allclose(result.cpu().numpy(), expected, rtol=1e-6)


def test_torch_stream_object(saxpy):
    """A torch stream can be passed explicitly."""
    torch = pytest.importorskip("torch")
    x, y, expected = values()
    tx, ty = torch.from_numpy(x).cuda(), torch.from_numpy(y).cuda()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    saxpy.launch(20, 256, (ty, tx, N, 3.0), stream=side)
    side.synchronize()
    np.testing.assert_allclose(ty.cpu().numpy(), expected, rtol=1e-6)


def test_torch_host_tensor_is_refused(saxpy):
    """A tensor left on the CPU is an error that says so."""
    torch = pytest.importorskip("torch")
    with pytest.raises(ArgumentError, match=r"the tensor is on cpu"):
        saxpy[1, 32](torch.zeros(4), torch.zeros(4), 4, 1.0)


def test_torch_tensor_for_a_number_is_refused(saxpy):
    """A device scalar where a number belongs would hide a synchronisation; it is refused."""
    torch = pytest.importorskip("torch")
    t = torch.zeros(4, device="cuda")
    with pytest.raises(ArgumentError, match=r"argument 3 \(a\) of saxpy is float, got torch.Tensor"):
        saxpy[1, 32](t, t, 4, torch.tensor(1.0, device="cuda"))


def test_cupy_arrays_on_a_side_stream(saxpy):
    """CuPy arrays launch on CuPy's current stream."""
    cupy = pytest.importorskip("cupy")
    x, y, expected = values()
    with cupy.cuda.Stream(non_blocking=True) as side:
        cx, cy = cupy.asarray(x), cupy.asarray(y)
        saxpy[20, 256](cy, cx, N, 3.0)
        side.synchronize()
        np.testing.assert_allclose(cupy.asnumpy(cy), expected, rtol=1e-6)


def test_cuda_core_buffers_and_stream(saxpy):
    """cuda.core buffers (by handle or DLPack) and streams (by protocol) work."""
    core = pytest.importorskip("cuda.core")
    x, y, expected = values()
    device = core.Device()
    device.set_current()
    side = device.create_stream()
    buffers = [device.allocate(N * 4, stream=side) for _ in range(2)]
    for buffer, host in zip(buffers, (y, x), strict=True):
        call("cuMemcpyHtoDAsync", int(buffer.handle), host.ctypes.data, host.nbytes, int(side.handle))
    saxpy.launch(20, 256, (*buffers, N, 3.0), stream=side)
    side.sync()
    result = np.empty(N, np.float32)
    call("cuMemcpyDtoH", result.ctypes.data, int(buffers[0].handle), result.nbytes)
    np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_jax_arrays(saxpy, on_device):
    """JAX arrays are read through their array interface."""
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("jax sees no GPU here")
    x, y, expected = values()
    with driver.on_device(0):  # where there are several, XLA leaves another one current
        out = on_device(y)
    jx = jax.numpy.asarray(x)
    jx.block_until_ready()
    saxpy[20, 256](out, jx, N, 3.0)
    with driver.on_device(0):
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6)


def test_dlpack_only_array(saxpy, on_device):
    """An array that offers DLPack alone is read through its capsule."""
    torch = pytest.importorskip("torch")
    x, y, expected = values()

    class OnlyDlpack:
        def __init__(self, tensor):
            self._tensor = tensor

        def __dlpack_device__(self):
            return self._tensor.__dlpack_device__()

        def __dlpack__(self, **kwargs):
            return self._tensor.__dlpack__(**kwargs)

    out = on_device(y)
    saxpy[20, 256](out, OnlyDlpack(torch.from_numpy(x).cuda()), N, 3.0)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6)


def test_as_cuda_core(saxpy, on_device):
    """The same image can be launched through cuda.core."""
    core = pytest.importorskip("cuda.core")
    x, y, expected = values()
    device = core.Device()
    device.set_current()
    out, cx = on_device(y), on_device(x)
    side = device.create_stream()
    config = core.LaunchConfig(grid=20, block=256)
    core.launch(side, config, saxpy.as_cuda_core(), out.address, cx.address, np.int32(N), np.float32(3))
    side.sync()
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6)


def test_constant_memory(build, native, on_device):
    """A constant written through get_global is what the kernel reads."""
    store = build(native)
    variable = store.get_global("d_bias")
    host = np.array([1, 2, 3, 4], np.float32)
    assert variable.size == host.nbytes
    call("cuMemcpyHtoD", variable.address, host.ctypes.data, host.nbytes)
    out = on_device(np.zeros(4, np.float32))
    store.get_kernel("bias")[1, 4](out)
    assert out.numpy().tolist() == [2, 4, 6, 8]


def test_a_kernel_without_parameters(write, tmp_path, native):
    """It is launched with no arguments, and runs each time."""
    write("count.cu", '__device__ float d_count;\nextern "C" __global__ void count_up() { d_count += 1; }\n')
    manifest = f"schema: 1\narches: [{native}]\nmodules:\n  count: {{source: count.cu, globals: [d_count]}}\n"
    build_store(load_manifest(write("kernels.yaml", manifest)), tmp_path / "store")
    store = open_store(tmp_path / "store")
    count_up, count = store.get_kernel("count_up"), np.full(1, -1, np.float32)
    address = store.get_global("d_count").address
    call("cuMemcpyHtoD", address, np.zeros(1, np.float32).ctypes.data, 4)
    count_up[1, 1]()
    count_up[1, 1]()
    call("cuCtxSynchronize")
    call("cuMemcpyDtoH", count.ctypes.data, address, 4)
    assert count.tolist() == [2]


def test_get_kernel_is_memoised(build, native):
    """The second call gives the very same object."""
    store = build(native)
    assert store.get_kernel("saxpy") is store.get_kernel("saxpy")


def test_bad_block_is_an_error_and_the_context_lives(saxpy, on_device):
    """A block beyond the device's limit is the driver's error with the limit, and the next launch works."""
    x, y, expected = values()
    out = on_device(y)
    with pytest.raises(DriverError, match=r"launching saxpy failed with CUDA_ERROR_INVALID_VALUE.*at most 1024 "):
        saxpy[1, 4096](out, on_device(x), N, 3.0)
    with pytest.raises(LaunchError, match="block must be one to three positive integers"):
        saxpy[1, 0](out, on_device(x), N, 3.0)
    saxpy[0, 256](out, on_device(x), N, 3.0)  # does nothing
    saxpy[20, 256](out, on_device(x), N, 3.0)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6)
