// Torch's sums and maxima of a warp and of a block; those of a block are right in its first thread.
#ifndef _HATCH_TORCH_REDUCTIONS_H
#define _HATCH_TORCH_REDUCTIONS_H

#include <hatch_cuda_kernels/torch_numerics.h>
#include <hatch_cuda_kernels/torch_shuffles.h>
#include <limits>

namespace at {
namespace native {
namespace cuda_utils {

constexpr int kCUDABlockReduceNumThreads = 512;
constexpr _HATCH_HD int kCUDABlockReduceMaxThreads() { return 32 * 32; }

struct Block1D {
    static __forceinline__ __device__ int Tid() { return threadIdx.x; }
    static __forceinline__ __device__ int Warps() { return blockDim.x / 32; }
};
struct Block2D {
    static __forceinline__ __device__ int Tid() { return threadIdx.x + threadIdx.y * blockDim.x; }
    static __forceinline__ __device__ int Warps() { return blockDim.x * blockDim.y / 32; }
};

template <class _T>
inline __device__ _T WarpReduceSum(_T __value) {
#pragma unroll
    for (int __lanes = 16; __lanes > 0; __lanes >>= 1) __value += WARP_SHFL_DOWN(__value, __lanes);
    return __value;
}
template <class _T>
inline __device__ _T WarpReduceMax(_T __value) {
#pragma unroll
    for (int __lanes = 16; __lanes > 0; __lanes >>= 1) {
        const _T __other = WARP_SHFL_DOWN(__value, __lanes);
        __value = at::_isnan(__other) ? __other : __value < __other ? __other : __value;
    }
    return __value;
}
template <class _T, class _Op>
inline __device__ _T WarpReduce(_T __value, const _Op& __op) {
#pragma unroll
    for (int __lanes = 16; __lanes > 0; __lanes >>= 1)
        __value = __op.combine(__value, __op.warp_shfl_down(__value, __lanes));
    return __value;
}

// The results of the warps meet in shared memory, which earlier calls may still read. No thread beyond the first warp
// has a warp of its own there.
#define _HATCH_OF_BLOCK(by_warp, otherwise)                              \
    const int __thread = _Block::Tid(), __lane = __thread % 32, __warp = __thread / 32; \
    __value = by_warp;                                                   \
    __syncthreads();                                                     \
    if (__lane == 0) __shared[__warp] = __value;                         \
    __syncthreads();                                                     \
    __value = __thread < _Block::Warps() ? __shared[__lane] : otherwise; \
    if (__warp == 0) __value = by_warp;                                  \
    return __value;
template <class _T, class _Block = Block1D>
inline __device__ _T BlockReduceSum(_T __value, _T* __shared) {
    _HATCH_OF_BLOCK(WarpReduceSum(__value), _T(0))
}
template <class _T, class _Block = Block1D>
inline __device__ _T BlockReduceMax(_T __value, _T* __shared) {
    _HATCH_OF_BLOCK(WarpReduceMax(__value), _T(std::numeric_limits<_T>::lowest()))
}
template <class _T, class _Op, class _Block = Block1D>
inline __device__ _T BlockReduce(_T __value, const _Op& __op, const _T& __identity, _T* __shared) {
    _HATCH_OF_BLOCK(WarpReduce(__value, __op), __identity)
}
#undef _HATCH_OF_BLOCK

}  // namespace cuda_utils
}  // namespace native
}  // namespace at

#endif
