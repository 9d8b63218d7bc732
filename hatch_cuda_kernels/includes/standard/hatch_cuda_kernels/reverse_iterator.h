// An iterator that goes backwards.
#ifndef _HATCH_REVERSE_ITERATOR_H
#define _HATCH_REVERSE_ITERATOR_H

#include <hatch_cuda_kernels/iterator_traits.h>
#if _HATCH_CPP20
#include <compare>
#endif

namespace std {

template <class _It>
class reverse_iterator
    : public iterator<typename iterator_traits<_It>::iterator_category, typename iterator_traits<_It>::value_type,
                      typename iterator_traits<_It>::difference_type, typename iterator_traits<_It>::pointer,
                      typename iterator_traits<_It>::reference> {
   public:
    typedef _It iterator_type;
    typedef typename iterator_traits<_It>::iterator_category iterator_category;
    typedef typename iterator_traits<_It>::value_type value_type;
    typedef typename iterator_traits<_It>::difference_type difference_type;
    typedef typename iterator_traits<_It>::pointer pointer;
    typedef typename iterator_traits<_It>::reference reference;

    _HATCH_HD constexpr reverse_iterator() noexcept(noexcept(_It())) : current() {}
    _HATCH_HD constexpr explicit reverse_iterator(_It __it) noexcept(noexcept(_It(__it))) : current(__it) {}
    // Written out, as in libstdc++: copies are not trivial.
    _HATCH_HD constexpr reverse_iterator(const reverse_iterator& __r) noexcept(noexcept(_It(__r.current)))
        : current(__r.current) {}
    reverse_iterator& operator=(const reverse_iterator&) = default;
#if _HATCH_CPP20
    template <class _U>
        requires(!is_same_v<_U, _It> && is_convertible_v<const _U&, _It>)
#else
    template <class _U>
#endif
    _HATCH_HD constexpr reverse_iterator(const reverse_iterator<_U>& __r) noexcept(noexcept(_It(__r.base())))
        : current(__r.base()) {}
#if _HATCH_CPP20
    template <class _U>
        requires(!is_same_v<_U, _It> && is_convertible_v<const _U&, _It> && is_assignable_v<_It&, const _U&>)
#else
    template <class _U>
#endif
    _HATCH_HD constexpr reverse_iterator& operator=(const reverse_iterator<_U>& __r) noexcept(
        noexcept(declval<_It&>() = __r.base())) {
        current = __r.base();
        return *this;
    }
    _HATCH_HD constexpr _It base() const noexcept(noexcept(_It(declval<const _It&>()))) { return current; }
    _HATCH_HD constexpr reference operator*() const {
        _It __it = current;
        return *--__it;
    }
    _HATCH_HD constexpr _It operator->() const {
        _It __it = current;
        return --__it;
    }
    _HATCH_HD constexpr reference operator[](difference_type __n) const { return *(*this + __n); }
    _HATCH_HD constexpr reverse_iterator& operator++() {
        --current;
        return *this;
    }
    _HATCH_HD constexpr reverse_iterator operator++(int) {
        reverse_iterator __old = *this;
        --current;
        return __old;
    }
    _HATCH_HD constexpr reverse_iterator& operator--() {
        ++current;
        return *this;
    }
    _HATCH_HD constexpr reverse_iterator operator--(int) {
        reverse_iterator __old = *this;
        ++current;
        return __old;
    }
    _HATCH_HD constexpr reverse_iterator operator+(difference_type __n) const {
        return reverse_iterator(current - __n);
    }
    _HATCH_HD constexpr reverse_iterator operator-(difference_type __n) const {
        return reverse_iterator(current + __n);
    }
    _HATCH_HD constexpr reverse_iterator& operator+=(difference_type __n) {
        current -= __n;
        return *this;
    }
    _HATCH_HD constexpr reverse_iterator& operator-=(difference_type __n) {
        current += __n;
        return *this;
    }

   protected:
    _It current;
};

#define _HATCH_COMPARED(op, compared)                                                                       \
    template <class _A, class _B>                                                                           \
    _HATCH_HD constexpr auto operator op(const reverse_iterator<_A>& __a, const reverse_iterator<_B>& __b)  \
        -> _HATCH_WHERE(__a.base() compared __b.base()) {                                                   \
        return __a.base() compared __b.base();                                                              \
    }
_HATCH_COMPARED(==, ==)
_HATCH_COMPARED(!=, !=)
_HATCH_COMPARED(<, >)
_HATCH_COMPARED(>, <)
_HATCH_COMPARED(<=, >=)
_HATCH_COMPARED(>=, <=)
#undef _HATCH_COMPARED
#if !_HATCH_CPP20
// Two of one type need no more than == and < of what they wrap.
#define _HATCH_COMPARED(op, ...)                                                                               \
    template <class _It>                                                                                       \
    _HATCH_HD constexpr bool operator op(const reverse_iterator<_It>& __a, const reverse_iterator<_It>& __b) { \
        return __VA_ARGS__;                                                                                    \
    }
_HATCH_COMPARED(!=, !(__a.base() == __b.base()))
_HATCH_COMPARED(<, __b.base() < __a.base())
_HATCH_COMPARED(>, __a.base() < __b.base())
_HATCH_COMPARED(<=, !(__a.base() < __b.base()))
_HATCH_COMPARED(>=, !(__b.base() < __a.base()))
#undef _HATCH_COMPARED
#endif
#if _HATCH_CPP20
template <class _A, three_way_comparable_with<_A> _B>
_HATCH_HD constexpr compare_three_way_result_t<_A, _B> operator<=>(const reverse_iterator<_A>& __a,
                                                                   const reverse_iterator<_B>& __b) {
    return __b.base() <=> __a.base();
}
#endif

template <class _A, class _B>
_HATCH_HD constexpr auto operator-(const reverse_iterator<_A>& __a, const reverse_iterator<_B>& __b)
    -> decltype(__b.base() - __a.base()) {
    return __b.base() - __a.base();
}
template <class _It>
_HATCH_HD constexpr reverse_iterator<_It> make_reverse_iterator(_It __it) {
    return reverse_iterator<_It>(__it);
}

}  // namespace std

#endif
