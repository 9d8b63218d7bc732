// What the host's containers have in common: iterators, types, functions.
#ifndef _HATCH_HOST_CONTAINERS_H
#define _HATCH_HOST_CONTAINERS_H

#include <hatch_cuda_kernels/host_allocator.h>
#include <hatch_cuda_kernels/reverse_iterator.h>
#include <hatch_cuda_kernels/swap.h>

namespace std {

namespace __hatch {

// An iterator into the container _C.
template <class _T, class _Ref, class _C, class _Category, size_t _Bytes = 8>
class __host_iterator {
   public:
    typedef _Category iterator_category;
    typedef _T value_type;
    typedef ptrdiff_t difference_type;
    typedef remove_reference_t<_Ref>* pointer;
    typedef _Ref reference;
    _HATCH_HD __host_iterator() noexcept;
    _HATCH_HD explicit __host_iterator(pointer) noexcept;
    template <class _R, class = enable_if_t<is_convertible<_R*, pointer>::value && !is_same<_R&, _Ref>::value>>
    _HATCH_HD __host_iterator(const __host_iterator<_T, _R&, _C, _Category, _Bytes>&) noexcept;
    _HATCH_HD reference operator*() const;
    _HATCH_HD pointer operator->() const;
    _HATCH_HD reference operator[](ptrdiff_t) const;
    _HATCH_HD __host_iterator& operator++();
    _HATCH_HD __host_iterator operator++(int);
    _HATCH_HD __host_iterator& operator--();
    _HATCH_HD __host_iterator operator--(int);
    _HATCH_HD __host_iterator& operator+=(ptrdiff_t);
    _HATCH_HD __host_iterator& operator-=(ptrdiff_t);
    _HATCH_HD __host_iterator operator+(ptrdiff_t) const;
    _HATCH_HD __host_iterator operator-(ptrdiff_t) const;
    _HATCH_HD pointer base() const;

