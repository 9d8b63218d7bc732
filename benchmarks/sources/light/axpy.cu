#include "bench/grid.cuh"

extern "C" __global__ void axpy(T a, const T* __restrict__ x, T* __restrict__ y, long long n) {
    for (long long i = bench::first(); i < n; i += bench::stride()) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void scale(T a, T* __restrict__ x, long long n) {
    for (long long i = bench::first(); i < n; i += bench::stride()) x[i] *= a;
}
