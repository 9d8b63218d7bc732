"""Arguments checked by the C++ types of parameters, with the arrays of real frameworks, on a device."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from hatch_cuda_kernels import compile_to_cubin
from hatch_cuda_kernels.driver import call, compute_capability
from hatch_cuda_kernels.errors import ArgumentError

SOURCE = """
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
extern "C" __global__ void add(float* y, const float* x) { y[0] += x[0]; }
extern "C" __global__ void halves(float* y, __half h, __nv_bfloat16 b, __nv_fp8_e4m3 e4, __nv_fp8_e5m2 e5) {
    y[0] = __half2float(h); y[1] = __bfloat162float(b); y[2] = float(e4); y[3] = float(e5);
}
extern "C" __global__ void half_arrays(const __half* x, const __nv_bfloat16* z, float* y) {
    y[0] = __half2float(x[0]); y[1] = __bfloat162float(z[0]);
}
extern "C" __global__ void vectors(float4 v, dim3 d, float2 c, float* y) {
    y[0] = v.x + v.w; y[1] = d.x * 100 + d.y * 10 + d.z; y[2] = c.y;
}
extern "C" __global__ void signs(int i, unsigned u, bool b, long long* y) { y[0] = i; y[1] = u; y[2] = b; }
extern "C" __global__ void complex_sum(float2* y, const void* any) { y[0].x += 1; y[0].y += 2; }
"""


@pytest.fixture(scope="module")
def compiled(device):
    """Return the test kernels, compiled for this device."""
    major, minor = compute_capability(0)
    return compile_to_cubin(SOURCE, arch=f"sm_{major}{minor}")


@pytest.fixture
def torch():
    """Return torch on the device."""
    found = pytest.importorskip("torch")
    if not found.cuda.is_available():
        pytest.skip("torch has no CUDA here")
    return found


def test_torch_tensors_of_another_dtype(compiled, torch):
    """At every launch, bound ones included; what is right is launched in between."""
    add, y = compiled.get_kernel("add"), torch.zeros(4, device="cuda")
    for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.complex64):
        wrong = torch.ones(4, dtype=dtype, device="cuda")
        with pytest.raises(ArgumentError, match=rf"^argument 0 \(y\) of add is float\*, got {dtype}$"):
            add[1, 1](wrong, y)
        with pytest.raises(ArgumentError, match=rf"^argument 1 \(x\) of add is const float\*, got {dtype}$"):
            add.bind(1, 1, (y, wrong))
        add[1, 1](y, torch.ones(1, device="cuda"))
    assert y[0].item() == 5


def test_torch_tensors_of_half_types(compiled, torch):
    """The types that CUDA has beyond C++'s."""
    y = torch.zeros(2, device="cuda")
    x, z = torch.full((1,), 1.5, dtype=torch.float16, device="cuda"), torch.full((1,), 3, device="cuda").bfloat16()
    compiled.get_kernel("half_arrays")[1, 1](x, z, y)
    assert y.tolist() == [1.5, 3.0]
    with pytest.raises(ArgumentError, match=r"argument 0 \(x\) of half_arrays is const __half\*, got torch.bfloat16"):
        compiled.get_kernel("half_arrays")[1, 1](z, z, y)
    pair = torch.zeros(1, dtype=torch.complex64, device="cuda")
    compiled.get_kernel("complex_sum")[1, 1](pair, x)
    assert pair.item() == 1 + 2j


def test_cupy_arrays_of_another_dtype(compiled):
    """CuPy's dtypes are numpy's."""
    cupy = pytest.importorskip("cupy")
    add, y = compiled.get_kernel("add"), cupy.zeros(1, "f4")
    with pytest.raises(
        ArgumentError, match=r"^argument 1 \(x\) of add is const float\*, got a cupy.ndarray of float64$"
    ):
        add[1, 1](y, cupy.ones(1))
    add[1, 1](y, cupy.ones(1, "f4"))
    assert y.get().tolist() == [1.0]


