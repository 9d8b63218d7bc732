// What holds the elements of a tuple, and the pointer of a unique_ptr with its deleter.
#ifndef _HATCH_TUPLE_ROW_H
#define _HATCH_TUPLE_ROW_H

#include <hatch_cuda_kernels/swap.h>
#include <hatch_cuda_kernels/tuple_protocol.h>

namespace std {

template <size_t _I, class... _T>
_HATCH_HD constexpr tuple_element_t<_I, tuple<_T...>>& get(tuple<_T...>& __t) noexcept;
template <size_t _I, class... _T>
_HATCH_HD constexpr const tuple_element_t<_I, tuple<_T...>>& get(const tuple<_T...>& __t) noexcept;
template <size_t _I, class... _T>
_HATCH_HD constexpr tuple_element_t<_I, tuple<_T...>>&& get(tuple<_T...>&& __t) noexcept;
template <size_t _I, class... _T>
_HATCH_HD constexpr const tuple_element_t<_I, tuple<_T...>>&& get(const tuple<_T...>&& __t) noexcept;

namespace __hatch {

// An empty class takes no room, as in libstdc++, which has it as a member without an address of its own: so it is
// no base class that could be seen, and members are in several classes. NVRTC has such members from C++20 on.
template <class _T>
struct __hollow : integral_constant<bool, __is_empty(_T) && !__is_final(_T)> {};
template <class _First, class... _T>
struct __hollow<tuple<_First, _T...>> : false_type {};

template <size_t _I, class _T, bool = __hollow<_T>::value>
struct __leaf {
    _T __value;
    constexpr __leaf() = default;
    template <class _U>
    _HATCH_HD constexpr explicit __leaf(true_type, _U&& __x) : __value(std::forward<_U>(__x)) {}
    _HATCH_HD constexpr explicit __leaf(false_type) : __value() {}
    _HATCH_HD constexpr _T& __get() noexcept { return __value; }
    _HATCH_HD constexpr const _T& __get() const noexcept { return __value; }
};
#if _HATCH_CPP20
template <size_t _I, class _T>
struct __leaf<_I, _T, true> {
    [[no_unique_address]] _T __value;
    constexpr __leaf() = default;
    template <class _U>
    _HATCH_HD constexpr explicit __leaf(true_type, _U&& __x) : __value(std::forward<_U>(__x)) {}
    _HATCH_HD constexpr explicit __leaf(false_type) : __value() {}
    _HATCH_HD constexpr _T& __get() noexcept { return __value; }
    _HATCH_HD constexpr const _T& __get() const noexcept { return __value; }
};
#else
template <size_t _I, class _T>
struct __leaf<_I, _T, true> : private _T {
    int : 0;
    constexpr __leaf() = default;
    template <class _U>
    _HATCH_HD constexpr explicit __leaf(true_type, _U&& __x) : _T(std::forward<_U>(__x)) {}
    _HATCH_HD constexpr explicit __leaf(false_type) : _T() {}
    _HATCH_HD constexpr _T& __get() noexcept { return *this; }
    _HATCH_HD constexpr const _T& __get() const noexcept { return *this; }
};
#endif

struct __each {};

// The elements lie as in libstdc++: the last one first, each behind those that come after it.
template <size_t _I, class... _T>
struct __row;
template <size_t _I, class _T>
struct __row<_I, _T> : private __leaf<_I, _T> {
    typedef __leaf<_I, _T> _Leaf;
    constexpr __row() = default;
    _HATCH_HD constexpr explicit __row(false_type __empty) : _Leaf(__empty) {}
    template <class _U>
    _HATCH_HD constexpr explicit __row(true_type __given, _U&& __x) : _Leaf(__given, std::forward<_U>(__x)) {}
    template <class _Other>
    _HATCH_HD constexpr explicit __row(__each, _Other&& __t)
        : _Leaf(true_type(), std::get<_I>(std::forward<_Other>(__t))) {}
    __row(const __row&) = default;
    _HATCH_HD constexpr __row(__row&& __r) noexcept(is_nothrow_move_constructible<_T>::value)
        : _Leaf(static_cast<_Leaf&&>(__r)) {}  // not trivial in libstdc++
    _HATCH_HD static constexpr _T& __at(__row& __r) noexcept { return static_cast<_Leaf&>(__r).__get(); }
    _HATCH_HD static constexpr const _T& __at(const __row& __r) noexcept {
        return static_cast<const _Leaf&>(__r).__get();
    }
    template <class _Other>
    _HATCH_HD constexpr void __assign(_Other&& __t) {
        _Leaf::__get() = std::get<_I>(std::forward<_Other>(__t));
    }
    _HATCH_HD constexpr void __swap(__row& __r) {
        using std::swap;
        swap(__at(*this), __at(__r));
    }
};
template <size_t _I, class _T, class _Next, class... _Rest>
struct __row<_I, _T, _Next, _Rest...> : __row<_I + 1, _Next, _Rest...>, private __leaf<_I, _T> {
    typedef __row<_I + 1, _Next, _Rest...> _Behind;
    typedef __leaf<_I, _T> _Leaf;
    constexpr __row() = default;
    _HATCH_HD constexpr explicit __row(false_type __empty) : _Behind(__empty), _Leaf(__empty) {}
    template <class _U, class... _V>
    _HATCH_HD constexpr explicit __row(true_type __given, _U&& __x, _V&&... __rest)
        : _Behind(__given, std::forward<_V>(__rest)...), _Leaf(__given, std::forward<_U>(__x)) {}
    template <class _Other>
    _HATCH_HD constexpr explicit __row(__each __all, _Other&& __t)
        : _Behind(__all, std::forward<_Other>(__t)), _Leaf(true_type(), std::get<_I>(std::forward<_Other>(__t))) {}
    __row(const __row&) = default;
    __row(__row&&) = default;
    _HATCH_HD static constexpr _T& __at(__row& __r) noexcept { return static_cast<_Leaf&>(__r).__get(); }
    _HATCH_HD static constexpr const _T& __at(const __row& __r) noexcept {
        return static_cast<const _Leaf&>(__r).__get();
    }
    template <class _Other>
    _HATCH_HD constexpr void __assign(_Other&& __t) {
        _Leaf::__get() = std::get<_I>(std::forward<_Other>(__t));
        _Behind::__assign(std::forward<_Other>(__t));
    }
    _HATCH_HD constexpr void __swap(__row& __r) {
        using std::swap;
        swap(__at(*this), __at(__r));
        _Behind::__swap(__r);
    }
};
template <size_t _I, class _T, class... _Rest>
_HATCH_HD constexpr _T& __element(__row<_I, _T, _Rest...>& __r) noexcept {
    return __row<_I, _T, _Rest...>::__at(__r);
}
template <size_t _I, class _T, class... _Rest>
_HATCH_HD constexpr const _T& __element(const __row<_I, _T, _Rest...>& __r) noexcept {
    return __row<_I, _T, _Rest...>::__at(__r);
}

}  // namespace __hatch

}  // namespace std

#endif
