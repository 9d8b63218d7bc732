#include <cub/block/block_radix_sort.cuh>

// The order that sorts each whole tile of BLOCK * ITEMS keys: what was at which place, descending by key.
template <class T, int BLOCK, int ITEMS>
__global__ void __launch_bounds__(BLOCK) sort_pairs(const T* in, T* out, int n) {
    using Sort = cub::BlockRadixSort<T, BLOCK, ITEMS, int>;
    __shared__ typename Sort::TempStorage storage;
    const int tile = blockIdx.x * BLOCK * ITEMS;
    if (tile + BLOCK * ITEMS > n) return;
    T keys[ITEMS];
    int places[ITEMS];
    for (int item = 0; item < ITEMS; ++item) {
        places[item] = threadIdx.x * ITEMS + item;
        keys[item] = in[tile + places[item]];
    }
    Sort(storage).SortDescending(keys, places);
    for (int item = 0; item < ITEMS; ++item) out[tile + threadIdx.x * ITEMS + item] = static_cast<T>(places[item]);
}
