#include <cub/block/block_exchange.cuh>
#include <cub/block/block_shuffle.cuh>

// The difference of neighbours in a tile, read and written striped, computed blocked.
template <class T, int BLOCK, int ITEMS>
__global__ void __launch_bounds__(BLOCK) exchange(const T* in, T* out, int n) {
    using Exchange = cub::BlockExchange<T, BLOCK, ITEMS>;
    using Shuffle = cub::BlockShuffle<T, BLOCK>;
    __shared__ union {
        typename Exchange::TempStorage exchange;
        typename Shuffle::TempStorage shuffle;
    } storage;
    const int tile = blockIdx.x * BLOCK * ITEMS;
    T values[ITEMS], before[ITEMS];
    for (int item = 0; item < ITEMS; ++item) {
        const int i = tile + item * BLOCK + threadIdx.x;
        values[item] = i < n ? in[i] : T(0);
    }
    Exchange(storage.exchange).StripedToBlocked(values, values);
    __syncthreads();
    before[0] = T(0);
    Shuffle(storage.shuffle).Up(values, before);
    __syncthreads();
    for (int item = 0; item < ITEMS; ++item) values[item] -= before[item];
    Exchange(storage.exchange).BlockedToStriped(values, values);
    for (int item = 0; item < ITEMS; ++item) {
        const int i = tile + item * BLOCK + threadIdx.x;
        if (i < n) out[i] = values[item];
    }
}