   private:
    alignas(8) unsigned char __held[_Bytes];
};
#define _HATCH_COMPARED(result, op)                                        \
    template <class _T, class _R, class _S, class _C, class _K, size_t _N> \
    _HATCH_HD result operator op(const __host_iterator<_T, _R, _C, _K, _N>&, const __host_iterator<_T, _S, _C, _K, _N>&);
_HATCH_COMPARED(bool, ==)
_HATCH_COMPARED(bool, !=)
#define _HATCH_AT_RANDOM(result) enable_if_t<is_same<_K, random_access_iterator_tag>::value, result>
_HATCH_COMPARED(_HATCH_AT_RANDOM(bool), <)
_HATCH_COMPARED(_HATCH_AT_RANDOM(bool), >)
_HATCH_COMPARED(_HATCH_AT_RANDOM(bool), <=)
_HATCH_COMPARED(_HATCH_AT_RANDOM(bool), >=)
_HATCH_COMPARED(_HATCH_AT_RANDOM(ptrdiff_t), -)
#if _HATCH_CPP20
_HATCH_COMPARED(_HATCH_AT_RANDOM(strong_ordering), <=>)
#endif
#undef _HATCH_AT_RANDOM
#undef _HATCH_COMPARED
template <class _T, class _R, class _C, class _K, size_t _N>
_HATCH_HD __host_iterator<_T, _R, _C, _K, _N> operator+(ptrdiff_t, const __host_iterator<_T, _R, _C, _K, _N>&);

template <class _It>
using __if_input = enable_if_t<is_convertible<typename iterator_traits<_It>::iterator_category, input_iterator_tag>::value>;
template <class _It>
using __item = typename iterator_traits<_It>::value_type;

}  // namespace __hatch

#define _HATCH_TYPES(name, item, category, bytes)                                                 \
    typedef _A allocator_type;                                                                    \
    typedef item value_type;                                                                      \
    typedef item& reference;                                                                      \
    typedef const item& const_reference;                                                          \
    typedef item* pointer;                                                                        \
    typedef const item* const_pointer;                                                            \
    typedef size_t size_type;                                                                     \
    typedef ptrdiff_t difference_type;                                                            \
    typedef __hatch::__host_iterator<item, item&, name, category##_iterator_tag, bytes> iterator; \
    typedef __hatch::__host_iterator<item, const item&, name, category##_iterator_tag, bytes> const_iterator

#define _HATCH_RANGE                                  \
    _HATCH_HD iterator begin() noexcept;              \
    _HATCH_HD const_iterator begin() const noexcept;  \
    _HATCH_HD iterator end() noexcept;                \
    _HATCH_HD const_iterator end() const noexcept;    \
    _HATCH_HD const_iterator cbegin() const noexcept; \
    _HATCH_HD const_iterator cend() const noexcept;   \
    _HATCH_HD bool empty() const noexcept;            \
    _HATCH_HD size_t max_size() const noexcept;       \
    _HATCH_HD void clear() noexcept;                  \
    _HATCH_HD _A get_allocator() const noexcept

#define _HATCH_BOTH_WAYS                                                  \
    typedef std::reverse_iterator<iterator> reverse_iterator;             \
    typedef std::reverse_iterator<const_iterator> const_reverse_iterator; \
    _HATCH_HD reverse_iterator rbegin() noexcept;                         \
    _HATCH_HD const_reverse_iterator rbegin() const noexcept;             \
    _HATCH_HD reverse_iterator rend() noexcept;                           \
    _HATCH_HD const_reverse_iterator rend() const noexcept;               \
    _HATCH_HD const_reverse_iterator crbegin() const noexcept;            \
    _HATCH_HD const_reverse_iterator crend() const noexcept

// Copies, moves, and what is made of a list of items.
#define _HATCH_MADE(name, item)                        \
    _HATCH_COPIED(name);                               \
    _HATCH_HD name(const name&, const _A&);            \
    _HATCH_HD name(name&&, const _A&);                 \
    _HATCH_HD name& operator=(name&&) noexcept;        \
    _HATCH_HD name& operator=(initializer_list<item>); \
    _HATCH_HD void swap(name&) noexcept

// A container of _T in the order that its user gives it; ``at`` is where items go.
#define _HATCH_SEQUENCE(name, at)                                        \
    _HATCH_MADE(name, _T);                                               \
    _HATCH_HD explicit name(const _A&) noexcept;                         \
    _HATCH_HD explicit name(size_t, const _A& = _A());                   \
    _HATCH_HD name(size_t, const _T&, const _A& = _A());                 \
    _HATCH_HD name(initializer_list<_T>, const _A& = _A());              \
    template <class _It, class = __hatch::__if_input<_It>>               \
    _HATCH_HD name(_It, _It, const _A& = _A());                          \
    _HATCH_HD void assign(size_t, const _T&);                            \
    _HATCH_HD void assign(initializer_list<_T>);                         \
    template <class _It, class = __hatch::__if_input<_It>>               \
    _HATCH_HD void assign(_It, _It);                                     \
    template <class... _X>                                               \
    _HATCH_HD iterator emplace##at(const_iterator, _X&&...);             \
    _HATCH_HD iterator insert##at(const_iterator, const _T&);            \
    _HATCH_HD iterator insert##at(const_iterator, _T&&);                 \
    _HATCH_HD iterator insert##at(const_iterator, size_t, const _T&);    \
    _HATCH_HD iterator insert##at(const_iterator, initializer_list<_T>); \
    template <class _It, class = __hatch::__if_input<_It>>               \
    _HATCH_HD iterator insert##at(const_iterator, _It, _It);             \
    _HATCH_HD iterator erase##at(const_iterator);                        \
    _HATCH_HD iterator erase##at(const_iterator, const_iterator);        \
    _HATCH_HD void resize(size_t);                                       \
    _HATCH_HD void resize(size_t, const _T&);                            \
    _HATCH_HD _T& front();                                               \
    _HATCH_HD const _T& front() const

#if _HATCH_CPP17
#define _HATCH_PLACED _T&
#else
#define _HATCH_PLACED void
#endif
// What grows and shrinks at an end.
#define _HATCH_END(end)                             \
    _HATCH_HD void push_##end(const _T&);           \
    _HATCH_HD void push_##end(_T&&);                \
    template <class... _X>                          \
    _HATCH_HD _HATCH_PLACED emplace_##end(_X&&...); \
    _HATCH_HD void pop_##end()

#define _HATCH_INDEXED                            \
    _HATCH_HD _T& operator[](size_t);             \
    _HATCH_HD const _T& operator[](size_t) const; \
    _HATCH_HD _T& at(size_t);                     \
    _HATCH_HD const _T& at(size_t) const;         \
    _HATCH_HD void shrink_to_fit()

// What is made of links.
#if _HATCH_CPP20
#define _HATCH_COUNT size_t
#else
#define _HATCH_COUNT void
#endif
#define _HATCH_LINKED(name)                   \
    _HATCH_HD _HATCH_COUNT remove(const _T&); \
    template <class _P>                       \
    _HATCH_HD _HATCH_COUNT remove_if(_P);     \
    _HATCH_HD _HATCH_COUNT unique();          \
    template <class _P>                       \
    _HATCH_HD _HATCH_COUNT unique(_P);        \
    _HATCH_HD void merge(name&);              \
    _HATCH_HD void merge(name&&);             \
    template <class _P>                       \
    _HATCH_HD void merge(name&, _P);          \
    template <class _P>                       \
    _HATCH_HD void merge(name&&, _P);         \
    _HATCH_HD void sort();                    \
    template <class _P>                       \
    _HATCH_HD void sort(_P);                  \
    _HATCH_HD void reverse() noexcept;

#define _HATCH_PARAMETERS(...) __VA_ARGS__
#define _HATCH_COMPARISON(parameters, type, op) \
    template <parameters>                       \
    _HATCH_HD bool operator op(const type&, const type&);
#define _HATCH_EQUAL(parameters, type)                                            \
    _HATCH_COMPARISON(_HATCH_PARAMETERS(parameters), _HATCH_PARAMETERS(type), ==) \
    _HATCH_COMPARISON(_HATCH_PARAMETERS(parameters), _HATCH_PARAMETERS(type), !=)
#define _HATCH_BY_LESS(parameters, type)                                          \
    _HATCH_EQUAL(_HATCH_PARAMETERS(parameters), _HATCH_PARAMETERS(type))          \
    _HATCH_COMPARISON(_HATCH_PARAMETERS(parameters), _HATCH_PARAMETERS(type), <)  \
    _HATCH_COMPARISON(_HATCH_PARAMETERS(parameters), _HATCH_PARAMETERS(type), >)  \
    _HATCH_COMPARISON(_HATCH_PARAMETERS(parameters), _HATCH_PARAMETERS(type), <=) \
    _HATCH_COMPARISON(_HATCH_PARAMETERS(parameters), _HATCH_PARAMETERS(type), >=)
#if _HATCH_CPP20
#define _HATCH_ORDERED(parameters, type)                                 \
    _HATCH_EQUAL(_HATCH_PARAMETERS(parameters), _HATCH_PARAMETERS(type)) \
    template <parameters>                                                \
    _HATCH_HD __hatch::__synthesised_t<typename type::value_type> operator<=>(const type&, const type&);
#else
#define _HATCH_ORDERED(parameters, type) _HATCH_BY_LESS(_HATCH_PARAMETERS(parameters), _HATCH_PARAMETERS(type))
#endif

#if _HATCH_CPP17
#define _HATCH_DEDUCED(name)                                                                           \
    template <class _It, class _A = allocator<__hatch::__item<_It>>, class = __hatch::__if_input<_It>> \
    name(_It, _It, _A = _A()) -> name<__hatch::__item<_It>, _A>;
#else
#define _HATCH_DEDUCED(name)
#endif
#if _HATCH_CPP20
#define _HATCH_ERASED(name)                           \
    template <class _T, class _A, class _U>           \
    _HATCH_HD size_t erase(name<_T, _A>&, const _U&); \
    template <class _T, class _A, class _P>           \
    _HATCH_HD size_t erase_if(name<_T, _A>&, _P);
#else
#define _HATCH_ERASED(name)
#endif
// A whole sequence but for what it has itself.
#define _HATCH_AROUND(name)                                                                \
    _HATCH_ORDERED(_HATCH_PARAMETERS(class _T, class _A), _HATCH_PARAMETERS(name<_T, _A>)) \
    _HATCH_DEDUCED(name)                                                                   \
    _HATCH_ERASED(name)

}  // namespace std

#endif
