// The functions of <math.h> for integers and for mixed types, and those that NVRTC lacks.
#ifndef _HATCH_MATH_OVERLOADS_H
#define _HATCH_MATH_OVERLOADS_H

#include <hatch_cuda_kernels/math_functions.h>
#include <hatch_cuda_kernels/math_macros.h>

namespace std {

#define _HATCH_GIVES(name, ...)                                        \
    template <class _T>                                                \
    _HATCH_HD inline __hatch::__promote<_T __VA_ARGS__> name(_T __x) { \
        return ::name(static_cast<double>(__x));                       \
    }
#define _HATCH_ONE(name) _HATCH_GIVES(name, )
#define _HATCH_TWO(name)                                                   \
    template <class _T, class _U>                                          \
    _HATCH_HD inline __hatch::__promoted<_T, _U> name(_T __x, _U __y) {    \
        return ::name(static_cast<double>(__x), static_cast<double>(__y)); \
    }
// The last parameter is an integer, or where a result goes.
#define _HATCH_WITH(name, type)                                      \
    template <class _T>                                              \
    _HATCH_HD inline __hatch::__promote<_T> name(_T __x, type __n) { \
        return ::name(static_cast<double>(__x), __n);                \
    }

_HATCH_ONE(acos)
_HATCH_ONE(acosh)
_HATCH_ONE(asin)
_HATCH_ONE(asinh)
_HATCH_ONE(atan)
_HATCH_ONE(atanh)
_HATCH_ONE(cbrt)
_HATCH_ONE(ceil)
_HATCH_ONE(cos)
_HATCH_ONE(cosh)
_HATCH_ONE(erf)
_HATCH_ONE(erfc)
_HATCH_ONE(exp)
_HATCH_ONE(exp2)
_HATCH_ONE(expm1)
_HATCH_ONE(fabs)
_HATCH_ONE(floor)
_HATCH_ONE(lgamma)
_HATCH_ONE(log)
_HATCH_ONE(log10)
_HATCH_ONE(log1p)
_HATCH_ONE(log2)
_HATCH_ONE(logb)
_HATCH_ONE(nearbyint)
_HATCH_ONE(rint)
_HATCH_ONE(round)
_HATCH_ONE(sin)
_HATCH_ONE(sinh)
_HATCH_ONE(sqrt)
_HATCH_ONE(tan)
_HATCH_ONE(tanh)
_HATCH_ONE(tgamma)
_HATCH_ONE(trunc)
_HATCH_GIVES(ilogb, , int)
_HATCH_GIVES(llrint, , long long)
_HATCH_GIVES(llround, , long long)
_HATCH_GIVES(lrint, , long)
_HATCH_GIVES(lround, , long)
_HATCH_TWO(atan2)
_HATCH_TWO(copysign)
_HATCH_TWO(fdim)
_HATCH_TWO(fmax)
_HATCH_TWO(fmin)
_HATCH_TWO(fmod)
_HATCH_TWO(hypot)
_HATCH_TWO(nextafter)
_HATCH_TWO(remainder)
_HATCH_WITH(frexp, int*)
_HATCH_WITH(ldexp, int)
_HATCH_WITH(scalbn, int)
_HATCH_WITH(scalbln, long)
#undef _HATCH_GIVES
#undef _HATCH_ONE
#undef _HATCH_TWO
#undef _HATCH_WITH
template <class _T, class _U, class _V>
_HATCH_HD inline __hatch::__promoted<_T, _U, _V> fma(_T __x, _U __y, _V __z) {
    return ::fma(static_cast<double>(__x), static_cast<double>(__y), static_cast<double>(__z));
}
template <class _T, class _U>
_HATCH_HD inline __hatch::__promoted<_T, _U> remquo(_T __x, _U __y, int* __n) {
    return ::remquo(static_cast<double>(__x), static_cast<double>(__y), __n);
}
_HATCH_HD inline long double modf(long double __x, long double* __whole) {
    double __part;
    const double __rest = ::modf(static_cast<double>(__x), &__part);
    *__whole = __part;
    return __rest;
}
_HATCH_HD inline long double abs(long double __x) { return ::fabs(static_cast<double>(__x)); }

#ifndef pow  // by math_names.h; without it, NVRTC's own go first where no std:: stands before the name
#define _HATCH_TOLD(name)                                                                        \
    template <class _T>                                                                          \
    _HATCH_HD constexpr __hatch::__if_arithmetic<_T, bool> name(_T __x) {                        \
        return ::__hatch_##name(__x);                                                            \
    }
_HATCH_TOLD(isfinite)
_HATCH_TOLD(isinf)
_HATCH_TOLD(isnan)
_HATCH_TOLD(signbit)
#undef _HATCH_TOLD
template <class _T, class _U>
_HATCH_HD inline decltype(::__hatch_pow(_T(), _U())) pow(_T __x, _U __y) {
    return ::__hatch_pow(__x, __y);
}
#endif

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
template <class _T, class _U, class _V>
_HATCH_HD inline __hatch::__promoted<_T, _U, _V> hypot(_T __x, _U __y, _V __z) {
    return ::norm3d(static_cast<double>(__x), static_cast<double>(__y), static_cast<double>(__z));
}
#endif
#if _HATCH_CPP20
namespace __hatch {

// Exact at both ends and never beyond the second one between them, as P0811 asks.
template <class _T>
_HATCH_HD constexpr _T __between(_T __a, _T __b, _T __t) noexcept {
    if ((__a <= 0 && __b >= 0) || (__a >= 0 && __b <= 0)) {
        return __t * __b + (1 - __t) * __a;
    }
    if (__t == 1) {
        return __b;
    }
    const _T __x = __a + __t * (__b - __a);
    return (__t > 1) == (__b > __a) ? (__b < __x ? __x : __b) : (__b > __x ? __x : __b);
}

}  // namespace __hatch

_HATCH_HD constexpr float lerp(float __a, float __b, float __t) noexcept { return __hatch::__between(__a, __b, __t); }
_HATCH_HD constexpr double lerp(double __a, double __b, double __t) noexcept {
    return __hatch::__between(__a, __b, __t);
}
template <class _T, class _U, class _V>
_HATCH_HD constexpr __hatch::__promoted<_T, _U, _V> lerp(_T __a, _U __b, _V __t) noexcept {
    return __hatch::__between<__hatch::__promoted<_T, _U, _V>>(__a, __b, __t);
}
#endif

}  // namespace std

#endif
