// std::swap and what tells whether it can be called. std::move and std::forward are NVRTC's own.
#ifndef _HATCH_SWAP_H
#define _HATCH_SWAP_H

#include <type_traits>

#ifndef __NV_BUILTIN_MOVE_FORWARD
#error "the standard headers need NVRTC's own std::move: leave out -builtin-move-forward=false"
#endif

namespace std {

template <class _A, class _B>
struct pair;
template <class... _T>
class tuple;
template <class _T, size_t _N>
struct array;

namespace __hatch {

// These have a swap of their own or none.
template <class _T>
struct __has_elements : false_type {};
template <class _A, class _B>
struct __has_elements<pair<_A, _B>> : true_type {};
template <class... _T>
struct __has_elements<tuple<_T...>> : true_type {};
template <class _T, size_t _N>
struct __has_elements<array<_T, _N>> : true_type {};

template <class _T, class _U, class = void>
struct __swaps;
template <class _T>
using __swaps_both = __swaps<add_lvalue_reference_t<_T>, add_lvalue_reference_t<_T>>;
template <class... _T>
struct __swap_each;

}  // namespace __hatch

template <class _T>
_HATCH_HD constexpr enable_if_t<!__hatch::__has_elements<_T>::value && is_move_constructible<_T>::value &&
                                is_move_assignable<_T>::value>
swap(_T& __a, _T& __b) noexcept(is_nothrow_move_constructible<_T>::value && is_nothrow_move_assignable<_T>::value) {
    _T __kept = std::move(__a);
    __a = std::move(__b);
    __b = std::move(__kept);
}
template <class _T, size_t _N>
_HATCH_HD constexpr enable_if_t<__hatch::__swaps_both<_T>::value> swap(_T (&__a)[_N], _T (&__b)[_N]) noexcept(
    __hatch::__swaps_both<_T>::__nothrow::value) {
    for (size_t __i = 0; __i < _N; ++__i) {
        swap(__a[__i], __b[__i]);
    }
}

namespace __hatch {

template <class _T, class _U, class>
struct __swaps : false_type {
    typedef false_type __nothrow;
};
template <class _T, class _U>
struct __swaps<_T, _U,
               __hatch_void_t<decltype(swap(declval<_T>(), declval<_U>())), decltype(swap(declval<_U>(), declval<_T>()))>>
    : true_type {
    typedef integral_constant<bool, noexcept(swap(declval<_T>(), declval<_U>())) &&
                                        noexcept(swap(declval<_U>(), declval<_T>()))>
        __nothrow;
};
template <class... _T>
struct __swap_each : __all<__swaps_both<_T>::value...> {
    typedef __all<__swaps_both<_T>::__nothrow::value...> __nothrow;
};

}  // namespace __hatch

#if _HATCH_CPP17
template <class _T, class _U>
struct is_swappable_with : bool_constant<__hatch::__swaps<_T, _U>::value> {};
template <class _T, class _U>
struct is_nothrow_swappable_with : bool_constant<__hatch::__swaps<_T, _U>::__nothrow::value> {};
template <class _T>
struct is_swappable : bool_constant<__hatch::__swaps_both<_T>::value> {};
template <class _T>
struct is_nothrow_swappable : bool_constant<__hatch::__swaps_both<_T>::__nothrow::value> {};
template <class _T, class _U>
inline constexpr bool is_swappable_with_v = is_swappable_with<_T, _U>::value;
template <class _T, class _U>
inline constexpr bool is_nothrow_swappable_with_v = is_nothrow_swappable_with<_T, _U>::value;
template <class _T>
inline constexpr bool is_swappable_v = is_swappable<_T>::value;
template <class _T>
inline constexpr bool is_nothrow_swappable_v = is_nothrow_swappable<_T>::value;
#endif

}  // namespace std

#endif
