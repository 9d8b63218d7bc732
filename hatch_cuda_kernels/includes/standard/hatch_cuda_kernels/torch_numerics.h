// Torch's tests for NaN and infinity, which are false for integers without a conversion.
#ifndef _HATCH_TORCH_NUMERICS_H
#define _HATCH_TORCH_NUMERICS_H

#include <hatch_cuda_kernels/torch_numbers.h>
#include <type_traits>

namespace c10 {
template <class _T>
struct complex;
}

namespace at {

template <class _T, std::enable_if_t<std::is_integral<_T>::value, int> = 0>
inline _HATCH_HD bool _isnan(_T) {
    return false;
}
template <class _T, std::enable_if_t<std::is_floating_point<_T>::value, int> = 0>
inline _HATCH_HD bool _isnan(_T __x) {
    return ::isnan(__x);
}
inline _HATCH_HD bool _isnan(Half __x) { return ::isnan(static_cast<float>(__x)); }
inline _HATCH_HD bool _isnan(BFloat16 __x) { return ::isnan(static_cast<float>(__x)); }
template <class _T>
inline _HATCH_HD bool _isnan(c10::complex<_T> __z) {
    return ::isnan(__z.real()) || ::isnan(__z.imag());
}

template <class _T, std::enable_if_t<std::is_integral<_T>::value, int> = 0>
inline _HATCH_HD bool _isinf(_T) {
    return false;
}
template <class _T, std::enable_if_t<std::is_floating_point<_T>::value, int> = 0>
inline _HATCH_HD bool _isinf(_T __x) {
    return ::isinf(__x);
}
inline _HATCH_HD bool _isinf(Half __x) { return ::isinf(static_cast<float>(__x)); }
inline _HATCH_HD bool _isinf(BFloat16 __x) { return ::isinf(static_cast<float>(__x)); }

}  // namespace at

#endif
