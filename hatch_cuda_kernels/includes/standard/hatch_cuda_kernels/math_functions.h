// The functions of <math.h> that NVRTC has with other types and values than nvcc and libstdc++, as these have them.
#ifndef _HATCH_MATH_FUNCTIONS_H
#define _HATCH_MATH_FUNCTIONS_H

#include <hatch_cuda_kernels/math_types.h>

// In constant expressions, as libstdc++ has them, and with NVRTC's functions elsewhere.
#define _HATCH_TOLD(name, of_integer, ...)                                                                       \
    _HATCH_HD constexpr bool __hatch_##name(float __x) {                                                         \
        return __builtin_is_constant_evaluated() ? __VA_ARGS__ : ::name(__x);                                    \
    }                                                                                                            \
    _HATCH_HD constexpr bool __hatch_##name(double __x) {                                                        \
        return __builtin_is_constant_evaluated() ? __VA_ARGS__ : ::name(__x);                                    \
    }                                                                                                            \
    _HATCH_HD constexpr bool __hatch_##name(long double __x) {                                                   \
        return __hatch_##name(static_cast<double>(__x));                                                         \
    }                                                                                                            \
    template <class _T>                                                                                          \
    _HATCH_HD constexpr typename std::enable_if<std::__hatch::__integral<_T>::value, bool>::type __hatch_##name( \
        _T __x) {                                                                                                \
        return of_integer;                                                                                       \
    }
_HATCH_TOLD(isfinite, __x == __x, __x - __x == 0)
_HATCH_TOLD(isinf, __x != __x, __x == __x && __x - __x != 0)
_HATCH_TOLD(isnan, __x != __x, __x != __x)
_HATCH_TOLD(signbit, __x < _T(0), __builtin_bit_cast(long long, static_cast<double>(__x)) < 0)
#undef _HATCH_TOLD

_HATCH_HD inline float __hatch_pow(float __x, float __y) { return ::powf(__x, __y); }
_HATCH_HD inline double __hatch_pow(double __x, double __y) { return ::pow(__x, __y); }
_HATCH_HD inline long double __hatch_pow(long double __x, long double __y) {
    return ::pow(static_cast<double>(__x), static_cast<double>(__y));
}
template <class _T, class _U>
_HATCH_HD inline std::__hatch::__promoted<_T, _U> __hatch_pow(_T __x, _U __y) {
    return ::pow(static_cast<double>(__x), static_cast<double>(__y));
}

#endif
