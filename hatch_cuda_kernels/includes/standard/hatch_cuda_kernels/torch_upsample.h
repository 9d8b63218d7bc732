// What Torch's upsampling interpolates with. Its header has min and max of its own, which are found first in its
// namespace: of NaN and a number, they choose otherwise than CUDA's.
#ifndef _HATCH_TORCH_UPSAMPLE_H
#define _HATCH_TORCH_UPSAMPLE_H

#include <hatch_cuda_kernels/torch_namespaces.h>

namespace at {
namespace native {

template <class _T>
__device__ inline _T min(_T __a, _T __b) {
    return __a < __b ? __a : __b;
}
template <class _T>
__device__ inline _T max(_T __a, _T __b) {
    return __a > __b ? __a : __b;
}

template <class _T>
__device__ __forceinline__ _T area_pixel_compute_source_index(_T __scale, int __index, bool __corners, bool __cubic) {
    if (__corners) return __scale * __index;
    const _T __source = __scale * (__index + static_cast<_T>(0.5)) - static_cast<_T>(0.5);
    return !__cubic && __source < static_cast<_T>(0) ? static_cast<_T>(0) : __source;
}

// The cubic kernel up to 1, and from 1 to 2.
template <class _T>
__device__ __forceinline__ _T cubic_convolution1(_T __x, _T __a) {
    return ((__a + 2) * __x - (__a + 3)) * __x * __x + 1;
}
template <class _T>
__device__ __forceinline__ _T cubic_convolution2(_T __x, _T __a) {
    return ((__a * __x - 5 * __a) * __x + 8 * __a) * __x - 4 * __a;
}
template <class _T>
__device__ __forceinline__ void get_cubic_upsampling_coefficients(_T __of[4], _T __t) {
    const _T __a = -0.75;
    __of[0] = cubic_convolution2<_T>(__t + 1.0, __a);
    __of[1] = cubic_convolution1<_T>(__t, __a);
    const _T __right = 1.0 - __t;
    __of[2] = cubic_convolution1<_T>(__right, __a);
    __of[3] = cubic_convolution2<_T>(__right + 1.0, __a);
}
template <class _S, class _T>
__device__ __forceinline__ _T cubic_interp1d(_S __x0, _S __x1, _S __x2, _S __x3, _T __t) {
    _T __of[4];
    get_cubic_upsampling_coefficients<_T>(__of, __t);
    return __x0 * __of[0] + __x1 * __of[1] + __x2 * __of[2] + __x3 * __of[3];
}

}  // namespace native
}  // namespace at

#endif
