// Torch's quotients of integers, rounded up.
#ifndef _HATCH_TORCH_ARITHMETIC_H
#define _HATCH_TORCH_ARITHMETIC_H

#include <hatch_cuda_kernels/torch_namespaces.h>

namespace at {

template <class _T>
_HATCH_HD constexpr _T ceil_div(_T __a, _T __b) {
    return (__a + __b - 1) / __b;
}
template <class _T>
_HATCH_HD constexpr _T round_up(_T __a, _T __b) {
    return ceil_div(__a, __b) * __b;
}
namespace cuda {
template <class _T>
_HATCH_HD constexpr _T ATenCeilDiv(_T __a, _T __b) {
    return ceil_div(__a, __b);
}
}  // namespace cuda

}  // namespace at

#endif
