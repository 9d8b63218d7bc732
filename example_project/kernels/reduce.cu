#include "example/block_reduce.cuh"

// partial[b] = the sum of what block b saw: the elements i with (i / BLOCK) % gridDim.x == b. blockDim.x == BLOCK.
// A second launch of one block over `partial` gives the total, without atomics, so with the same bits on every run.
template <class T, int BLOCK>
__global__ void __launch_bounds__(BLOCK) block_sum(const T* __restrict__ x, T* __restrict__ partial, long long n) {
    T sum = 0;
    const long long stride = static_cast<long long>(gridDim.x) * BLOCK;
    for (long long i = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x; i < n; i += stride) sum += x[i];
    sum = example::block_reduce<BLOCK>(sum, T(0), example::Sum{});
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}
