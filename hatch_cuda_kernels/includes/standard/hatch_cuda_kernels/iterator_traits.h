// What an iterator is, and steps with one.
#ifndef _HATCH_ITERATOR_TRAITS_H
#define _HATCH_ITERATOR_TRAITS_H

#include <type_traits>

namespace std {

struct input_iterator_tag {};
struct output_iterator_tag {};
struct forward_iterator_tag : input_iterator_tag {};
struct bidirectional_iterator_tag : forward_iterator_tag {};
struct random_access_iterator_tag : bidirectional_iterator_tag {};
#if _HATCH_CPP20
struct contiguous_iterator_tag : random_access_iterator_tag {};
#endif

template <class _Category, class _T, class _Distance = ptrdiff_t, class _Pointer = _T*, class _Reference = _T&>
struct iterator {
    typedef _Category iterator_category;
    typedef _T value_type;
    typedef _Distance difference_type;
    typedef _Pointer pointer;
    typedef _Reference reference;
};
// The base of iterators that are written to, and what it has from C++20 on.
#define _HATCH_OUTPUT iterator<output_iterator_tag, void, void, void, void>
#if _HATCH_CPP20
#define _HATCH_DISTANCE_20 typedef ptrdiff_t difference_type;
#else
#define _HATCH_DISTANCE_20
#endif

namespace __hatch {

template <class _It, class = void>
struct __iterator_types {};
template <class _It>
struct __iterator_types<
    _It, __hatch_void_t<typename _It::iterator_category, typename _It::value_type, typename _It::difference_type,
                        typename _It::pointer, typename _It::reference>> {
    typedef typename _It::iterator_category iterator_category;
    typedef typename _It::value_type value_type;
    typedef typename _It::difference_type difference_type;
    typedef typename _It::pointer pointer;
    typedef typename _It::reference reference;
};

}  // namespace __hatch

template <class _It>
struct iterator_traits : __hatch::__iterator_types<_It> {};
template <class _T>
struct iterator_traits<_T*> {
    typedef random_access_iterator_tag iterator_category;
    typedef remove_cv_t<_T> value_type;
    typedef ptrdiff_t difference_type;
    typedef _T* pointer;
    typedef _T& reference;
};

#if _HATCH_CPP20
template <class _It>
using iter_value_t = typename iterator_traits<remove_cvref_t<_It>>::value_type;
template <class _It>
using iter_difference_t = typename iterator_traits<remove_cvref_t<_It>>::difference_type;
template <class _It>
using iter_reference_t = decltype(*declval<_It&>());
struct default_sentinel_t {};
inline constexpr default_sentinel_t default_sentinel{};
struct unreachable_sentinel_t {
    template <class _It, class = decltype(++declval<_It&>())>
    _HATCH_HD friend constexpr bool operator==(unreachable_sentinel_t, const _It&) noexcept {
        return false;
    }
};
inline constexpr unreachable_sentinel_t unreachable_sentinel{};
#endif

namespace __hatch {

template <class _It>
using __category = typename iterator_traits<_It>::iterator_category;
template <class _It>
using __distance_of = typename iterator_traits<_It>::difference_type;
template <class _It>
using __value_of = typename iterator_traits<_It>::value_type;
template <class _It>
struct __jumps : integral_constant<bool, __is_base_of(random_access_iterator_tag, __category<_It>)> {};

template <class _It, class _N>
_HATCH_HD constexpr void __advance(_It& __it, _N __n, true_type) {
    __it += __n;
}
template <class _It, class _N>
_HATCH_HD constexpr void __back(_It& __it, _N __n, bidirectional_iterator_tag) {
    for (; __n < 0; ++__n) {
        --__it;
    }
}
template <class _It, class _N>
_HATCH_HD constexpr void __back(_It&, _N, input_iterator_tag) {}
template <class _It, class _N>
_HATCH_HD constexpr void __advance(_It& __it, _N __n, false_type) {
    for (; __n > 0; --__n) {
        ++__it;
    }
    __hatch::__back(__it, __n, __category<_It>());
}
template <class _It>
_HATCH_HD constexpr __distance_of<_It> __distance(_It __first, _It __last, true_type) {
    return __last - __first;
}
template <class _It>
_HATCH_HD constexpr __distance_of<_It> __distance(_It __first, _It __last, false_type) {
    __distance_of<_It> __n = 0;
    for (; __first != __last; ++__first) {
        ++__n;
    }
    return __n;
}

}  // namespace __hatch

template <class _It, class _N>
_HATCH_HD constexpr void advance(_It& __it, _N __n) {
    __hatch::__advance(__it, __hatch::__distance_of<_It>(__n), integral_constant<bool, __hatch::__jumps<_It>::value>());
}
template <class _It>
_HATCH_HD constexpr __hatch::__distance_of<_It> distance(_It __first, _It __last) {
    return __hatch::__distance(__first, __last, integral_constant<bool, __hatch::__jumps<_It>::value>());
}
template <class _It>
_HATCH_HD constexpr _It next(_It __it, __hatch::__distance_of<_It> __n = 1) {
    std::advance(__it, __n);
    return __it;
}
template <class _It>
_HATCH_HD constexpr _It prev(_It __it, __hatch::__distance_of<_It> __n = 1) {
    std::advance(__it, -__n);
    return __it;
}

}  // namespace std

#endif
