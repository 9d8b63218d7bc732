#include <cub/block/block_load.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>

// Carries the sum of the tiles before: one block scans it all.
template <class T>
struct Carry {
    T before;
    __device__ T operator()(T total) {
        const T start = before;
        before += total;
        return start;
    }
};

template <class T, int BLOCK, int ITEMS>
__global__ void __launch_bounds__(BLOCK) scan(const T* in, T* out, int n) {
    using Load = cub::BlockLoad<T, BLOCK, ITEMS, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using Store = cub::BlockStore<T, BLOCK, ITEMS, cub::BLOCK_STORE_WARP_TRANSPOSE>;
    using Scan = cub::BlockScan<T, BLOCK, cub::BLOCK_SCAN_RAKING_MEMOIZE>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Scan::TempStorage scan;
        typename Store::TempStorage store;
    } storage;
    Carry<T> carry{T(0)};
    for (int tile = 0; tile < n; tile += BLOCK * ITEMS) {
        T values[ITEMS];
        Load(storage.load).Load(in + tile, values, n - tile, T(0));
        __syncthreads();
        Scan(storage.scan).ExclusiveSum(values, values, carry);
        __syncthreads();
        Store(storage.store).Store(out + tile, values, n - tile);
        __syncthreads();
    }
}
