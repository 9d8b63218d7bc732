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

// NVRTC writes the constant of each integral_constant into the image; an enumerator has no address, and is not written.
template <bool _V>
struct __told {
    enum : bool { value = _V };
};

template <class _T>
struct __integral : __told<false> {};
template <> struct __integral<bool> : __told<true> {};
template <> struct __integral<char> : __told<true> {};
template <> struct __integral<signed char> : __told<true> {};
template <> struct __integral<unsigned char> : __told<true> {};
template <> struct __integral<wchar_t> : __told<true> {};
template <> struct __integral<char16_t> : __told<true> {};
template <> struct __integral<char32_t> : __told<true> {};
template <> struct __integral<short> : __told<true> {};
template <> struct __integral<unsigned short> : __told<true> {};
template <> struct __integral<int> : __told<true> {};
template <> struct __integral<unsigned int> : __told<true> {};
template <> struct __integral<long> : __told<true> {};
template <> struct __integral<unsigned long> : __told<true> {};
template <> struct __integral<long long> : __told<true> {};
template <> struct __integral<unsigned long long> : __told<true> {};
#ifdef __cpp_char8_t
template <> struct __integral<char8_t> : __told<true> {};
#endif

// Integers of 128 bits have limits, and are no integral types: nvcc asks for C++ without GNU's extensions.
template <class _T>
struct __with_limits : __told<__integral<_T>::value> {};
#ifdef __CUDACC_RTC_INT128__
template <> struct __with_limits<__int128> : __told<true> {};
template <> struct __with_limits<unsigned __int128> : __told<true> {};
#endif

template <class _T>
struct __floating : __told<false> {};
template <> struct __floating<float> : __told<true> {};
template <> struct __floating<double> : __told<true> {};
template <> struct __floating<long double> : __told<true> {};

template <class _T>
struct __arithmetic : __told<__integral<_T>::value || __floating<_T>::value> {};

template <class _T>
struct __boolean : __told<false> {};
template <>
struct __boolean<bool> : __told<true> {};

template <class _T, bool = __arithmetic<_T>::value>
struct __signed_number : __told<false> {};
template <class _T>
struct __signed_number<_T, true> : __told<(_T(-1) < _T(0))> {};

}  // namespace __hatch

}  // namespace std

#endif
