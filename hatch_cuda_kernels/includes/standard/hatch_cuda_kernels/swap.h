// std::swap and what tells whether it can be called. std::move and std::forward are NVRTC's own.
#ifndef _HATCH_SWAP_H
#define _HATCH_SWAP_H

#include <type_traits>

#ifndef __NV_BUILTIN_MOVE_FORWARD
#error "the standard headers need NVRTC's own std::move: leave out -builtin-move-forward=false"
#endif

namespace std {

template <class _T>
_HATCH_HD constexpr enable_if_t<is_move_constructible<_T>::value && is_move_assignable<_T>::value> swap(
    _T& __a, _T& __b) noexcept(is_nothrow_move_constructible<_T>::value && is_nothrow_move_assignable<_T>::value) {
    _T __kept = std::move(__a);
    __a = std::move(__b);
    __b = std::move(__kept);
}
template <class _T, size_t _N>
_HATCH_HD constexpr void swap(_T (&__a)[_N], _T (&__b)[_N]) {
    for (size_t __i = 0; __i < _N; ++__i) {
        swap(__a[__i], __b[__i]);
    }
}

#if _HATCH_CPP17
namespace __hatch {

template <class _T, class _U, class = void>
struct __swappable : false_type {
    static constexpr bool __nothrow = false;
};
template <class _T, class _U>
struct __swappable<_T, _U, void_t<decltype(swap(declval<_T>(), declval<_U>()), swap(declval<_U>(), declval<_T>()))>>
    : true_type {
    static constexpr bool __nothrow =
        noexcept(swap(declval<_T>(), declval<_U>())) && noexcept(swap(declval<_U>(), declval<_T>()));
};

}  // namespace __hatch

template <class _T, class _U>
struct is_swappable_with : bool_constant<__hatch::__swappable<_T, _U>::value> {};
template <class _T, class _U>
struct is_nothrow_swappable_with : bool_constant<__hatch::__swappable<_T, _U>::__nothrow> {};
template <class _T>
struct is_swappable : is_swappable_with<add_lvalue_reference_t<_T>, add_lvalue_reference_t<_T>> {};
template <class _T>
struct is_nothrow_swappable : is_nothrow_swappable_with<add_lvalue_reference_t<_T>, add_lvalue_reference_t<_T>> {};
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
