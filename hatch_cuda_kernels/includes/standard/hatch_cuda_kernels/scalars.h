// The arithmetic types, told apart: what <limits>, <cmath> and <type_traits> all need, and nothing more.
#ifndef _HATCH_SCALARS_H
#define _HATCH_SCALARS_H

#include <hatch_cuda_kernels/define.h>

namespace std {

template <class _T, _T _V>
struct integral_constant {
    static constexpr _T value = _V;
    typedef _T value_type;
    typedef integral_constant type;
    _HATCH_HD constexpr operator value_type() const noexcept { return value; }
    _HATCH_HD constexpr value_type operator()() const noexcept { return value; }
};
typedef integral_constant<bool, true> true_type;
typedef integral_constant<bool, false> false_type;

template <bool _B, class _T = void>
struct enable_if {};
template <class _T>
struct enable_if<true, _T> {
    typedef _T type;
};
template <bool _B, class _T = void>
using enable_if_t = typename enable_if<_B, _T>::type;

template <bool _B, class _T, class _F>
struct conditional {
    typedef _T type;
};
template <class _T, class _F>
struct conditional<false, _T, _F> {
    typedef _F type;
};
template <bool _B, class _T, class _F>
using conditional_t = typename conditional<_B, _T, _F>::type;

template <class _T>
struct remove_const {
    typedef _T type;
};
template <class _T>
struct remove_const<const _T> {
    typedef _T type;
};
template <class _T>
struct remove_volatile {
    typedef _T type;
};
template <class _T>
struct remove_volatile<volatile _T> {
    typedef _T type;
};
template <class _T>
struct remove_cv {
    typedef typename remove_volatile<typename remove_const<_T>::type>::type type;
};

namespace __hatch {

template <class _T>
struct __integral : false_type {};
template <> struct __integral<bool> : true_type {};
template <> struct __integral<char> : true_type {};
template <> struct __integral<signed char> : true_type {};
template <> struct __integral<unsigned char> : true_type {};
template <> struct __integral<wchar_t> : true_type {};
template <> struct __integral<char16_t> : true_type {};
template <> struct __integral<char32_t> : true_type {};
template <> struct __integral<short> : true_type {};
template <> struct __integral<unsigned short> : true_type {};
template <> struct __integral<int> : true_type {};
template <> struct __integral<unsigned int> : true_type {};
template <> struct __integral<long> : true_type {};
template <> struct __integral<unsigned long> : true_type {};
template <> struct __integral<long long> : true_type {};
template <> struct __integral<unsigned long long> : true_type {};
#ifdef __cpp_char8_t
template <> struct __integral<char8_t> : true_type {};
#endif
#ifdef __CUDACC_RTC_INT128__
template <> struct __integral<__int128> : true_type {};
template <> struct __integral<unsigned __int128> : true_type {};
#endif

template <class _T>
struct __floating : false_type {};
template <> struct __floating<float> : true_type {};
template <> struct __floating<double> : true_type {};
template <> struct __floating<long double> : true_type {};

template <class _T>
struct __arithmetic : integral_constant<bool, __integral<_T>::value || __floating<_T>::value> {};

template <class _T>
struct __boolean : false_type {};
template <>
struct __boolean<bool> : true_type {};

template <class _T, bool = __arithmetic<_T>::value>
struct __signed_number : false_type {};
template <class _T>
struct __signed_number<_T, true> : integral_constant<bool, (_T(-1) < _T(0))> {};

}  // namespace __hatch

}  // namespace std

#endif
