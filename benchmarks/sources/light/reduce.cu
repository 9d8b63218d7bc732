#include "bench/grid.cuh"
#include "bench/reduce.cuh"

template <class Op>
__device__ void reduce(const T* x, T* partial, long long n, T neutral, Op op) {
    T value = neutral;
    for (long long i = bench::first(); i < n; i += bench::stride()) value = op(value, x[i]);
    value = bench::block_reduce<BLOCK>(value, neutral, op);
    if (threadIdx.x == 0) partial[blockIdx.x] = value;
}

extern "C" __global__ void __launch_bounds__(BLOCK) sum(const T* x, T* partial, long long n) {
    reduce(x, partial, n, T(0), bench::Sum{});
}

extern "C" __global__ void __launch_bounds__(BLOCK) largest(const T* x, T* partial, long long n, T lowest) {
    reduce(x, partial, n, lowest, bench::Max{});
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    dot(const T* __restrict__ x, const T* __restrict__ y, T* __restrict__ partial, long long n) {
    T value = 0;
    for (long long i = bench::first(); i < n; i += bench::stride()) value += x[i] * y[i];
    value = bench::block_reduce<BLOCK>(value, T(0), bench::Sum{});
    if (threadIdx.x == 0) partial[blockIdx.x] = value;
}
