// Torch's complex numbers, with Torch's own arithmetic. The functions that Torch takes from Thrust are in
// torch_complex_math.h.
#ifndef _HATCH_TORCH_COMPLEX_H
#define _HATCH_TORCH_COMPLEX_H

#include <cmath>
#include <complex>
#include <hatch_cuda_kernels/torch_numbers.h>
#include <limits>
#include <type_traits>

namespace _hatch_torch {
template <class _Z>
struct _of_thrust {
    static constexpr bool value = false;
};
}  // namespace _hatch_torch

namespace c10 {

template <class _T>
struct alignas(sizeof(_T) * 2) complex {
    typedef _T value_type;

    _T real_ = _T(0);
    _T imag_ = _T(0);

    constexpr complex() = default;
    _HATCH_HD constexpr complex(const _T& __re, const _T& __im = _T()) : real_(__re), imag_(__im) {}
    template <class _U>
    explicit _HATCH_HD constexpr complex(const std::complex<_U>& __z) : complex(__z.real(), __z.imag()) {}
    template <class _Z, std::enable_if_t<_hatch_torch::_of_thrust<_Z>::value, int> = 0>
    explicit _HATCH_HD complex(const _Z& __z) : real_(__z.real()), imag_(__z.imag()) {}
    // To fewer digits only where it is asked for.
    template <class _U = _T>
    explicit _HATCH_HD constexpr complex(const std::enable_if_t<std::is_same<_U, float>::value, complex<double>>& __z)
        : real_(__z.real_), imag_(__z.imag_) {}
    template <class _U = _T>
    _HATCH_HD constexpr complex(const std::enable_if_t<std::is_same<_U, double>::value, complex<float>>& __z)
        : real_(__z.real_), imag_(__z.imag_) {}

#define _HATCH_SETS(op, from, re, im)                   \
    _HATCH_HD constexpr complex& operator op(from) {    \
        real_ op re;                                    \
        im;                                             \
        return *this;                                   \
    }
    _HATCH_SETS(=, _T __x, __x, imag_ = 0)
    _HATCH_SETS(+=, _T __x, __x, )
    _HATCH_SETS(-=, _T __x, __x, )
    _HATCH_SETS(*=, _T __x, __x, imag_ *= __x)
    _HATCH_SETS(/=, _T __x, __x, imag_ /= __x)
    template <class _U>
    _HATCH_SETS(=, const complex<_U>& __z, __z.real(), imag_ = __z.imag())
    template <class _U>
    _HATCH_SETS(=, const std::complex<_U>& __z, __z.real(), imag_ = __z.imag())
    template <class _Z, std::enable_if_t<_hatch_torch::_of_thrust<_Z>::value, int> = 0>
    _HATCH_SETS(=, const _Z& __z, __z.real(), imag_ = __z.imag())
    template <class _U>
    _HATCH_SETS(+=, const complex<_U>& __z, __z.real(), imag_ += __z.imag())
    template <class _U>
    _HATCH_SETS(-=, const complex<_U>& __z, __z.real(), imag_ -= __z.imag())
#undef _HATCH_SETS

    template <class _U>
    _HATCH_HD constexpr complex& operator*=(const complex<_U>& __z) {
        const _T __a = real_, __b = imag_;
        const _U __c = __z.real(), __d = __z.imag();
        real_ = __a * __c - __b * __d;
        imag_ = __a * __d + __b * __c;
        return *this;
    }
    // By the quotient of the divisor's parts, so that no square of one overflows.
    template <class _U>
    _HATCH_HD constexpr complex& operator/=(const complex<_U>& __z) {
        const _T __a = real_, __b = imag_;
        const _U __c = __z.real(), __d = __z.imag();
        const auto __re = std::abs(__c), __im = std::abs(__d);
        if (__re >= __im) {
            if (__re == _U(0) && __im == _U(0)) {
                real_ = __a / __re;
                imag_ = __b / __im;
            } else {
                const auto __ratio = __d / __c;
                const auto __scale = _U(1.0) / (__c + __d * __ratio);
                real_ = (__a + __b * __ratio) * __scale;
                imag_ = (__b - __a * __ratio) * __scale;
            }
        } else {
            const auto __ratio = __c / __d;
            const auto __scale = _U(1.0) / (__d + __c * __ratio);
            real_ = (__a * __ratio + __b) * __scale;
            imag_ = (__b * __ratio - __a) * __scale;
        }
        return *this;
    }

