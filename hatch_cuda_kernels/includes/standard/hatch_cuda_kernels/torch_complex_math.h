// The functions of Torch's complex numbers, which are Thrust's.
#ifndef _HATCH_TORCH_COMPLEX_MATH_H
#define _HATCH_TORCH_COMPLEX_MATH_H

#include <hatch_cuda_kernels/torch_complex.h>
#include <thrust/complex.h>

namespace _hatch_torch {
template <class _U>
struct _of_thrust<thrust::complex<_U>> {
    static constexpr bool value = true;
    template <class _T>
    using of = thrust::complex<_T>;
};
}  // namespace _hatch_torch

namespace c10_complex_math {

#define _HATCH_OF_ONE(name)                                                                        \
    template <class _T>                                                                            \
    _HATCH_HD inline c10::complex<_T> name(const c10::complex<_T>& __z) {                          \
        return static_cast<c10::complex<_T>>(thrust::name(static_cast<thrust::complex<_T>>(__z))); \
    }
_HATCH_OF_ONE(exp)
_HATCH_OF_ONE(log)
_HATCH_OF_ONE(log10)
_HATCH_OF_ONE(sqrt)
_HATCH_OF_ONE(sin)
_HATCH_OF_ONE(cos)
_HATCH_OF_ONE(tan)
_HATCH_OF_ONE(asin)
_HATCH_OF_ONE(acos)
_HATCH_OF_ONE(atan)
_HATCH_OF_ONE(sinh)
_HATCH_OF_ONE(cosh)
_HATCH_OF_ONE(tanh)
_HATCH_OF_ONE(asinh)
_HATCH_OF_ONE(acosh)
_HATCH_OF_ONE(atanh)
#undef _HATCH_OF_ONE

template <class _T>
_HATCH_HD inline c10::complex<_T> log2(const c10::complex<_T>& __z) {
    const c10::complex<_T> __of_two = c10::complex<_T>(::log(2.0), 0.0);
    return c10_complex_math::log(__z) / __of_two;
}

// A complex power of another type is computed in the base's.
template <class _T>
_HATCH_HD inline c10::complex<_T> pow(const c10::complex<_T>& __a, const c10::complex<_T>& __b) {
    return static_cast<c10::complex<_T>>(
        thrust::pow(static_cast<thrust::complex<_T>>(__a), static_cast<thrust::complex<_T>>(__b)));
}
template <class _T>
_HATCH_HD inline c10::complex<_T> pow(const c10::complex<_T>& __a, const _T& __b) {
    return static_cast<c10::complex<_T>>(thrust::pow(static_cast<thrust::complex<_T>>(__a), __b));
}
template <class _T>
_HATCH_HD inline c10::complex<_T> pow(const _T& __a, const c10::complex<_T>& __b) {
    return static_cast<c10::complex<_T>>(thrust::pow(__a, static_cast<thrust::complex<_T>>(__b)));
}
template <class _T, class _U>
_HATCH_HD inline c10::complex<decltype(_T() * _U())> pow(const c10::complex<_T>& __a, const c10::complex<_U>& __b) {
    return static_cast<c10::complex<_T>>(
        thrust::pow(static_cast<thrust::complex<_T>>(__a), static_cast<thrust::complex<_T>>(__b)));
}
template <class _T, class _U>
_HATCH_HD inline c10::complex<decltype(_T() * _U())> pow(const c10::complex<_T>& __a, const _U& __b) {
    return static_cast<c10::complex<_T>>(thrust::pow(static_cast<thrust::complex<_T>>(__a), __b));
}
template <class _T, class _U>
_HATCH_HD inline c10::complex<decltype(_T() * _U())> pow(const _T& __a, const c10::complex<_U>& __b) {
    return static_cast<c10::complex<_T>>(thrust::pow(__a, static_cast<thrust::complex<_T>>(__b)));
}

}  // namespace c10_complex_math

namespace c10 {
template <class _T>
_HATCH_HD complex<_T> polar(const _T& __r, const _T& __angle = _T()) {
    return static_cast<complex<_T>>(thrust::polar(__r, __angle));
}
}  // namespace c10

namespace std {
template <class _T>
_HATCH_HD _T abs(const c10::complex<_T>& __z) {
    return thrust::abs(static_cast<thrust::complex<_T>>(__z));
}
}  // namespace std

// By their logarithm's parts; by a difference, of a small part's angle.
namespace c10_complex_math {
template <class _T>
_HATCH_HD inline c10::complex<_T> log1p(const c10::complex<_T>& __z) {
    const _T __x = __z.real(), __y = __z.imag();
    const _T __abs = std::abs(__z), __angle = std::atan2(__y, __x + _T(1));
    if (__abs < 0.5) {
        const _T __r = __x * (_T(2) + __x) + __y * __y;
        if (__r == 0) return {__x, __angle};
        return {_T(0.5) * std::log1p(__r), __angle};
    }
    return {std::log(std::hypot(__x + 1, __y)), __angle};
}
template <class _T>
_HATCH_HD inline c10::complex<_T> expm1(const c10::complex<_T>& __z) {
    const _T __x = __z.real(), __y = __z.imag();
    const _T __half = std::sin(__y / 2);
    const _T __re = std::expm1(__x) * std::cos(__y) - _T(2) * __half * __half;
    return {__re, std::exp(__x) * std::sin(__y)};
}
}  // namespace c10_complex_math

#define _HATCH_USING                                                                              \
    using c10_complex_math::acos; using c10_complex_math::acosh; using c10_complex_math::asin;    \
    using c10_complex_math::asinh; using c10_complex_math::atan; using c10_complex_math::atanh;   \
    using c10_complex_math::cos; using c10_complex_math::cosh; using c10_complex_math::exp;       \
    using c10_complex_math::expm1; using c10_complex_math::log; using c10_complex_math::log10;    \
    using c10_complex_math::log1p; using c10_complex_math::log2; using c10_complex_math::pow;     \
    using c10_complex_math::sin; using c10_complex_math::sinh; using c10_complex_math::sqrt;      \
    using c10_complex_math::tan; using c10_complex_math::tanh;
_HATCH_USING
namespace std {
_HATCH_USING
}
#undef _HATCH_USING

#endif
