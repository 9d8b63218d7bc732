#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_store.cuh>

// Sort each whole tile of BLOCK * ITEMS keys on its own.
template <class T, int BLOCK, int ITEMS>
__global__ void __launch_bounds__(BLOCK) sort_keys(const T* in, T* out, int n) {
    using Load = cub::BlockLoad<T, BLOCK, ITEMS, cub::BLOCK_LOAD_TRANSPOSE>;
    using Store = cub::BlockStore<T, BLOCK, ITEMS, cub::BLOCK_STORE_TRANSPOSE>;
    using Sort = cub::BlockRadixSort<T, BLOCK, ITEMS>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Sort::TempStorage sort;
        typename Store::TempStorage store;
    } storage;
    for (int tile = blockIdx.x * BLOCK * ITEMS; tile + BLOCK * ITEMS <= n; tile += gridDim.x * BLOCK * ITEMS) {
        T keys[ITEMS];
        Load(storage.load).Load(in + tile, keys);
        __syncthreads();
        Sort(storage.sort).Sort(keys);
        __syncthreads();
        Store(storage.store).Store(out + tile, keys);
        __syncthreads();
    }
}
