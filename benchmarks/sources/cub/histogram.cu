#include <cub/block/block_histogram.cuh>

// Counts of 256 values in a tile; `in` holds whole numbers from 0 to 255.
template <class T, int BLOCK, int ITEMS>
__global__ void __launch_bounds__(BLOCK) histogram(const T* in, T* out, int n) {
    using Histogram = cub::BlockHistogram<unsigned char, BLOCK, ITEMS, 256, cub::BLOCK_HISTO_SORT>;
    __shared__ typename Histogram::TempStorage storage;
    __shared__ unsigned int counts[256];
    unsigned char values[ITEMS];
    const int first = (blockIdx.x * BLOCK + threadIdx.x) * ITEMS;
    for (int item = 0; item < ITEMS; ++item)
        values[item] = first + item < n ? static_cast<unsigned char>(in[first + item]) : 0;
    Histogram(storage).Histogram(values, counts);
    __syncthreads();
    for (int bin = threadIdx.x; bin < 256; bin += BLOCK) out[blockIdx.x * 256 + bin] = static_cast<T>(counts[bin]);
}
