// Torch's additions to numbers of 16 bits by way of the pair that one lies in, with zero for the other, where the pair is
// within the tensor.
#ifndef _HATCH_TORCH_FAST_ATOMICS_H
#define _HATCH_TORCH_FAST_ATOMICS_H

#include <hatch_cuda_kernels/torch_atomics.h>

namespace at {
namespace native {

template <class _T, class _I>
__device__ __forceinline__ void fastSpecializedAtomicAdd(_T* __tensor, _I __index, const _I __count, _T __value) {
    gpuAtomicAddNoReturn(__tensor + __index, __value);
}

#define _HATCH_IN_PAIRS(T, N, as_bits, zero)                                                                       \
    template <class _I>                                                                                            \
    __device__ __forceinline__ void fastSpecializedAtomicAdd(T* __tensor, _I __index, const _I __count, T __value) { \
        N* const __p = reinterpret_cast<N*>(__tensor + __index);                                                   \
        const bool __lower = reinterpret_cast<size_t>(__p) % sizeof(N##2) == 0;                                    \
        N##2 __both;                                                                                               \
        if (__lower && __index < (__count - 1)) {                                                                  \
            __both.x = as_bits(__value.x);                                                                         \
            __both.y = zero(0);                                                                                    \
            atomicAdd(reinterpret_cast<N##2*>(__p), __both);                                                       \
        } else if (!__lower && __index > 0) {                                                                      \
            __both.x = zero(0);                                                                                    \
            __both.y = as_bits(__value.x);                                                                         \
            atomicAdd(reinterpret_cast<N##2*>(__p - 1), __both);                                                   \
        } else {                                                                                                   \
            atomicAdd(__p, as_bits(__value.x));                                                                    \
        }                                                                                                          \
    }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
_HATCH_IN_PAIRS(c10::Half, __half, __ushort_as_half, __int2half_rz)
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
_HATCH_IN_PAIRS(c10::BFloat16, __nv_bfloat16, __ushort_as_bfloat16, __int2bfloat16_rz)
#endif
#undef _HATCH_IN_PAIRS

template <class _T, class _I>
__device__ __forceinline__ void fastAtomicAdd(_T* __tensor, _I __index, const _I __count, _T __value, bool __fast) {
    if (__fast) {
        fastSpecializedAtomicAdd(__tensor, __index, __count, __value);
    } else {
        gpuAtomicAddNoReturn(__tensor + __index, __value);
    }
}

}  // namespace native
}  // namespace at

#endif
