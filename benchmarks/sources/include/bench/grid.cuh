#pragma once

namespace bench {

// What a thread of a grid-stride loop begins with and adds: right for any grid, and for more than 2^31 elements.
__device__ inline long long first() { return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline long long stride() { return static_cast<long long>(gridDim.x) * blockDim.x; }

}  // namespace bench
