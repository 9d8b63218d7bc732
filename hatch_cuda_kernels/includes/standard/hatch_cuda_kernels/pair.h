// std::pair.
#ifndef _HATCH_PAIR_H
#define _HATCH_PAIR_H

#include <hatch_cuda_kernels/integer_sequence.h>
#include <hatch_cuda_kernels/swap.h>
#include <hatch_cuda_kernels/tuple_protocol.h>
#if _HATCH_CPP20
#include <compare>
#endif

namespace std {

struct piecewise_construct_t {
    explicit piecewise_construct_t() = default;
};
_HATCH_INLINE constexpr piecewise_construct_t piecewise_construct{};

template <class _A, class _B>
struct pair {
   private:
    template <int>
    struct _None;  // stands for what cannot be assigned

   public:
    typedef _A first_type;
    typedef _B second_type;
    _A first;
    _B second;

#define _HATCH_OF(first, second) (true, __hatch::__types<_A, _B>, __hatch::__types<first, second>)
#define _HATCH_IF_NOTHROW(what, first, second) \
    noexcept(_HATCH_CPP20 && __hatch::what<__hatch::__types<_A, _B>, __hatch::__types<first, second>>::__nothrow::value)
    _HATCH_MAKES((class _X = _A, class _Y = _B), (true, __hatch::__types<_X, _Y>, void), pair() : first(), second() {})
    _HATCH_MAKES((class _X = _A, class _Y = _B), _HATCH_OF(const _X&, const _Y&),
                pair(const _A& __a, const _B& __b) _HATCH_IF_NOTHROW(__each_made, const _A&, const _B&)
                : first(__a), second(__b) {})
    _HATCH_MAKES((class _X, class _Y), _HATCH_OF(_X, _Y),
                pair(_X&& __a, _Y&& __b) _HATCH_IF_NOTHROW(__each_made, _X, _Y)
                : first(std::forward<_X>(__a)), second(std::forward<_Y>(__b)) {})
    _HATCH_MAKES((class _X, class _Y), _HATCH_OF(const _X&, const _Y&),
                pair(const pair<_X, _Y>& __p) _HATCH_IF_NOTHROW(__each_made, const _X&, const _Y&)
                : first(__p.first), second(__p.second) {})
    _HATCH_MAKES((class _X, class _Y), _HATCH_OF(_X, _Y),
                pair(pair<_X, _Y>&& __p) _HATCH_IF_NOTHROW(__each_made, _X, _Y)
                : first(std::forward<_X>(__p.first)), second(std::forward<_Y>(__p.second)) {})
    template <class... _X, class... _Y>  // defined in <tuple>
    _HATCH_HD pair(piecewise_construct_t, tuple<_X...> __a, tuple<_Y...> __b);
    pair(const pair&) = default;
    pair(pair&&) = default;
    // Assigning is not trivial, as in libstdc++: code that asks whether a pair is trivially copyable gets its answer.
#if _HATCH_CPP20
    pair& operator=(const pair&) = delete;
    _HATCH_HD constexpr pair& operator=(const pair& __p) _HATCH_IF_NOTHROW(__each_assigned, const _A&, const _B&)
        requires(is_copy_assignable_v<_A> && is_copy_assignable_v<_B>)
    {
        first = __p.first;
        second = __p.second;
        return *this;
    }
    _HATCH_HD constexpr pair& operator=(pair&& __p) _HATCH_IF_NOTHROW(__each_assigned, _A, _B)
        requires(is_assignable_v<_A&, _A> && is_assignable_v<_B&, _B>)
    {
        first = std::forward<_A>(__p.first);
        second = std::forward<_B>(__p.second);
        return *this;
    }
#else
    _HATCH_HD constexpr pair& operator=(
        conditional_t<is_copy_assignable<_A>::value && is_copy_assignable<_B>::value, const pair&, const _None<0>&>
            __p) {
        first = __p.first;
        second = __p.second;
        return *this;
    }
    _HATCH_HD constexpr pair& operator=(
        conditional_t<is_move_assignable<_A>::value && is_move_assignable<_B>::value, pair&&, const _None<1>&>
            __p) noexcept(is_nothrow_move_assignable<_A>::value && is_nothrow_move_assignable<_B>::value) {
        first = std::forward<_A>(__p.first);
        second = std::forward<_B>(__p.second);
        return *this;
    }
#endif

