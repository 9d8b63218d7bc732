"""What one source has in common with others, read from its object and from its PTX."""

from __future__ import annotations

from raw_nvrtc import compile_raw

from hatch_cuda_kernels.compiler.binary.cubin import Linkage, linkage_of_object, linkage_of_ptx

SOURCE = """
extern __device__ int other_table[4];
extern __constant__ float other_scale;
__device__ float other(float x);
__device__ float mine(float x) { return other(x) + other_table[1] * other_scale; }
__device__ int table[4];
__constant__ struct { int a, b; } pair;
static __device__ int hidden = 3;
template <class T> __device__ __noinline__ T shared(T x) { return x + hidden; }
extern "C" __global__ void kernel(float* y) { *y = mine(*y) + shared(3) + pair.a; }
"""
EXPECTED = Linkage(
    frozenset({"_Z4minef", "table", "pair", "kernel"}),
    frozenset({"other_table", "other_scale", "_Z5otherf"}),
    frozenset({"_Z6sharedIiET_S0_"}),
)


def test_objects_and_ptx_say_the_same():
    """What only one source has does not count."""
    made = compile_raw(SOURCE, "-dc", arch="sm_90")
    assert linkage_of_object(made.cubin) == EXPECTED
    assert linkage_of_ptx(made.ptx) == EXPECTED
