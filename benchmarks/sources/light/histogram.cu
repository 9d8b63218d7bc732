#include "bench/grid.cuh"

__device__ inline int bin_of(T value, float low, float scale) {
    return min(max(static_cast<int>((static_cast<float>(value) - low) * scale), 0), BINS - 1);
}

// Each block counts in shared memory and adds what it has at the end.
extern "C" __global__ void histogram(const T* __restrict__ x, unsigned int* counts, long long n, float low, float scale) {
    __shared__ unsigned int local[BINS];
    for (int i = threadIdx.x; i < BINS; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (long long i = bench::first(); i < n; i += bench::stride()) atomicAdd(&local[bin_of(x[i], low, scale)], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        if (local[i] != 0) atomicAdd(&counts[i], local[i]);
}

extern "C" __global__ void weighted(
    const T* __restrict__ x, const float* __restrict__ weight, float* sums, long long n, float low, float scale) {
    __shared__ float local[BINS];
    for (int i = threadIdx.x; i < BINS; i += blockDim.x) local[i] = 0.0f;
    __syncthreads();
    for (long long i = bench::first(); i < n; i += bench::stride()) atomicAdd(&local[bin_of(x[i], low, scale)], weight[i]);
    __syncthreads();
    for (int i = threadIdx.x; i < BINS; i += blockDim.x) atomicAdd(&sums[i], local[i]);
}