    template <class _X, class _Y>
    _HATCH_HD constexpr enable_if_t<is_assignable<_A&, const _X&>::value && is_assignable<_B&, const _Y&>::value, pair&>
    operator=(const pair<_X, _Y>& __p) _HATCH_IF_NOTHROW(__each_assigned, const _X&, const _Y&) {
        first = __p.first;
        second = __p.second;
        return *this;
    }
    template <class _X, class _Y>
    _HATCH_HD constexpr enable_if_t<is_assignable<_A&, _X>::value && is_assignable<_B&, _Y>::value, pair&> operator=(
        pair<_X, _Y>&& __p) _HATCH_IF_NOTHROW(__each_assigned, _X, _Y) {
        first = std::forward<_X>(__p.first);
        second = std::forward<_Y>(__p.second);
        return *this;
    }
#undef _HATCH_OF
#undef _HATCH_IF_NOTHROW
    _HATCH_HD constexpr void swap(pair& __p) noexcept(__hatch::__swap_each<_A, _B>::__nothrow::value) {
        using std::swap;
        swap(first, __p.first);
        swap(second, __p.second);
    }

   private:
    template <class _X, class _Y, size_t... _I, size_t... _J>
    _HATCH_HD pair(_X& __a, _Y& __b, index_sequence<_I...>, index_sequence<_J...>);
};

template <class _A, class _B>
_HATCH_HD constexpr bool operator==(const pair<_A, _B>& __p, const pair<_A, _B>& __q) {
    return __p.first == __q.first && __p.second == __q.second;
}
#if !_HATCH_CPP20  // then they come of <=>, which has another answer about NaN
template <class _A, class _B>
_HATCH_HD constexpr bool operator!=(const pair<_A, _B>& __p, const pair<_A, _B>& __q) {
    return !(__p == __q);
}
template <class _A, class _B>
_HATCH_HD constexpr bool operator<(const pair<_A, _B>& __p, const pair<_A, _B>& __q) {
    return __p.first < __q.first || (!(__q.first < __p.first) && __p.second < __q.second);
}
template <class _A, class _B>
_HATCH_HD constexpr bool operator>(const pair<_A, _B>& __p, const pair<_A, _B>& __q) {
    return __q < __p;
}
template <class _A, class _B>
_HATCH_HD constexpr bool operator<=(const pair<_A, _B>& __p, const pair<_A, _B>& __q) {
    return !(__q < __p);
}
template <class _A, class _B>
_HATCH_HD constexpr bool operator>=(const pair<_A, _B>& __p, const pair<_A, _B>& __q) {
    return !(__p < __q);
}
#else
template <class _A, class _B>
_HATCH_HD constexpr common_comparison_category_t<__hatch::__synthesised_t<_A>, __hatch::__synthesised_t<_B>>
operator<=>(const pair<_A, _B>& __p, const pair<_A, _B>& __q) {
    typedef common_comparison_category_t<__hatch::__synthesised_t<_A>, __hatch::__synthesised_t<_B>> _Order;
    const _Order __first = __hatch::__synthesised(__p.first, __q.first);
    return __first != 0 ? __first : _Order(__hatch::__synthesised(__p.second, __q.second));
}
#endif

template <class _A, class _B>
_HATCH_HD constexpr enable_if_t<__hatch::__swap_each<_A, _B>::value> swap(pair<_A, _B>& __p,
                                                                        pair<_A, _B>& __q) noexcept(noexcept(__p.swap(__q))) {
    __p.swap(__q);
}
#if _HATCH_CPP17
template <class _A, class _B>
enable_if_t<!__hatch::__swap_each<_A, _B>::value> swap(pair<_A, _B>&, pair<_A, _B>&) = delete;
#endif

namespace __hatch {

template <class _T, class _D = typename decay<_T>::type>
struct __kept_as {
    typedef _D type;
};
template <class _T, class _X>
struct __kept_as<_T, reference_wrapper<_X>> {
    typedef _X& type;
};

}  // namespace __hatch

template <class _A, class _B>
_HATCH_HD constexpr pair<typename __hatch::__kept_as<_A>::type, typename __hatch::__kept_as<_B>::type> make_pair(
    _A&& __a, _B&& __b) {
    return pair<typename __hatch::__kept_as<_A>::type, typename __hatch::__kept_as<_B>::type>(std::forward<_A>(__a),
                                                                                             std::forward<_B>(__b));
}

template <class _A, class _B>
struct tuple_size<pair<_A, _B>> : integral_constant<size_t, 2> {};
template <class _A, class _B>
struct tuple_size<const pair<_A, _B>> : integral_constant<size_t, 2> {};
template <size_t _I, class _A, class _B>
struct tuple_element<_I, pair<_A, _B>> : __hatch::__nth<_I, _A, _B> {};
template <size_t _I, class _A, class _B>
struct tuple_element<_I, const pair<_A, _B>> : __hatch::__nth<_I, const _A, const _B> {};

namespace __hatch {

template <size_t _I>
struct __pair_member;
template <>
struct __pair_member<0> {
    template <class _P>
    _HATCH_HD static constexpr auto __of(_P& __p) noexcept -> decltype((__p.first)) {
        return __p.first;
    }
};
template <>
struct __pair_member<1> {
    template <class _P>
    _HATCH_HD static constexpr auto __of(_P& __p) noexcept -> decltype((__p.second)) {
        return __p.second;
    }
};

}  // namespace __hatch

template <size_t _I, class _A, class _B>
_HATCH_HD constexpr tuple_element_t<_I, pair<_A, _B>>& get(pair<_A, _B>& __p) noexcept {
    return __hatch::__pair_member<_I>::__of(__p);
}
template <size_t _I, class _A, class _B>
_HATCH_HD constexpr const tuple_element_t<_I, pair<_A, _B>>& get(const pair<_A, _B>& __p) noexcept {
    return __hatch::__pair_member<_I>::__of(__p);
}
template <size_t _I, class _A, class _B>
_HATCH_HD constexpr tuple_element_t<_I, pair<_A, _B>>&& get(pair<_A, _B>&& __p) noexcept {
    return static_cast<tuple_element_t<_I, pair<_A, _B>>&&>(__hatch::__pair_member<_I>::__of(__p));
}
template <size_t _I, class _A, class _B>
_HATCH_HD constexpr const tuple_element_t<_I, pair<_A, _B>>&& get(const pair<_A, _B>&& __p) noexcept {
    return static_cast<const tuple_element_t<_I, pair<_A, _B>>&&>(__hatch::__pair_member<_I>::__of(__p));
}
template <class _T, class _B>
_HATCH_HD constexpr _T& get(pair<_T, _B>& __p) noexcept {
    return __p.first;
}
template <class _T, class _B>
_HATCH_HD constexpr const _T& get(const pair<_T, _B>& __p) noexcept {
    return __p.first;
}
template <class _T, class _A>
_HATCH_HD constexpr _T& get(pair<_A, _T>& __p) noexcept {
    return __p.second;
}
template <class _T, class _A>
_HATCH_HD constexpr const _T& get(const pair<_A, _T>& __p) noexcept {
    return __p.second;
}

template <class _T, class _B>
_HATCH_HD constexpr _T&& get(pair<_T, _B>&& __p) noexcept {
    return std::move(__p.first);
}
template <class _T, class _A>
_HATCH_HD constexpr _T&& get(pair<_A, _T>&& __p) noexcept {
    return std::move(__p.second);
}
template <class _T, class _B>
_HATCH_HD constexpr const _T&& get(const pair<_T, _B>&& __p) noexcept {
    return std::move(__p.first);
}
template <class _T, class _A>
_HATCH_HD constexpr const _T&& get(const pair<_A, _T>&& __p) noexcept {
    return std::move(__p.second);
}

#if _HATCH_CPP17
template <class _A, class _B>
pair(_A, _B) -> pair<_A, _B>;
#endif

}  // namespace std

#endif
