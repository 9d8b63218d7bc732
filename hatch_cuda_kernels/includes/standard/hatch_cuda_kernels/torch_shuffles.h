// Torch's names for what the lanes of a warp exchange, and for a load by way of the read-only cache.
#ifndef _HATCH_TORCH_SHUFFLES_H
#define _HATCH_TORCH_SHUFFLES_H

#include <hatch_cuda_kernels/torch_numbers.h>

namespace c10 {
template <class _T>
struct complex;
}

__device__ __forceinline__ unsigned int ACTIVE_MASK() { return __activemask(); }
__device__ __forceinline__ void WARP_SYNC(unsigned int __mask = 0xffffffff) { __syncwarp(__mask); }
__device__ __forceinline__ unsigned int WARP_BALLOT(int __predicate, unsigned int __mask = 0xffffffff) {
    return __ballot_sync(__mask, __predicate);
}

#define _HATCH_SHUFFLE(name, from, builtin)                                                               \
    template <class _T>                                                                                   \
    __device__ __forceinline__ _T name(_T __value, from __lane, int __width = warpSize,                   \
                                       unsigned int __mask = 0xffffffff) {                                \
        return builtin(__mask, __value, __lane, __width);                                                 \
    }
_HATCH_SHUFFLE(WARP_SHFL, int, __shfl_sync)
_HATCH_SHUFFLE(WARP_SHFL_XOR, int, __shfl_xor_sync)
_HATCH_SHUFFLE(WARP_SHFL_UP, unsigned int, __shfl_up_sync)
_HATCH_SHUFFLE(WARP_SHFL_DOWN, unsigned int, __shfl_down_sync)
#undef _HATCH_SHUFFLE

template <>
__device__ __forceinline__ c10::Half WARP_SHFL_DOWN<c10::Half>(
    c10::Half __value, unsigned int __lane, int __width, unsigned int __mask) {
    return c10::Half(WARP_SHFL_DOWN<unsigned short>(__value.x, __lane, __width, __mask), c10::Half::from_bits());
}
template <class _T>
__device__ __forceinline__ c10::complex<_T> WARP_SHFL_DOWN(
    c10::complex<_T> __value, unsigned int __lane, int __width = warpSize, unsigned int __mask = 0xffffffff) {
    return c10::complex<_T>(__shfl_down_sync(__mask, __value.real_, __lane, __width),
                            __shfl_down_sync(__mask, __value.imag_, __lane, __width));
}

template <class _T>
__device__ __forceinline__ _T doLdg(const _T* __p) {
    return __ldg(__p);
}

#endif
