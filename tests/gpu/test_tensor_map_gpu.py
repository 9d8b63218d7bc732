"""Tensor maps on a device with TMA: tiles that a kernel loads by them, and what the driver takes."""

from __future__ import annotations

import numpy as np
import pytest

from hatch_cuda_kernels import compile_to_cubin, tensor_map
from hatch_cuda_kernels.driver import compute_capability
from hatch_cuda_kernels.errors import ArgumentError

ROWS, COLUMNS = 8, 32
SOURCE = """
#include <cuda.h>
extern "C" __global__ void load(const __grid_constant__ CUtensorMap map, float* out, int column, int row) {
    __shared__ alignas(1024) float tile[8 * 32];
    __shared__ alignas(8) unsigned long long barrier;
    unsigned memory = __cvta_generic_to_shared(tile), arrived = __cvta_generic_to_shared(&barrier), done = 0;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(arrived) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" :: "r"(arrived) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                     " [%0], [%1, {%2, %3}], [%4];"
                     :: "r"(memory), "l"(&map), "r"(column), "r"(row), "r"(arrived) : "memory");
    }
    __syncthreads();
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(arrived) : "memory");
    for (int i = threadIdx.x; i < 8 * 32; i += blockDim.x) out[i] = tile[i];
}
"""


@pytest.fixture(autouse=True)
def _tma(device):
    if compute_capability(0) < (9, 0):
        pytest.skip("TMA needs compute capability 9.0")


@pytest.fixture
def load(native):
    """Return the kernel that loads a tile."""
    return compile_to_cubin(SOURCE, arch=native).get_kernel("load")


@pytest.fixture
def tile(load, on_device):
    """Return a function that loads the tile at a row and column."""

    def at(found, row, column):
        out = on_device(np.full((ROWS, COLUMNS), -1, np.float32))
        load[1, 64](found, out, column, row)
        return out.numpy()

    return at


def test_a_tile_is_loaded(tile, on_device):
    """By rows and columns; what is outside the array is zero."""
    host = np.arange(64 * 96, dtype=np.float32).reshape(64, 96)
    array = on_device(host)
    found = tensor_map(array, box=(ROWS, COLUMNS))
    assert (tile(found, 16, 32) == host[16:24, 32:64]).all()
    corner = tile(found, 60, 80)
    assert (corner[:4, :16] == host[60:, 80:]).all()
    assert not corner[4:].any()
    assert not corner[:, 16:].any()


def test_a_swizzled_tile(tile, on_device):
    """128B: chunks of 16 bytes trade places by their row."""
    host = np.arange(64 * 96, dtype=np.float32).reshape(64, 96)
    loaded = tile(tensor_map(on_device(host), box=(ROWS, COLUMNS), swizzle="128B", l2_promotion="128B"), 8, 64)
    rows, columns = np.indices((ROWS, COLUMNS))
    assert (loaded[rows, (columns // 4 ^ rows) * 4 + columns % 4] == host[8:16, 64:]).all()


def test_a_part_of_a_torch_tensor(tile):
    """Its strides are kept, its current stream is the launch's."""
    torch = pytest.importorskip("torch")
    whole = torch.arange(64 * 256, device="cuda", dtype=torch.float32).reshape(64, 256)
    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(20_000_000)
        whole += 1
        part = whole[8:, 128:]
        loaded = tile(tensor_map(part, box=(ROWS, COLUMNS)), 8, 32)
    assert (loaded == whole[16:24, 160:192].cpu().numpy()).all()


def test_a_bound_launch_with_a_map(load, on_device):
    """It keeps the array alive."""
    host = np.arange(64 * 32, dtype=np.float32).reshape(64, 32)
    out = on_device(np.zeros((ROWS, COLUMNS), np.float32))
    go = load.bind(1, 64, (tensor_map(on_device(host), box=(ROWS, COLUMNS)), out, 0, 8))
    go()
    assert (out.numpy() == host[8:16]).all()


TAKEN = [
    (((64,), "float16"), {"box": (64,)}),
    (((2, 3, 4, 5, 64), "uint8"), {"box": (1, 1, 2, 5, 64), "swizzle": "64B"}),
    (((64, 64), "int8"), {"box": (256, 16), "swizzle": "32B", "element_strides": (2, 1)}),
    (((64, 64), "float64"), {"box": (64, 16), "swizzle": "128B", "l2_promotion": "256B"}),
    (((64, 64), "float32"), {"box": (64, 256), "oob_fill": "nan", "data_type": "tfloat32"}),
    (((4, 8, 8, 16), "float16"), {"box": (1, 4, 4, 16), "interleave": "32B", "swizzle": "32B"}),
    (((4, 8, 8, 8), "float16"), {"box": (1, 4, 4, 8), "interleave": "16B"}),
    (((1, 7, 1, 16), "int16"), {"box": (1, 2, 1, 16)}),
    (((64, 32), "complex64"), {"box": (8, 16), "swizzle": "128B"}),
]


@pytest.mark.parametrize(("array", "options"), TAKEN, ids=range(len(TAKEN)))
def test_what_the_rules_allow_the_driver_takes(on_device, array, options):
    """At the limits of the rules, and for all kinds of elements."""
    shape, dtype = array
    assert len(tensor_map(on_device(np.zeros(shape, dtype)), **options).tobytes()) == 128


def test_what_the_rules_refuse(on_device):
    """Values and limits, in place of CUDA_ERROR_INVALID_VALUE."""
    with pytest.raises(ArgumentError, match="the stride of dimension 0 is 40 bytes, and must be a multiple of 16"):
        tensor_map(on_device(np.zeros((8, 10), np.float32)), box=(8, 8))
