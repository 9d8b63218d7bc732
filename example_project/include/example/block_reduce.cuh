// Reductions over the threads of one block. Shared by reduce.cu and softmax.cu: the build finds it through the #include
// lines, and an edit here makes both modules stale, and no other.
#pragma once

namespace example {

struct Sum {
    template <class T>
    __device__ T operator()(T a, T b) const {
        return a + b;
    }
};

struct Max {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

template <class T, class Op>
__device__ T warp_reduce(T value, Op op) {
    // xor, not down: every lane ends up with the result, so nobody has to broadcast it.
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) value = op(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

// Every thread of the block must call this, and every thread gets the result. The order of the operations depends on
// nothing but BLOCK, so a floating-point result is the same on every run.
template <int BLOCK, class T, class Op>
__device__ T block_reduce(T value, T identity, Op op) {
    static_assert(BLOCK % 32 == 0 && BLOCK <= 1024, "a block is whole warps, 32 of them at most");
    constexpr int kWarps = BLOCK / 32;
    value = warp_reduce(value, op);
    if constexpr (kWarps > 1) {
        __shared__ T partial[kWarps];
        const int lane = threadIdx.x % 32;
        __syncthreads();  // a slow warp may still be reading what the last call left in `partial`
        if (lane == 0) partial[threadIdx.x / 32] = value;
        __syncthreads();
        // Each warp repeats this last step for itself: cheaper than one warp doing it and a third barrier.
        value = warp_reduce(lane < kWarps ? partial[lane] : identity, op);
    }
    return value;
}

}  // namespace example
