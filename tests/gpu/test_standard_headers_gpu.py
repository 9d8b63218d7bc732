"""What the package's own headers compute on a device."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hatch_cuda_kernels import compile_to_cubin

SOURCES = Path(__file__).parents[1] / "source/standard_headers"


def test_nvstd_function_calls_what_it_holds(on_device, native):
    """Functions, lambdas and large objects, after copies, moves and swaps."""
    out = on_device(np.zeros(8, np.int32))
    kernel = compile_to_cubin((SOURCES / "nvfunctional.cu").read_text(), arch=native).get_kernel("kernel")
    kernel[1, 1](out, 10)
    assert out.numpy().tolist() == [6, 13, 24, 11, 1, -1, 1, 2]


def test_alloca_takes_memory_in_the_frame(on_device, native):
    """Twice in one kernel, in a loop, and as many bytes as an argument says."""
    text = """#include <alloca.h>
__device__ int mixed(const int* p, int n) {
    int* q = static_cast<int*>(alloca(n * sizeof(int)));
    for (int i = 0; i < n; i++) q[i] = p[n - 1 - i];
    int sum = 0;
    for (int i = 0; i < n; i++) sum = sum * 3 + q[i];
    return sum;
}
extern "C" __global__ void kernel(int* p, int n) {
    const int whole = mixed(p, n);
    for (int i = 1; i <= n; i++) p[i - 1] = mixed(p + i - 1, n - i + 1) - whole;
}
"""
    values = np.arange(1, 38, dtype=np.int32)
    out = on_device(values)
    kernel = compile_to_cubin(text, arch=native).get_kernel("kernel")
    kernel[1, 1](out, 37)
    expected = values.astype(object)

    def mixed(rest):
        total = 0
        for value in rest[::-1]:
            total = total * 3 + int(value)
        return total

    whole = mixed(expected)
    for i in range(37):
        expected[i] = np.int64((mixed(expected[i:]) - whole) & 0xFFFFFFFF).astype(np.uint32).view(np.int32)
    assert out.numpy().tolist() == [int(value) for value in expected]
