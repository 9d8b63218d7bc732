#include <cub/block/block_merge_sort.cuh>

template <class T>
struct ByMagnitude {
    __device__ bool operator()(const T& a, const T& b) const { return a * a > b * b; }
};

// Sort each tile by magnitude, largest first: what is missing in the last tile counts as 0.
template <class T, int BLOCK, int ITEMS>
__global__ void __launch_bounds__(BLOCK) merge_sort(const T* in, T* out, int n) {
    using Sort = cub::BlockMergeSort<T, BLOCK, ITEMS>;
    __shared__ typename Sort::TempStorage storage;
    const int first = (blockIdx.x * BLOCK + threadIdx.x) * ITEMS;
    T keys[ITEMS];
    for (int item = 0; item < ITEMS; ++item) keys[item] = first + item < n ? in[first + item] : T(0);
    Sort(storage).Sort(keys, ByMagnitude<T>{}, min(BLOCK * ITEMS, n - static_cast<int>(blockIdx.x) * BLOCK * ITEMS), T(0));
    for (int item = 0; item < ITEMS; ++item)
        if (first + item < n) out[first + item] = keys[item];
}
