// The functions of <math.h> for integers and for mixed types, and those that NVRTC lacks.
#ifndef _HATCH_MATH_OVERLOADS_H
#define _HATCH_MATH_OVERLOADS_H

#include <hatch_cuda_kernels/math_macros.h>
#include <hatch_cuda_kernels/scalars.h>

namespace std {

namespace __hatch {

// NVRTC has these functions for float and double; an integer, or float beside double, is computed in double.
template <class _T, class _R = double>
using __promote =
    typename enable_if<__integral<_T>::value || (__floating<_T>::value && sizeof(_T) > sizeof(double)), _R>::type;
template <class _T>
struct __single : false_type {};
template <>
struct __single<float> : true_type {};
template <class _T, class _U, class _V = double>
using __promote_all = typename enable_if<
    __arithmetic<_T>::value && __arithmetic<_U>::value && __arithmetic<_V>::value &&
        !(__single<_T>::value && __single<_U>::value),
    double>::type;
template <class _T, class _R>
using __if_arithmetic = typename enable_if<__arithmetic<_T>::value, _R>::type;

}  // namespace __hatch

#define _HATCH_ONE(name, result)                                       \
    template <class _T>                                                \
    _HATCH_HD inline __hatch::__promote<_T, result> name(_T __x) {     \
        return ::name(static_cast<double>(__x));                       \
    }
#define _HATCH_TWO(name)                                                           \
    template <class _T, class _U>                                                  \
    _HATCH_HD inline __hatch::__promote_all<_T, _U> name(_T __x, _U __y) {         \
        return ::name(static_cast<double>(__x), static_cast<double>(__y));         \
    }

_HATCH_ONE(acos, double)
_HATCH_ONE(acosh, double)
_HATCH_ONE(asin, double)
_HATCH_ONE(asinh, double)
_HATCH_ONE(atan, double)
_HATCH_ONE(atanh, double)
_HATCH_ONE(cbrt, double)
_HATCH_ONE(ceil, double)
_HATCH_ONE(cos, double)
_HATCH_ONE(cosh, double)
_HATCH_ONE(erf, double)
_HATCH_ONE(erfc, double)
_HATCH_ONE(exp, double)
_HATCH_ONE(exp2, double)
_HATCH_ONE(expm1, double)
_HATCH_ONE(fabs, double)
_HATCH_ONE(floor, double)
_HATCH_ONE(lgamma, double)
_HATCH_ONE(log, double)
_HATCH_ONE(log10, double)
_HATCH_ONE(log1p, double)
_HATCH_ONE(log2, double)
_HATCH_ONE(logb, double)
_HATCH_ONE(nearbyint, double)
_HATCH_ONE(rint, double)
_HATCH_ONE(round, double)
_HATCH_ONE(sin, double)
_HATCH_ONE(sinh, double)
_HATCH_ONE(sqrt, double)
_HATCH_ONE(tan, double)
_HATCH_ONE(tanh, double)
_HATCH_ONE(tgamma, double)
_HATCH_ONE(trunc, double)
_HATCH_ONE(ilogb, int)
_HATCH_ONE(llrint, long long)
_HATCH_ONE(llround, long long)
_HATCH_ONE(lrint, long)
_HATCH_ONE(lround, long)
_HATCH_TWO(atan2)
_HATCH_TWO(copysign)
_HATCH_TWO(fdim)
_HATCH_TWO(fmax)
_HATCH_TWO(fmin)
_HATCH_TWO(fmod)
_HATCH_TWO(hypot)
_HATCH_TWO(nextafter)
_HATCH_TWO(pow)
_HATCH_TWO(remainder)
#undef _HATCH_ONE
#undef _HATCH_TWO
template <class _T, class _U, class _V>
_HATCH_HD inline __hatch::__promote_all<_T, _U, _V> fma(_T __x, _U __y, _V __z) {
    return ::fma(static_cast<double>(__x), static_cast<double>(__y), static_cast<double>(__z));
}
template <class _T>
_HATCH_HD inline __hatch::__promote<_T> ldexp(_T __x, int __n) {
    return ::ldexp(static_cast<double>(__x), __n);
}
template <class _T>
_HATCH_HD inline __hatch::__promote<_T> frexp(_T __x, int* __n) {
    return ::frexp(static_cast<double>(__x), __n);
}

template <class _T>
_HATCH_HD constexpr __hatch::__promote<_T, bool> isfinite(_T) noexcept {
    return true;
}
template <class _T>
_HATCH_HD constexpr __hatch::__promote<_T, bool> isinf(_T) noexcept {
    return false;
}
template <class _T>
_HATCH_HD constexpr __hatch::__promote<_T, bool> isnan(_T) noexcept {
    return false;
}
template <class _T>
_HATCH_HD constexpr __hatch::__promote<_T, bool> signbit(_T __x) noexcept {
    return __x < _T(0);
}
template <class _T>
_HATCH_HD inline __hatch::__if_arithmetic<_T, bool> isnormal(_T __x) {
    const double __least = __hatch::__single<_T>::value ? 1.175494350822287508e-38 : 2.225073858507201383e-308;
    const double __a = ::fabs(static_cast<double>(__x));
    return __a >= __least && __a < HUGE_VAL;
}
template <class _T>
_HATCH_HD inline __hatch::__if_arithmetic<_T, int> fpclassify(_T __x) {
    const double __d = static_cast<double>(__x);
    return __d != __d                     ? FP_NAN
           : __d == 0                     ? FP_ZERO
           : ::fabs(__d) == HUGE_VAL      ? FP_INFINITE
           : std::isnormal(__x)           ? FP_NORMAL
                                          : FP_SUBNORMAL;
}

#define _HATCH_COMPARE_BY(name, ...)                                                                       \
    template <class _T, class _U>                                                                       \
    _HATCH_HD constexpr typename enable_if<                                                             \
        __hatch::__arithmetic<_T>::value && __hatch::__arithmetic<_U>::value, bool>::type               \
    name(_T __x, _U __y) noexcept {                                                                     \
        return __VA_ARGS__;                                                                             \
    }
_HATCH_COMPARE_BY(isgreater, __x > __y)
_HATCH_COMPARE_BY(isgreaterequal, __x >= __y)
_HATCH_COMPARE_BY(isless, __x < __y)
_HATCH_COMPARE_BY(islessequal, __x <= __y)
_HATCH_COMPARE_BY(islessgreater, __x < __y || __x > __y)
_HATCH_COMPARE_BY(isunordered, __x != __x || __y != __y)
#undef _HATCH_COMPARE_BY

#if _HATCH_CPP17
_HATCH_HD inline float hypot(float __x, float __y, float __z) { return ::norm3df(__x, __y, __z); }
_HATCH_HD inline double hypot(double __x, double __y, double __z) { return ::norm3d(__x, __y, __z); }
#endif
#if _HATCH_CPP20
template <class _T>
_HATCH_HD constexpr __hatch::__if_arithmetic<_T, _T> lerp(_T __a, _T __b, _T __t) noexcept {
    return __t == _T(1) ? __b : __a + __t * (__b - __a);
}
#endif

}  // namespace std

#endif
