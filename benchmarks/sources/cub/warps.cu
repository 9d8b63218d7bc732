#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

#include "bench/reduce.cuh"

// Each warp scans its 32 values, less the smallest of them.
template <class T, int BLOCK, int ITEMS>
__global__ void __launch_bounds__(BLOCK) warps(const T* in, T* out, int n) {
    using Reduce = cub::WarpReduce<T>;
    using Scan = cub::WarpScan<T>;
    __shared__ typename Reduce::TempStorage reduce[BLOCK / 32];
    __shared__ typename Scan::TempStorage scan[BLOCK / 32];
    __shared__ T smallest[BLOCK / 32];
    const int warp = threadIdx.x / 32;
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
        const int i = (blockIdx.x * ITEMS + item) * BLOCK + threadIdx.x;
        T value = i < n ? in[i] : T(0);
        const T found = Reduce(reduce[warp]).Reduce(value, bench::Min{});
        if (threadIdx.x % 32 == 0) smallest[warp] = found;
        __syncwarp();
        Scan(scan[warp]).InclusiveSum(value - smallest[warp], value);
        __syncwarp();
        if (i < n) out[i] = value;
    }
}
