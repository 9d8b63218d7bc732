#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "bench/grid.cuh"

__device__ inline float widen(__half value) { return __half2float(value); }
__device__ inline float widen(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ inline void narrow(float value, __half* out) { *out = __float2half(value); }
__device__ inline void narrow(float value, __nv_bfloat16* out) { *out = __float2bfloat16(value); }

extern "C" __global__ void to_float(const T* __restrict__ x, float* __restrict__ y, long long n) {
    for (long long i = bench::first(); i < n; i += bench::stride()) y[i] = widen(x[i]);
}

extern "C" __global__ void from_float(const float* __restrict__ x, T* __restrict__ y, long long n) {
    for (long long i = bench::first(); i < n; i += bench::stride()) narrow(x[i], y + i);
}

extern "C" __global__ void axpy_narrow(float a, const T* __restrict__ x, T* __restrict__ y, long long n) {
    for (long long i = bench::first(); i < n; i += bench::stride()) narrow(a * widen(x[i]) + widen(y[i]), y + i);
}

extern "C" __global__ void silu(const T* __restrict__ x, T* __restrict__ y, long long n) {
    for (long long i = bench::first(); i < n; i += bench::stride()) {
        const float value = widen(x[i]);
        narrow(value / (1.0f + __expf(-value)), y + i);
    }
}
