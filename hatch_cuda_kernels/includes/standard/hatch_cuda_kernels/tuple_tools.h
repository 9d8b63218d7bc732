// What is done with tuples: comparing, joining, calling with their elements.
#ifndef _HATCH_TUPLE_TOOLS_H
#define _HATCH_TUPLE_TOOLS_H

#include <hatch_cuda_kernels/callables.h>
#include <tuple>

namespace std {

namespace __hatch {

template <size_t _I, size_t _N>
struct __compare_from {
    template <class _A, class _B>
    _HATCH_HD static constexpr bool __equal(const _A& __a, const _B& __b) {
        return bool(std::get<_I>(__a) == std::get<_I>(__b)) && __compare_from<_I + 1, _N>::__equal(__a, __b);
    }
    template <class _A, class _B>
    _HATCH_HD static constexpr bool __less(const _A& __a, const _B& __b) {
        return bool(std::get<_I>(__a) < std::get<_I>(__b)) ||
               (!bool(std::get<_I>(__b) < std::get<_I>(__a)) && __compare_from<_I + 1, _N>::__less(__a, __b));
    }
};
template <size_t _N>
struct __compare_from<_N, _N> {
    template <class _A, class _B>
    _HATCH_HD static constexpr bool __equal(const _A&, const _B&) {
        return true;
    }
    template <class _A, class _B>
    _HATCH_HD static constexpr bool __less(const _A&, const _B&) {
        return false;
    }
};

}  // namespace __hatch

template <class... _T, class... _U>
_HATCH_HD constexpr bool operator==(const tuple<_T...>& __a, const tuple<_U...>& __b) {
    static_assert(sizeof...(_T) == sizeof...(_U), "tuples of one size can be compared");
    return __hatch::__compare_from<0, sizeof...(_T)>::__equal(__a, __b);
}
#if !_HATCH_CPP20  // then they come of <=>, which has another answer about NaN
template <class... _T, class... _U>
_HATCH_HD constexpr bool operator<(const tuple<_T...>& __a, const tuple<_U...>& __b) {
    static_assert(sizeof...(_T) == sizeof...(_U), "tuples of one size can be compared");
    return __hatch::__compare_from<0, sizeof...(_T)>::__less(__a, __b);
}
template <class... _T, class... _U>
_HATCH_HD constexpr bool operator!=(const tuple<_T...>& __a, const tuple<_U...>& __b) {
    return !(__a == __b);
}
template <class... _T, class... _U>
_HATCH_HD constexpr bool operator>(const tuple<_T...>& __a, const tuple<_U...>& __b) {
    return __b < __a;
}
template <class... _T, class... _U>
_HATCH_HD constexpr bool operator<=(const tuple<_T...>& __a, const tuple<_U...>& __b) {
    return !(__b < __a);
}
template <class... _T, class... _U>
_HATCH_HD constexpr bool operator>=(const tuple<_T...>& __a, const tuple<_U...>& __b) {
    return !(__a < __b);
}
#else
namespace __hatch {

template <class _Order, size_t _I, class _A, class _B>
_HATCH_HD constexpr _Order __order_from(const _A& __a, const _B& __b) {
    if constexpr (_I == tuple_size<_A>::value) {
        return _Order::equivalent;
    } else {
        const _Order __first = __hatch::__synthesised(std::get<_I>(__a), std::get<_I>(__b));
        return __first != 0 ? __first : __hatch::__order_from<_Order, _I + 1>(__a, __b);
    }
}

}  // namespace __hatch

template <class... _T, class... _U>
_HATCH_HD constexpr common_comparison_category_t<__hatch::__synthesised_t<_T, _U>...> operator<=>(
    const tuple<_T...>& __a, const tuple<_U...>& __b) {
    return __hatch::__order_from<common_comparison_category_t<__hatch::__synthesised_t<_T, _U>...>, 0>(__a, __b);
}
#endif

namespace __hatch {

template <class _Tuple>
using __indices_of = make_index_sequence<tuple_size<__bare<_Tuple>>::value>;

template <class... _Tuples>
struct __cat_type;
template <class... _T>
struct __cat_type<tuple<_T...>> {
    typedef tuple<_T...> type;
};
template <class... _T, class... _U, class... _Rest>
struct __cat_type<tuple<_T...>, tuple<_U...>, _Rest...> : __cat_type<tuple<_T..., _U...>, _Rest...> {};

template <class _Tuple, class _Indices = __indices_of<_Tuple>>
struct __as_tuple;
template <class _Tuple, size_t... _I>
struct __as_tuple<_Tuple, index_sequence<_I...>> {
    typedef tuple<tuple_element_t<_I, __bare<_Tuple>>...> type;
};

template <class _Result, class... _X>
_HATCH_HD constexpr _Result __cat(tuple<_X...>&& __done) {
    return _Result(std::move(__done));
}
template <class _Result, class... _X, class _Tuple, class... _Rest>
_HATCH_HD constexpr _Result __cat(tuple<_X...>&& __done, _Tuple&& __t, _Rest&&... __rest);
template <class _Result, class... _X, size_t... _D, class _Tuple, size_t... _I, class... _Rest>
_HATCH_HD constexpr _Result __cat_one(tuple<_X...>&& __done, index_sequence<_D...>, _Tuple&& __t,
                                      index_sequence<_I...>, _Rest&&... __rest) {
    return __hatch::__cat<_Result>(std::forward_as_tuple(std::get<_D>(std::move(__done))...,
                                                         std::get<_I>(std::forward<_Tuple>(__t))...),
                                   std::forward<_Rest>(__rest)...);
}
template <class _Result, class... _X, class _Tuple, class... _Rest>
_HATCH_HD constexpr _Result __cat(tuple<_X...>&& __done, _Tuple&& __t, _Rest&&... __rest) {
    return __hatch::__cat_one<_Result>(std::move(__done), index_sequence_for<_X...>(), std::forward<_Tuple>(__t),
                                       __indices_of<_Tuple>(), std::forward<_Rest>(__rest)...);
}

}  // namespace __hatch

template <class... _Tuples>
_HATCH_HD constexpr typename __hatch::__cat_type<tuple<>, typename __hatch::__as_tuple<_Tuples>::type...>::type
tuple_cat(_Tuples&&... __t) {
    return __hatch::__cat<
        typename __hatch::__cat_type<tuple<>, typename __hatch::__as_tuple<_Tuples>::type...>::type>(
        tuple<>(), std::forward<_Tuples>(__t)...);
}

template <class _A, class _B>
template <class... _X, class... _Y>
_HATCH_HD pair<_A, _B>::pair(piecewise_construct_t, tuple<_X...> __a, tuple<_Y...> __b)
    : pair(__a, __b, index_sequence_for<_X...>(), index_sequence_for<_Y...>()) {}

template <class _A, class _B>
template <class _X, class _Y, size_t... _I, size_t... _J>
_HATCH_HD pair<_A, _B>::pair(_X& __a, _Y& __b, index_sequence<_I...>, index_sequence<_J...>)
    : first(std::get<_I>(std::move(__a))...), second(std::get<_J>(std::move(__b))...) {}

#if _HATCH_CPP17
namespace __hatch {

template <class _F, class _Tuple, size_t... _I>
_HATCH_HD constexpr decltype(auto) __apply(_F&& __f, _Tuple&& __t, index_sequence<_I...>) {
    return std::invoke(std::forward<_F>(__f), std::get<_I>(std::forward<_Tuple>(__t))...);
}
template <class _T, class _Tuple, size_t... _I>
_HATCH_HD constexpr _T __made_from(_Tuple&& __t, index_sequence<_I...>) {
    return _T(std::get<_I>(std::forward<_Tuple>(__t))...);
}

}  // namespace __hatch

template <class _F, class _Tuple>
_HATCH_HD constexpr decltype(auto) apply(_F&& __f, _Tuple&& __t) {
    return __hatch::__apply(std::forward<_F>(__f), std::forward<_Tuple>(__t), __hatch::__indices_of<_Tuple>());
}
template <class _T, class _Tuple>
_HATCH_HD constexpr _T make_from_tuple(_Tuple&& __t) {
    return __hatch::__made_from<_T>(std::forward<_Tuple>(__t), __hatch::__indices_of<_Tuple>());
}
#endif

}  // namespace std

#endif
