// CUB is header-only and costs the compiler seconds: kernels such as this are why a wheel should carry images.
#include <cub/block/block_radix_sort.cuh>

// What fills the end of a last, partial tile: the key that sorts after all others. CUB's radix sort orders floats by
// their bits (NaN with the sign set, negative, -0 = +0, positive, +inf, other NaN), so for them it is this NaN.
template <class KEY>
__device__ KEY last_key();
template <>
__device__ int last_key<int>() {
    return 0x7fffffff;
}
template <>
__device__ unsigned int last_key<unsigned int>() {
    return 0xffffffffu;
}
template <>
__device__ float last_key<float>() {
    return __uint_as_float(0x7fffffffu);
}

// Sort each tile of BLOCK * ITEMS keys on its own, ascending; blockDim.x == BLOCK. keys_out may be keys_in.
template <class KEY, int BLOCK, int ITEMS>
__global__ void __launch_bounds__(BLOCK) sort_tiles(const KEY* keys_in, KEY* keys_out, long long n) {
    using Sort = cub::BlockRadixSort<KEY, BLOCK, ITEMS>;
    __shared__ typename Sort::TempStorage storage;
    constexpr long long kTile = BLOCK * ITEMS;
    for (long long tile = blockIdx.x * kTile; tile < n; tile += gridDim.x * kTile) {
        KEY keys[ITEMS];
        // Striped: neighbouring threads touch neighbouring keys, so loads and stores coalesce. How unsorted keys are
        // dealt out does not matter, and SortBlockedToStriped deals the sorted ones out in the same way.
#pragma unroll
        for (int item = 0; item < ITEMS; ++item) {
            const long long i = tile + item * BLOCK + threadIdx.x;
            keys[item] = i < n ? keys_in[i] : last_key<KEY>();
        }
        Sort(storage).SortBlockedToStriped(keys);
#pragma unroll
        for (int item = 0; item < ITEMS; ++item) {
            const long long i = tile + item * BLOCK + threadIdx.x;
            if (i < n) keys_out[i] = keys[item];
        }
        __syncthreads();  // before the next round writes to `storage`
    }
}