def test_jax_arrays_of_another_dtype(compiled, on_device):
    """By the array interface, and by DLPack where an array does not have that."""
    jax = pytest.importorskip("jax")
    before = call("cuCtxGetCurrent")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no CUDA here")
    call("cuCtxSetCurrent", before)  # JAX leaves that of its last device
    add, y = compiled.get_kernel("add"), on_device(np.zeros(1, np.float32))
    for dtype in (jax.numpy.int32, jax.numpy.bfloat16):
        with pytest.raises(ArgumentError, match=rf"argument 1 \(x\) of add is const float\*, got .* of {dtype.dtype}"):
            add[1, 1](y, jax.block_until_ready(jax.numpy.ones(1, dtype)))
    add[1, 1](y, jax.block_until_ready(jax.numpy.ones(1, "float32")))
    assert y.numpy().tolist() == [1.0]


def test_read_only_arrays(compiled, on_device):
    """Pinned memory that numpy may not write to is read, and nothing else."""
    add, y = compiled.get_kernel("add"), on_device(np.zeros(1, np.float32))
    address = int(call("cuMemAllocHost", 4))
    try:
        host = np.frombuffer((ctypes.c_float * 1).from_address(address), np.float32)
        host[0] = 7
        host.flags.writeable = False
        add[1, 1](y, host)
        assert y.numpy().tolist() == [7.0]
        with pytest.raises(ArgumentError, match=r"argument 0 \(y\) of add is float\*, got a read-only numpy.ndarray"):
            add[1, 1](host, y)
    finally:
        call("cuMemFreeHost", address)


def test_small_floats_by_value(compiled, on_device):
    """Python's and numpy's numbers are converted as the device would."""
    y = on_device(np.zeros(4, np.float32))
    halves = compiled.get_kernel("halves")
    for arguments in ((1.5, -2.0, 0.875, 3), (np.float16(1.5), np.float32(-2), np.float64(0.875), np.int8(3))):
        halves[1, 1](y, *arguments)
        assert y.numpy().tolist() == [1.5, -2.0, 0.875, 3.0]
    with pytest.raises(ArgumentError, match=r"argument 3 \(e4\) of halves is __nv_fp8_e4m3, got 1000.0 \(float\)"):
        halves[1, 1](y, 0, 0, 1000.0, 0)


def test_small_floats_are_rounded_as_the_device_rounds(compiled, on_device, torch):
    """A thousand numbers of any size, against torch's conversions."""
    y, halves = on_device(np.zeros(4, np.float32)), compiled.get_kernel("halves")
    numbers = np.random.default_rng(1).normal(size=1000).astype(np.float32) * 10
    given = torch.from_numpy(numbers)
    dtypes = (torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2)
    expected = np.stack([given.to(dtype).float().numpy() for dtype in dtypes], axis=1)
    for number, row in zip(numbers.tolist(), expected, strict=True):
        halves[1, 1](y, *[number] * 4)
        assert y.numpy().tolist() == row.tolist()


def test_vectors_and_signs_by_value(compiled, on_device):
    """Tuples for vectors, complex numbers for pairs; integers by the range of their type."""
    y = on_device(np.zeros(3, np.float32))
    compiled.get_kernel("vectors")[1, 1]((1, 2, 3, 4.5), (1, 2, 3), 1 - 2j, y)
    assert y.numpy().tolist() == [5.5, 123.0, -2.0]
    signs, out = compiled.get_kernel("signs"), on_device(np.zeros(3, np.int64))
    signs[1, 1](-5, 4_000_000_000, True, out)
    assert out.numpy().tolist() == [-5, 4_000_000_000, 1]
    for arguments, message in (
        ((2**31, 0, True), r"argument 0 \(i\) of signs is int, got 2147483648"),
        ((0, -1, True), r"argument 1 \(u\) of signs is unsigned int, got -1"),
        ((0, 0, 2), r"argument 2 \(b\) of signs is bool, got 2"),
    ):
        with pytest.raises(ArgumentError, match=message):
            signs[1, 1](*arguments, out)
