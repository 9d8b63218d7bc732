#pragma once

namespace bench {

struct Sum {
    template <class T>
    __device__ T operator()(T a, T b) const {
        return a + b;
    }
};
struct Max {
    template <class T>
    __device__ T operator()(T a, T b) const {
        return a > b ? a : b;
    }
};
struct Min {
    template <class T>
    __device__ T operator()(T a, T b) const {
        return a < b ? a : b;
    }
};

// Every thread of a warp gets the result.
template <class T, class Op>
__device__ T warp_reduce(T value, Op op) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value = op(value, __shfl_xor_sync(0xffffffffu, value, step));
    return value;
}

// Every thread of a block of BLOCK threads gets the result; BLOCK is a multiple of 32.
template <int BLOCK, class T, class Op>
__device__ T block_reduce(T value, T neutral, Op op) {
    __shared__ T warps[32];
    value = warp_reduce(value, op);
    __syncthreads();  // of a call before this one, somebody may still read
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    return warp_reduce(threadIdx.x % 32 < BLOCK / 32 ? warps[threadIdx.x % 32] : neutral, op);
}

}  // namespace bench
