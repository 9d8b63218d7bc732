// What maps and sets of the host's have in common, ordered or hashed, with items that are unique or not.
#ifndef _HATCH_HOST_TABLES_H
#define _HATCH_HOST_TABLES_H

#include <hatch_cuda_kernels/function_objects.h>
#include <hatch_cuda_kernels/host_containers.h>
#include <hatch_cuda_kernels/pair.h>

namespace std {

namespace __hatch {

// A transparent comparison lets more than keys be looked up.
template <class _Less, class _X>
using __if_transparent = typename conditional_t<true, _Less, _X>::is_transparent;

// What extract() takes out of a table.
template <class _K, class _T>
class __table_node {
   public:
    typedef _K key_type;
    typedef _T mapped_type;
    typedef _T value_type;
    _HATCH_HD __table_node() noexcept;
    _HATCH_MOVED(__table_node);
    _HATCH_HD bool empty() const noexcept;
    _HATCH_HD explicit operator bool() const noexcept;
    _HATCH_HD _K& key() const;
    _HATCH_HD _T& mapped() const;
    _HATCH_HD _T& value() const;
    _HATCH_BYTES(24);
};

}  // namespace __hatch

#define _HATCH_LOOKUP(parameters, key)                              \
    parameters _HATCH_HD iterator find(key);                        \
    parameters _HATCH_HD const_iterator find(key) const;            \
    parameters _HATCH_HD size_t count(key) const;                   \
    parameters _HATCH_HD pair<iterator, iterator> equal_range(key); \
    parameters _HATCH_HD pair<const_iterator, const_iterator> equal_range(key) const;
#define _HATCH_BOUNDS(parameters, key)                          \
    parameters _HATCH_HD iterator lower_bound(key);             \
    parameters _HATCH_HD const_iterator lower_bound(key) const; \
    parameters _HATCH_HD iterator upper_bound(key);             \
    parameters _HATCH_HD const_iterator upper_bound(key) const;
#if _HATCH_CPP20
#define _HATCH_CONTAINS                       \
    _HATCH_HD bool contains(const _K&) const; \
    template <class _X>                       \
    _HATCH_HD bool contains(const _X&) const;
#else
#define _HATCH_CONTAINS
#endif
#if _HATCH_CPP17
#define _HATCH_NODES                                        \
    _HATCH_HD node_type extract(const_iterator);            \
    _HATCH_HD node_type extract(const _K&);                 \
    _HATCH_HD __reinserted insert(node_type&&);             \
    _HATCH_HD iterator insert(const_iterator, node_type&&); \
    template <class _X>                                     \
    _HATCH_HD void merge(_X&&);
#else
#define _HATCH_NODES
#endif
// What insert() returns: an iterator, and where items are unique, whether it did.
#define _HATCH_UNIQUE(mapped)                            \
    typedef __hatch::__table_node<_K, mapped> node_type; \
    typedef pair<iterator, bool> __inserted;             \
    struct insert_return_type {                          \
        iterator position;                               \
        bool inserted;                                   \
        node_type node;                                  \
    };                                                   \
    typedef insert_return_type __reinserted
#define _HATCH_REPEATED(mapped)                          \
    typedef __hatch::__table_node<_K, mapped> node_type; \
    typedef iterator __inserted;                         \
    typedef iterator __reinserted
#define _HATCH_TABLE(name)                                                       \
    typedef _K key_type;                                                         \
    _HATCH_MADE(name, value_type);                                               \
    _HATCH_HD explicit name(const _A&);                                          \
    template <class... _X>                                                       \
    _HATCH_HD __inserted emplace(_X&&...);                                       \
    template <class... _X>                                                       \
    _HATCH_HD iterator emplace_hint(const_iterator, _X&&...);                    \
    _HATCH_HD __inserted insert(const value_type&);                              \
    _HATCH_HD __inserted insert(value_type&&);                                   \
    _HATCH_HD iterator insert(const_iterator, const value_type&);                \
    _HATCH_HD void insert(initializer_list<value_type>);                         \
    template <class _It, class = __hatch::__if_input<_It>>                       \
    _HATCH_HD void insert(_It, _It);                                             \
    _HATCH_HD iterator erase(iterator);                                          \
    template <class _X, class = enable_if_t<is_same<_X, const_iterator>::value>> \
    _HATCH_HD iterator erase(_X);                                                \
    _HATCH_HD size_t erase(const _K&);                                           \
    _HATCH_HD iterator erase(const_iterator, const_iterator);                    \
    _HATCH_LOOKUP(, const _K&)                                                   \
    _HATCH_CONTAINS                                                              \
    _HATCH_NODES                                                                 \
    _HATCH_RANGE;                                                                \
    _HATCH_HD size_t size() const noexcept

#define _HATCH_TREE(name)                                                                   \
    typedef _Less key_compare;                                                              \
    _HATCH_HD name() noexcept;                                                              \
    _HATCH_HD explicit name(const _Less&, const _A& = _A());                                \
    _HATCH_HD name(initializer_list<value_type>, const _Less& = _Less(), const _A& = _A()); \
    template <class _It>                                                                    \
    _HATCH_HD name(_It, _It, const _Less& = _Less(), const _A& = _A());                     \
    _HATCH_TABLE(name);                                                                     \
    _HATCH_BOTH_WAYS;                                                                       \
    _HATCH_BOUNDS(, const _K&)                                                              \
    _HATCH_LOOKUP(_HATCH_ANY_OF, const _X&)                                                    \
    _HATCH_BOUNDS(_HATCH_ANY_OF, const _X&)                                                    \
    _HATCH_HD _Less key_comp() const;                                                       \
    _HATCH_HD value_compare value_comp() const;                                             \
    _HATCH_BYTES(48)
#define _HATCH_ANY_OF template <class _X, class = __hatch::__if_transparent<_Less, _X>>

#define _HATCH_HASHED(name)                                                                                                     \
    typedef _Hash hasher;                                                                                                       \
    typedef _Same key_equal;                                                                                                    \
    typedef iterator local_iterator;                                                                                            \
    typedef const_iterator const_local_iterator;                                                                                \
    _HATCH_HD name() noexcept;                                                                                                  \
    _HATCH_HD explicit name(size_t, const _Hash& = _Hash(), const _Same& = _Same(), const _A& = _A());                          \
    _HATCH_HD name(initializer_list<value_type>, size_t = 0, const _Hash& = _Hash(), const _Same& = _Same(), const _A& = _A()); \
    template <class _It>                                                                                                        \
    _HATCH_HD name(_It, _It, size_t = 0, const _Hash& = _Hash(), const _Same& = _Same(), const _A& = _A());                     \
    _HATCH_TABLE(name);                                                                                                         \
    _HATCH_HD size_t bucket_count() const noexcept;                                                                             \
    _HATCH_HD size_t max_bucket_count() const noexcept;                                                                         \
    _HATCH_HD size_t bucket_size(size_t) const;                                                                                 \
    _HATCH_HD size_t bucket(const _K&) const;                                                                                   \
    _HATCH_HD iterator begin(size_t);                                                                                           \
    _HATCH_HD const_iterator begin(size_t) const;                                                                               \
    _HATCH_HD iterator end(size_t);                                                                                             \
    _HATCH_HD const_iterator end(size_t) const;                                                                                 \
    _HATCH_HD const_iterator cbegin(size_t) const;                                                                              \
    _HATCH_HD const_iterator cend(size_t) const;                                                                                \
    _HATCH_HD float load_factor() const noexcept;                                                                               \
    _HATCH_HD float max_load_factor() const noexcept;                                                                           \
    _HATCH_HD void max_load_factor(float);                                                                                      \
    _HATCH_HD void rehash(size_t);                                                                                              \
    _HATCH_HD void reserve(size_t);                                                                                             \
    _HATCH_HD _Hash hash_function() const;                                                                                      \
    _HATCH_HD _Same key_eq() const;                                                                                             \
    _HATCH_BYTES(56)

// A map's own: what is found by its key, and by which its items are put in.
#define _HATCH_MAPPED                                                                   \
    template <class _X, class = enable_if_t<is_constructible<value_type, _X&&>::value>> \
    _HATCH_HD auto insert(_X&& __x) -> decltype(this->emplace(std::forward<_X>(__x)));  \
    template <class _X, class = enable_if_t<is_constructible<value_type, _X&&>::value>> \
    _HATCH_HD iterator insert(const_iterator, _X&&)
#define _HATCH_KEYED                                                    \
    _HATCH_HD _T& operator[](const _K&);                                \
    _HATCH_HD _T& operator[](_K&&);                                     \
    _HATCH_HD _T& at(const _K&);                                        \
    _HATCH_HD const _T& at(const _K&) const;                            \
    template <class... _X>                                              \
    _HATCH_HD pair<iterator, bool> try_emplace(const _K&, _X&&...);     \
    template <class... _X>                                              \
    _HATCH_HD pair<iterator, bool> try_emplace(_K&&, _X&&...);          \
    template <class... _X>                                              \
    _HATCH_HD iterator try_emplace(const_iterator, const _K&, _X&&...); \
    template <class _X>                                                 \
    _HATCH_HD pair<iterator, bool> insert_or_assign(const _K&, _X&&);   \
    template <class _X>                                                 \
    _HATCH_HD pair<iterator, bool> insert_or_assign(_K&&, _X&&);        \
    template <class _X>                                                 \
    _HATCH_HD iterator insert_or_assign(const_iterator, const _K&, _X&&)

#if _HATCH_CPP20
#define _HATCH_SIFTED(parameters, type) \
    template <parameters, class _P>     \
    _HATCH_HD size_t erase_if(type&, _P);
#else
#define _HATCH_SIFTED(parameters, type)
#endif
#define _HATCH_TREE_AROUND(parameters, type)                               \
    _HATCH_ORDERED(_HATCH_PARAMETERS(parameters), _HATCH_PARAMETERS(type)) \
    _HATCH_SIFTED(_HATCH_PARAMETERS(parameters), _HATCH_PARAMETERS(type))
#define _HATCH_HASHED_AROUND(parameters, type)                           \
    _HATCH_EQUAL(_HATCH_PARAMETERS(parameters), _HATCH_PARAMETERS(type)) \
    _HATCH_SIFTED(_HATCH_PARAMETERS(parameters), _HATCH_PARAMETERS(type))

}  // namespace std

#endif
