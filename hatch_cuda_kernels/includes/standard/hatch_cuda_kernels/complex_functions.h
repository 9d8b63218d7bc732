// The functions of <complex>.
#ifndef _HATCH_COMPLEX_FUNCTIONS_H
#define _HATCH_COMPLEX_FUNCTIONS_H

#include <complex>

namespace std {

template <class _T>
_HATCH_HD constexpr _T real(const complex<_T>& __z) {
    return __z.real();
}
template <class _T>
_HATCH_HD constexpr _T imag(const complex<_T>& __z) {
    return __z.imag();
}
template <class _T>
_HATCH_HD constexpr _T norm(const complex<_T>& __z) {
    return __z.real() * __z.real() + __z.imag() * __z.imag();
}
template <class _T>
_HATCH_HD constexpr complex<_T> conj(const complex<_T>& __z) {
    return complex<_T>(__z.real(), -__z.imag());
}
template <class _T>
_HATCH_HD inline _T abs(const complex<_T>& __z) {
    return ::hypot(__z.real(), __z.imag());
}
template <class _T>
_HATCH_HD inline _T arg(const complex<_T>& __z) {
    return ::atan2(__z.imag(), __z.real());
}
template <class _T>
_HATCH_HD inline complex<_T> polar(const _T& __r, const _T& __phi = _T()) {
    return complex<_T>(__r * ::cos(__phi), __r * ::sin(__phi));
}
template <class _T>
_HATCH_HD inline complex<_T> proj(const complex<_T>& __z) {
    const bool __infinite = ::isinf(__z.real()) || ::isinf(__z.imag());
    return __infinite ? complex<_T>(static_cast<_T>(HUGE_VAL), ::copysign(_T(0), __z.imag())) : __z;
}

// A real number stands for itself.
#define _HATCH_OF_REAL(how, name, ...)                                                                    \
    template <class _T, class _R = enable_if_t<is_arithmetic<_T>::value,                                   \
                                               conditional_t<is_floating_point<_T>::value, _T, double>>>   \
    _HATCH_HD how _R name(_T __x) {                                                                        \
        return __VA_ARGS__;                                                                                \
    }
_HATCH_OF_REAL(constexpr, real, __x)
_HATCH_OF_REAL(constexpr, imag, static_cast<void>(__x), 0)
_HATCH_OF_REAL(constexpr, norm, static_cast<_R>(__x) * static_cast<_R>(__x))
_HATCH_OF_REAL(inline, arg, ::atan2(_R(0), static_cast<_R>(__x)))
#undef _HATCH_OF_REAL
template <class _T, class _R = enable_if_t<is_arithmetic<_T>::value,
                                           conditional_t<is_floating_point<_T>::value, _T, double>>>
_HATCH_HD constexpr complex<_R> conj(_T __x) {
    return static_cast<_R>(__x);
}
template <class _T, class _R = enable_if_t<is_arithmetic<_T>::value,
                                           conditional_t<is_floating_point<_T>::value, _T, double>>>
_HATCH_HD inline complex<_R> proj(_T __x) {
    return std::proj(complex<_R>(static_cast<_R>(__x)));
}
template <class _T>
_HATCH_HD inline _T fabs(const complex<_T>& __z) {
    return std::abs(__z);
}

template <class _T>
_HATCH_HD inline complex<_T> exp(const complex<_T>& __z) {
    return __z.imag() == 0 ? complex<_T>(::exp(__z.real()), __z.imag()) : std::polar(::exp(__z.real()), __z.imag());
}
template <class _T>
_HATCH_HD inline complex<_T> log(const complex<_T>& __z) {
    const _T __r = std::abs(__z);
    if (__r > _T(0.5) && __r < 2) {  // near 1, what is left of it counts
        const _T __x = ::fmax(::fabs(__z.real()), ::fabs(__z.imag()));
        const _T __y = ::fmin(::fabs(__z.real()), ::fabs(__z.imag()));
        return complex<_T>(::log1p((__x - 1) * (__x + 1) + __y * __y) / 2, std::arg(__z));
    }
    return complex<_T>(::log(__r), std::arg(__z));
}
template <class _T>
_HATCH_HD inline complex<_T> log10(const complex<_T>& __z) {
    return std::log(__z) * static_cast<_T>(M_LOG10E);
}
template <class _T>
_HATCH_HD inline complex<_T> sqrt(const complex<_T>& __z) {
    const _T __x = __z.real(), __y = __z.imag();
    if (__x == 0 && __y == 0) {
        return complex<_T>(0, __y);
    }
    const _T __half = ::sqrt((::fabs(__x) + std::abs(__z)) / 2);
    const _T __other = __y / (2 * __half);
    return __x >= 0 ? complex<_T>(__half, __other) : complex<_T>(::fabs(__other), ::copysign(__half, __y));
}
template <class _T>
_HATCH_HD inline complex<_T> pow(const complex<_T>& __z, const complex<_T>& __w) {
    if (__z == complex<_T>()) {
        return __w == complex<_T>() ? complex<_T>(1) : complex<_T>();
    }
    return std::exp(__w * std::log(__z));
}
template <class _T>
_HATCH_HD inline complex<_T> pow(const complex<_T>& __z, const _T& __w) {
    return std::pow(__z, complex<_T>(__w));
}
template <class _T>
_HATCH_HD inline complex<_T> pow(const complex<_T>& __z, int __n) {
    return std::pow(__z, complex<_T>(static_cast<_T>(__n)));
}
template <class _T>
_HATCH_HD inline complex<_T> pow(const _T& __z, const complex<_T>& __w) {
    return std::pow(complex<_T>(__z), __w);
}
// Of different types, both become the one that a sum of real numbers would have.
template <class _T, class _U>
_HATCH_HD inline complex<__hatch::__promoted<_T, _U>> pow(const complex<_T>& __z, const _U& __w) {
    typedef __hatch::__promoted<_T, _U> _R;
    return std::pow(complex<_R>(__z), complex<_R>(static_cast<_R>(__w)));
}
template <class _T, class _U>
_HATCH_HD inline complex<__hatch::__promoted<_T, _U>> pow(const _T& __z, const complex<_U>& __w) {
    typedef __hatch::__promoted<_T, _U> _R;
    return std::pow(complex<_R>(static_cast<_R>(__z)), complex<_R>(__w));
}
template <class _T, class _U>
_HATCH_HD inline complex<__hatch::__promoted<_T, _U>> pow(const complex<_T>& __z, const complex<_U>& __w) {
    typedef __hatch::__promoted<_T, _U> _R;
    return std::pow(complex<_R>(__z), complex<_R>(__w));
}

template <class _T>
_HATCH_HD inline complex<_T> sinh(const complex<_T>& __z) {
    return complex<_T>(::sinh(__z.real()) * ::cos(__z.imag()), ::cosh(__z.real()) * ::sin(__z.imag()));
}
template <class _T>
_HATCH_HD inline complex<_T> cosh(const complex<_T>& __z) {
    return complex<_T>(::cosh(__z.real()) * ::cos(__z.imag()), ::sinh(__z.real()) * ::sin(__z.imag()));
}
template <class _T>
_HATCH_HD inline complex<_T> tanh(const complex<_T>& __z) {
    const _T __t = ::tan(__z.imag()), __h = ::tanh(__z.real()), __c = ::cosh(__z.real());
    const _T __below = 1 + __h * __h * __t * __t;
    return complex<_T>(__h * (1 + __t * __t) / __below, __t / (__c * __c) / __below);
}

// The inverse functions, after W. Kahan, Branch Cuts for Complex Elementary Functions (1987).
template <class _T>
_HATCH_HD inline complex<_T> asin(const complex<_T>& __z) {
    const complex<_T> __a = std::sqrt(_T(1) - __z), __b = std::sqrt(_T(1) + __z);
    return complex<_T>(::atan2(__z.real(), (__a * __b).real()), ::asinh((std::conj(__a) * __b).imag()));
}
template <class _T>
_HATCH_HD inline complex<_T> acos(const complex<_T>& __z) {
    const complex<_T> __a = std::sqrt(_T(1) - __z), __b = std::sqrt(_T(1) + __z);
    return complex<_T>(2 * ::atan2(__a.real(), __b.real()), ::asinh((std::conj(__b) * __a).imag()));
}
template <class _T>
_HATCH_HD inline complex<_T> acosh(const complex<_T>& __z) {
    const complex<_T> __a = std::sqrt(__z - _T(1)), __b = std::sqrt(__z + _T(1));
    return complex<_T>(::asinh((std::conj(__a) * __b).real()), 2 * ::atan2(__a.imag(), __b.real()));
}
template <class _T>
_HATCH_HD inline complex<_T> atanh(const complex<_T>& __z) {
    const _T __x = ::fabs(__z.real()), __y = __z.imag();
    return complex<_T>(::copysign(::log1p(4 * __x / ((1 - __x) * (1 - __x) + __y * __y)) / 4, __z.real()),
                       ::atan2(2 * __y, (1 - __x) * (1 + __x) - __y * __y) / 2);
}

// The others are these, turned by a right angle.
#define _HATCH_TURNED(name, hyperbolic)                                               \
    template <class _T>                                                               \
    _HATCH_HD inline complex<_T> name(const complex<_T>& __z) {                       \
        const complex<_T> __w = std::hyperbolic(complex<_T>(-__z.imag(), __z.real())); \
        return complex<_T>(__w.imag(), -__w.real());                                  \
    }
_HATCH_TURNED(sin, sinh)
_HATCH_TURNED(tan, tanh)
_HATCH_TURNED(atan, atanh)
#undef _HATCH_TURNED
template <class _T>
_HATCH_HD inline complex<_T> cos(const complex<_T>& __z) {
    return std::cosh(complex<_T>(-__z.imag(), __z.real()));
}
template <class _T>
_HATCH_HD inline complex<_T> asinh(const complex<_T>& __z) {
    const complex<_T> __w = std::asin(complex<_T>(-__z.imag(), __z.real()));
    return complex<_T>(__w.imag(), -__w.real());
}

inline namespace literals {
inline namespace complex_literals {
_HATCH_HD constexpr complex<double> operator""i(long double __y) {
    return complex<double>(0, static_cast<double>(__y));
}
_HATCH_HD constexpr complex<double> operator""i(unsigned long long __y) {
    return complex<double>(0, static_cast<double>(__y));
}
_HATCH_HD constexpr complex<float> operator""if(long double __y) { return complex<float>(0, static_cast<float>(__y)); }
_HATCH_HD constexpr complex<float> operator""if(unsigned long long __y) {
    return complex<float>(0, static_cast<float>(__y));
}
}  // namespace complex_literals
}  // namespace literals

}  // namespace std

#endif
