#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_scan.cuh>

struct Differ {
    template <class T>
    __device__ bool operator()(const T& a, const T& b) const {
        return a != b;
    }
};

// Each block keeps the first of each run in its whole tile, packed to the front of the tile.
template <class T, int BLOCK, int ITEMS>
__global__ void __launch_bounds__(BLOCK) unique(const T* in, T* out, int n) {
    using Load = cub::BlockLoad<T, BLOCK, ITEMS, cub::BLOCK_LOAD_TRANSPOSE>;
    using Heads = cub::BlockDiscontinuity<T, BLOCK>;
    using Scan = cub::BlockScan<int, BLOCK>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Heads::TempStorage heads;
        typename Scan::TempStorage scan;
    } storage;
    const int tile = blockIdx.x * BLOCK * ITEMS;
    if (tile + BLOCK * ITEMS > n) return;
    T values[ITEMS];
    int heads[ITEMS], places[ITEMS];
    Load(storage.load).Load(in + tile, values);
    __syncthreads();
    Heads(storage.heads).FlagHeads(heads, values, Differ{});
    __syncthreads();
    Scan(storage.scan).ExclusiveSum(heads, places);
    for (int item = 0; item < ITEMS; ++item)
        if (heads[item]) out[tile + places[item]] = values[item];
}