    template <class _U>
    explicit _HATCH_HD constexpr operator std::complex<_U>() const {
        return std::complex<_U>(std::complex<_T>(real_, imag_));
    }
    template <class _Z, std::enable_if_t<_hatch_torch::_of_thrust<_Z>::value, int> = 0>
    explicit _HATCH_HD operator _Z() const {
        return static_cast<_Z>(typename _hatch_torch::_of_thrust<_Z>::template of<_T>(real_, imag_));
    }
    explicit _HATCH_HD constexpr operator bool() const { return real_ || imag_; }
    _HATCH_HD constexpr _T real() const { return real_; }
    _HATCH_HD constexpr void real(_T __x) { real_ = __x; }
    _HATCH_HD constexpr _T imag() const { return imag_; }
    _HATCH_HD constexpr void imag(_T __x) { imag_ = __x; }
};

// Kept in 16 bits, computed in float.
template <>
struct alignas(4) complex<Half> {
    Half real_;
    Half imag_;

    complex() = default;
    explicit _HATCH_HD complex(const Half& __re, const Half& __im) : real_(__re), imag_(__im) {}
    _HATCH_HD complex(const complex<float>& __z) : real_(__z.real()), imag_(__z.imag()) {}
    _HATCH_HD operator complex<float>() const { return {real_, imag_}; }
    constexpr _HATCH_HD Half real() const { return real_; }
    constexpr _HATCH_HD Half imag() const { return imag_; }
    _HATCH_HD complex& operator+=(const complex& __z) {
        real_ = static_cast<float>(real_) + static_cast<float>(__z.real_);
        imag_ = static_cast<float>(imag_) + static_cast<float>(__z.imag_);
        return *this;
    }
    _HATCH_HD complex& operator-=(const complex& __z) {
        real_ = static_cast<float>(real_) - static_cast<float>(__z.real_);
        imag_ = static_cast<float>(imag_) - static_cast<float>(__z.imag_);
        return *this;
    }
    _HATCH_HD complex& operator*=(const complex& __z) {
        const float __a = real_, __b = imag_, __c = __z.real_, __d = __z.imag_;
        real_ = __a * __c - __b * __d;
        imag_ = __a * __d + __b * __c;
        return *this;
    }
};

template <class _T>
_HATCH_HD constexpr complex<_T> operator+(const complex<_T>& __z) {
    return __z;
}
template <class _T>
_HATCH_HD constexpr complex<_T> operator-(const complex<_T>& __z) {
    return complex<_T>(-__z.real(), -__z.imag());
}

template <class _T, class _I>
struct _of_integer {
    static constexpr bool value = std::is_floating_point<_T>::value && std::is_integral<_I>::value;
};

// With a number of the same type, or with an integer, which becomes one.
#define _HATCH_WITH(op, number_first)                                                                          \
    template <class _T>                                                                                        \
    _HATCH_HD constexpr complex<_T> operator op(const complex<_T>& __a, const complex<_T>& __b) {              \
        complex<_T> __z = __a;                                                                                 \
        return __z op##= __b;                                                                                  \
    }                                                                                                          \
    template <class _T>                                                                                        \
    _HATCH_HD constexpr complex<_T> operator op(const complex<_T>& __a, const _T& __b) {                       \
        complex<_T> __z = __a;                                                                                 \
        return __z op##= __b;                                                                                  \
    }                                                                                                          \
    template <class _T>                                                                                        \
    _HATCH_HD constexpr complex<_T> operator op(const _T& __a, const complex<_T>& __b) {                       \
        number_first                                                                                           \
    }                                                                                                          \
    template <class _T, class _I, std::enable_if_t<_of_integer<_T, _I>::value, int> = 0>                       \
    _HATCH_HD constexpr complex<_T> operator op(const complex<_T>& __a, const _I& __b) {                       \
        return __a op static_cast<_T>(__b);                                                                    \
    }                                                                                                          \
    template <class _T, class _I, std::enable_if_t<_of_integer<_T, _I>::value, int> = 0>                       \
    _HATCH_HD constexpr complex<_T> operator op(const _I& __a, const complex<_T>& __b) {                       \
        return static_cast<_T>(__a) op __b;                                                                    \
    }
_HATCH_WITH(+, return complex<_T>(__a + __b.real(), __b.imag());)
_HATCH_WITH(-, complex<_T> __z = -__b; return __z += __a;)
_HATCH_WITH(*, complex<_T> __z = __b; return __z *= __a;)
_HATCH_WITH(/, complex<_T> __z(__a, _T()); return __z /= __b;)
#undef _HATCH_WITH

#define _HATCH_COMPARED(a, b, equal)                                                  \
    template <class _T>                                                               \
    _HATCH_HD constexpr bool operator==(const a& __a, const b& __b) { return equal; } \
    template <class _T>                                                               \
    _HATCH_HD constexpr bool operator!=(const a& __a, const b& __b) { return !(equal); }
_HATCH_COMPARED(complex<_T>, complex<_T>, __a.real() == __b.real() && __a.imag() == __b.imag())
_HATCH_COMPARED(complex<_T>, _T, __a.real() == __b && __a.imag() == _T())
_HATCH_COMPARED(_T, complex<_T>, __a == __b.real() && _T() == __b.imag())
#undef _HATCH_COMPARED

template <class _T>
struct is_complex : std::false_type {};
template <class _T>
struct is_complex<std::complex<_T>> : std::true_type {};
template <class _T>
struct is_complex<complex<_T>> : std::true_type {};
template <class _T>
struct scalar_value_type {
    typedef _T type;
};
template <class _T>
struct scalar_value_type<std::complex<_T>> {
    typedef _T type;
};
template <class _T>
struct scalar_value_type<complex<_T>> {
    typedef _T type;
};

}  // namespace c10

