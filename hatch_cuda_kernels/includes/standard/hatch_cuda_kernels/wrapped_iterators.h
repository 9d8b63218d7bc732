// Iterators made of others: moving, appending.
#ifndef _HATCH_WRAPPED_ITERATORS_H
#define _HATCH_WRAPPED_ITERATORS_H

#include <hatch_cuda_kernels/reverse_iterator.h>

namespace std {

template <class _It>
class move_iterator {
   public:
    typedef _It iterator_type;
    typedef typename iterator_traits<_It>::iterator_category iterator_category;
    typedef typename iterator_traits<_It>::value_type value_type;
    typedef typename iterator_traits<_It>::difference_type difference_type;
    typedef _It pointer;
    typedef decltype(std::move(*declval<_It&>())) reference;

    _HATCH_HD constexpr move_iterator() : __current() {}
    _HATCH_HD constexpr explicit move_iterator(_It __it) : __current(__it) {}
    _HATCH_HD constexpr _It base() const { return __current; }
    _HATCH_HD constexpr reference operator*() const { return std::move(*__current); }
    _HATCH_HD constexpr reference operator[](difference_type __n) const { return std::move(__current[__n]); }
    _HATCH_HD constexpr move_iterator& operator++() {
        ++__current;
        return *this;
    }
    _HATCH_HD constexpr move_iterator operator++(int) { return move_iterator(__current++); }
    _HATCH_HD constexpr move_iterator& operator--() {
        --__current;
        return *this;
    }
    _HATCH_HD constexpr move_iterator operator+(difference_type __n) const { return move_iterator(__current + __n); }
    _HATCH_HD constexpr move_iterator operator-(difference_type __n) const { return move_iterator(__current - __n); }
    _HATCH_HD constexpr move_iterator& operator+=(difference_type __n) {
        __current += __n;
        return *this;
    }
    _HATCH_HD constexpr move_iterator& operator-=(difference_type __n) { return *this += -__n; }
    _HATCH_HD constexpr _It operator->() const { return __current; }

   private:
    _It __current;
};

#define _HATCH_COMPARED(op, ...)                                                                     \
    template <class _A, class _B>                                                                    \
    _HATCH_HD constexpr auto operator op(const move_iterator<_A>& __a, const move_iterator<_B>& __b) \
        -> _HATCH_WHERE(__VA_ARGS__) {                                                               \
        return __VA_ARGS__;                                                                          \
    }
_HATCH_COMPARED(==, __a.base() == __b.base())
_HATCH_COMPARED(!=, !(__a.base() == __b.base()))
_HATCH_COMPARED(<, __a.base() < __b.base())
_HATCH_COMPARED(>, __b.base() < __a.base())
_HATCH_COMPARED(<=, !(__b.base() < __a.base()))
_HATCH_COMPARED(>=, !(__a.base() < __b.base()))
#undef _HATCH_COMPARED
#if _HATCH_CPP20
template <class _A, three_way_comparable_with<_A> _B>
_HATCH_HD constexpr compare_three_way_result_t<_A, _B> operator<=>(const move_iterator<_A>& __a,
                                                                   const move_iterator<_B>& __b) {
    return __a.base() <=> __b.base();
}
#endif

template <class _A, class _B>
_HATCH_HD constexpr auto operator-(const move_iterator<_A>& __a, const move_iterator<_B>& __b)
    -> decltype(__a.base() - __b.base()) {
    return __a.base() - __b.base();
}
template <class _It>
_HATCH_HD constexpr move_iterator<_It> make_move_iterator(_It __it) {
    return move_iterator<_It>(__it);
}

// Assignments to one put an item into a container: at an end, or before an item.
#define _HATCH_INSERTER(name, put)                                                       \
    template <class _C>                                                                  \
    class name : public _HATCH_OUTPUT {                                                  \
       public:                                                                           \
        _HATCH_DISTANCE_20                                                               \
        typedef _C container_type;                                                       \
        _HATCH_HD constexpr explicit name(_C& __c) : container(__builtin_addressof(__c)) {} \
        template <class _T>                                                              \
        _HATCH_HD constexpr name& operator=(_T&& __x) {                                  \
            container->put(std::forward<_T>(__x));                                       \
            return *this;                                                                \
        }                                                                                \
        _HATCH_HD constexpr name& operator*() { return *this; }                          \
        _HATCH_HD constexpr name& operator++() { return *this; }                         \
        _HATCH_HD constexpr name operator++(int) { return *this; }                       \
                                                                                         \
       protected:                                                                        \
        _C* container;                                                                   \
    };
_HATCH_INSERTER(back_insert_iterator, push_back)
_HATCH_INSERTER(front_insert_iterator, push_front)
#undef _HATCH_INSERTER
template <class _C>
class insert_iterator : public _HATCH_OUTPUT {
   public:
    _HATCH_DISTANCE_20
    typedef _C container_type;
    _HATCH_HD constexpr insert_iterator(_C& __c, typename _C::iterator __at)
        : container(__builtin_addressof(__c)), iter(__at) {}
    template <class _T>
    _HATCH_HD constexpr insert_iterator& operator=(_T&& __x) {
        iter = container->insert(iter, std::forward<_T>(__x));
        ++iter;
        return *this;
    }
    _HATCH_HD constexpr insert_iterator& operator*() { return *this; }
    _HATCH_HD constexpr insert_iterator& operator++() { return *this; }
    _HATCH_HD constexpr insert_iterator& operator++(int) { return *this; }

   protected:
    _C* container;
    typename _C::iterator iter;
};
template <class _C>
_HATCH_HD constexpr back_insert_iterator<_C> back_inserter(_C& __c) {
    return back_insert_iterator<_C>(__c);
}
template <class _C>
_HATCH_HD constexpr front_insert_iterator<_C> front_inserter(_C& __c) {
    return front_insert_iterator<_C>(__c);
}
template <class _C>
_HATCH_HD constexpr insert_iterator<_C> inserter(_C& __c, typename _C::iterator __at) {
    return insert_iterator<_C>(__c, __at);
}

}  // namespace std

#endif
