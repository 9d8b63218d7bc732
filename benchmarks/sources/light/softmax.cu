#include <cuda_fp16.h>

#include "bench/reduce.cuh"

// Over each row of a row-major matrix, one block a row; in memory T, in registers float.
__device__ inline float widen(float value) { return value; }
__device__ inline float widen(__half value) { return __half2float(value); }
__device__ inline void narrow(float value, float* out) { *out = value; }
__device__ inline void narrow(float value, __half* out) { *out = __float2half(value); }

extern "C" __global__ void __launch_bounds__(BLOCK) softmax(const T* in, T* out, long long rows, int columns) {
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const T* x = in + row * columns;
        float largest = -3.402823466e+38f, sum = 0.0f;
        for (int i = threadIdx.x; i < columns; i += BLOCK) largest = fmaxf(largest, widen(x[i]));
        largest = bench::block_reduce<BLOCK>(largest, -3.402823466e+38f, bench::Max{});
        for (int i = threadIdx.x; i < columns; i += BLOCK) sum += expf(widen(x[i]) - largest);
        sum = bench::block_reduce<BLOCK>(sum, 0.0f, bench::Sum{});
        for (int i = threadIdx.x; i < columns; i += BLOCK)
            narrow(expf(widen(x[i]) - largest) / sum, out + row * columns + i);
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    layer_norm(const T* in, T* out, const float* gain, const float* bias, long long rows, int columns, float epsilon) {
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const T* x = in + row * columns;
        float sum = 0.0f, squares = 0.0f;
        for (int i = threadIdx.x; i < columns; i += BLOCK) sum += widen(x[i]);
        const float mean = bench::block_reduce<BLOCK>(sum, 0.0f, bench::Sum{}) / columns;
        for (int i = threadIdx.x; i < columns; i += BLOCK) squares += (widen(x[i]) - mean) * (widen(x[i]) - mean);
        const float scale = rsqrtf(bench::block_reduce<BLOCK>(squares, 0.0f, bench::Sum{}) / columns + epsilon);
        for (int i = threadIdx.x; i < columns; i += BLOCK)
            narrow((widen(x[i]) - mean) * scale * gain[i] + bias[i], out + row * columns + i);
    }
}