namespace std {
template <class _T>
_HATCH_HD constexpr _T real(const c10::complex<_T>& __z) {
    return __z.real();
}
template <class _T>
_HATCH_HD constexpr _T imag(const c10::complex<_T>& __z) {
    return __z.imag();
}
template <class _T>
_HATCH_HD _T arg(const c10::complex<_T>& __z) {
    return std::atan2(__z.imag(), __z.real());
}
template <class _T>
_HATCH_HD constexpr _T norm(const c10::complex<_T>& __z) {
    return __z.real() * __z.real() + __z.imag() * __z.imag();
}
template <class _T>
_HATCH_HD constexpr c10::complex<_T> conj(const c10::complex<_T>& __z) {
    return c10::complex<_T>(__z.real(), -__z.imag());
}
template <class _T>
_HATCH_HD bool isnan(const c10::complex<_T>& __z) {
    return std::isnan(__z.real()) || std::isnan(__z.imag());
}
template <class _T>
class numeric_limits<c10::complex<_T>> : public numeric_limits<_T> {};
}  // namespace std

namespace at {
template <>
struct AccumulateType<c10::complex<Half>, true> {
    typedef c10::complex<float> type;
};
template <>
struct AccumulateType<c10::complex<float>, true> {
    typedef c10::complex<float> type;
};
template <>
struct AccumulateType<c10::complex<double>, true> {
    typedef c10::complex<double> type;
};
template <>
struct OpMathType<c10::complex<Half>> {
    typedef c10::complex<float> type;
};
}  // namespace at

#endif
