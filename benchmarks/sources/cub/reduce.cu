#include <cub/block/block_load.cuh>
#include <cub/block/block_reduce.cuh>

#include "bench/reduce.cuh"

// The sum and the largest of what each block saw, two values a block.
template <class T, int BLOCK, int ITEMS>
__global__ void __launch_bounds__(BLOCK) reduce(const T* in, T* out, int n) {
    using Load = cub::BlockLoad<T, BLOCK, ITEMS, cub::BLOCK_LOAD_VECTORIZE>;
    using Reduce = cub::BlockReduce<T, BLOCK, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Reduce::TempStorage reduce;
    } storage;
    const int tile = blockIdx.x * BLOCK * ITEMS;
    T values[ITEMS];
    Load(storage.load).Load(in + tile, values, max(0, min(n - tile, BLOCK * ITEMS)), T(0));
    __syncthreads();
    const T sum = Reduce(storage.reduce).Sum(values);
    __syncthreads();
    const T largest = Reduce(storage.reduce).Reduce(values, bench::Max{});
    if (threadIdx.x == 0) {
        out[2 * blockIdx.x] = sum;
        out[2 * blockIdx.x + 1] = largest;
    }
}
