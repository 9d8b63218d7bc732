#include <cuda_fp16.h>

#include <cfloat>

#include "example/block_reduce.cuh"

// Softmax over each row of a row-major (rows, cols) matrix; one block a row, blockDim.x == BLOCK. Values are fp16 in
// memory and fp32 in registers: in fp16, exp() overflows at 11.1, and a sum of ones stops growing at 2048.
//
// x and y are not __restrict__, because y may be x: what a thread writes, nobody else reads after the last barrier.
template <int BLOCK>
__global__ void __launch_bounds__(BLOCK) softmax(const __half* x, __half* y, long long rows, long long cols) {
    // Not -inf: in a row that begins with a masked (-inf) element, -inf minus -inf would be NaN.
    constexpr float kLowest = -FLT_MAX;
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const __half* in = x + row * cols;
        __half* out = y + row * cols;

        // Maximum and sum in one pass: whenever a larger element turns up, rescale what was summed so far.
        float max = kLowest, sum = 0.0f;
        for (long long i = threadIdx.x; i < cols; i += BLOCK) {
            const float value = __half2float(in[i]);
            if (value > max) {
                sum = sum * expf(max - value) + 1.0f;
                max = value;
            } else {
                sum += expf(value - max);
            }
        }
        const float row_max = example::block_reduce<BLOCK>(max, kLowest, example::Max{});
        const float row_sum = example::block_reduce<BLOCK>(sum * expf(max - row_max), 0.0f, example::Sum{});

        const float scale = 1.0f / row_sum;
        for (long long i = threadIdx.x; i < cols; i += BLOCK) {
            out[i] = __float2half(expf(__half2float(in[i]) - row_max) * scale);
        }
    }
}
