"""Numbers, accessors and the generator's state as Torch's device code has them, on a device."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from hatch_cuda_kernels import compile_to_cubin

NUMBERS = """
#include <hatch_cuda_kernels/torch_numbers.h>
template <typename T> __device__ void compute(const T* a, const T* b, unsigned short* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T found[6] = {a[i] + b[i], a[i] - b[i], a[i] * b[i], a[i] / b[i], T(a[i] * 3 - 0.5f), -a[i]};
    for (int k = 0; k < 6; ++k) out[6 * i + k] = found[k].x;
}
extern "C" __global__ void halves(const unsigned short* a, const unsigned short* b, unsigned short* out, int n) {
    compute((const c10::Half*)a, (const c10::Half*)b, out, n);
}
extern "C" __global__ void brains(const unsigned short* a, const unsigned short* b, unsigned short* out, int n) {
    compute((const c10::BFloat16*)a, (const c10::BFloat16*)b, out, n);
}
"""
STATE = """
#include <hatch_cuda_kernels/torch_accessors.h>
#include <hatch_cuda_kernels/torch_philox.h>
extern "C" __global__ void k(at::PackedTensorAccessor32<float, 2, at::RestrictPtrTraits> a, at::PhiloxCudaState state,
                             unsigned long long* out) {
    a[threadIdx.x][1] = a.size(1) * 10 + a[threadIdx.x].stride(0);
    auto seeds = at::cuda::philox::unpack(state);
    out[0] = std::get<0>(seeds);
    out[1] = std::get<1>(seeds);
}
"""


def rounded_to_half(values):
    """Return the bits of floats as float16."""
    return values.astype(np.float16).view(np.uint16)


def rounded_to_brain(values):
    """Return the bits of floats as bfloat16, to the nearest, to even at a tie."""
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def half_value(bits):
    """Return the floats of float16 bits."""
    return bits.view(np.float16).astype(np.float32)


def brain_value(bits):
    """Return the floats of bfloat16 bits."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


FORMATS = {"halves": (half_value, rounded_to_half), "brains": (brain_value, rounded_to_brain)}


@pytest.mark.parametrize("kernel", FORMATS)
def test_each_result_is_that_of_floats_rounded(on_device, native, kernel):
    """As Torch computes them, for all numbers of 16 bits."""
    value, rounded = FORMATS[kernel]
    a = np.arange(1 << 16, dtype=np.uint16)
    b = np.random.default_rng(1).permutation(a)
    out = on_device(np.zeros((a.size, 6), np.uint16))
    compile_to_cubin(NUMBERS, arch=native).get_kernel(kernel)[256, 256](on_device(a), on_device(b), out, a.size)
    x, y = value(a), value(b)
    with np.errstate(all="ignore"):
        thrice = value(rounded(x * np.float32(3)))
        wanted = np.stack([x + y, x - y, x * y, x / y, thrice - np.float32(0.5), -x], 1)
        wanted_bits = rounded(np.ascontiguousarray(wanted))
    found = out.numpy()
    numbers = ~np.isnan(wanted)
    assert np.array_equal(found[numbers], wanted_bits[numbers])
    assert np.isnan(value(np.ascontiguousarray(found))[~numbers]).all()


class Accessor(ctypes.Structure):
    """A pointer, the sizes, the strides."""

    _fields_ = (("data", ctypes.c_void_p), ("sizes", ctypes.c_int32 * 2), ("strides", ctypes.c_int32 * 2))


class State(ctypes.Structure):
    """The generator's."""

    _fields_ = (
        ("seed", ctypes.c_uint64),
        ("offset", ctypes.c_uint64),
        ("added", ctypes.c_uint64),
        ("captured", ctypes.c_bool),
    )


@pytest.mark.parametrize("captured", [False, True])
def test_what_the_host_gives_is_read(on_device, native, captured):
    """An accessor of a tensor that is not contiguous; a state with values, or with where they are."""
    data, out = on_device(np.zeros((3, 8), np.float32)), on_device(np.zeros(2, np.uint64))
    seed, offset = on_device(np.array([7], np.uint64)), on_device(np.array([40], np.uint64))
    state = State(seed.address, offset.address, 2, True) if captured else State(7, 42, 0, False)
    accessor = Accessor(data.address, (3, 4), (8, 2))
    compile_to_cubin(STATE, arch=native).get_kernel("k")[1, 3](accessor, state, out)
    assert out.numpy().tolist() == [7, 42]
    assert data.numpy()[:, 2].tolist() == [42, 42, 42]
