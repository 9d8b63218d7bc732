// Classes that hold the host's memory, files or threads: declared, so that what names them compiles, and never defined.
// A definition of ours would give what contains one another layout than the host's compiler does, without a word.
#ifndef _HATCH_HOST_CLASSES_H
#define _HATCH_HOST_CLASSES_H

#include <hatch_cuda_kernels/hash.h>

namespace std {

template <class _T>
class allocator;
template <class _A>
struct allocator_traits;
template <class _P>
struct pointer_traits;
template <class _C>
struct char_traits;
template <class _T>
struct less;
template <class _T>
struct equal_to;
template <class _A, class _B>
struct pair;

template <class _C, class _Traits = char_traits<_C>, class _A = allocator<_C>>
class basic_string;
typedef basic_string<char> string;
typedef basic_string<wchar_t> wstring;

template <class _T, class _A = allocator<_T>>
class vector;
template <class _T, class _A = allocator<_T>>
class deque;
template <class _T, class _A = allocator<_T>>
class list;
template <class _T, class _A = allocator<_T>>
class forward_list;
template <class _T, class _C = deque<_T>>
class queue;
template <class _T, class _C = vector<_T>, class _Less = less<_T>>
class priority_queue;
template <class _T, class _C = deque<_T>>
class stack;
template <class _K, class _Less = less<_K>, class _A = allocator<_K>>
class set;
template <class _K, class _Less = less<_K>, class _A = allocator<_K>>
class multiset;
template <class _K, class _T, class _Less = less<_K>, class _A = allocator<pair<const _K, _T>>>
class map;
template <class _K, class _T, class _Less = less<_K>, class _A = allocator<pair<const _K, _T>>>
class multimap;
template <class _K, class _Hash = hash<_K>, class _Same = equal_to<_K>, class _A = allocator<_K>>
class unordered_set;
template <class _K, class _Hash = hash<_K>, class _Same = equal_to<_K>, class _A = allocator<_K>>
class unordered_multiset;
template <class _K, class _T, class _Hash = hash<_K>, class _Same = equal_to<_K>,
          class _A = allocator<pair<const _K, _T>>>
class unordered_map;
template <class _K, class _T, class _Hash = hash<_K>, class _Same = equal_to<_K>,
          class _A = allocator<pair<const _K, _T>>>
class unordered_multimap;

template <class _T>
class shared_ptr;
template <class _T>
class weak_ptr;
template <class _T>
class enable_shared_from_this;
template <class _T>
class future;
template <class _T>
class promise;
template <class _M>
class lock_guard;
template <class _M>
class unique_lock;
class any;
class condition_variable;
class mutex;
class recursive_mutex;
class shared_mutex;
class thread;
class locale;
class error_code;
class type_index;

}  // namespace std

#endif
