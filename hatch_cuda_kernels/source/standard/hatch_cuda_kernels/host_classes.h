// Classes that hold the host's memory, files or threads. They are here so that a struct of the host's that has one as a
// member compiles; no function of theirs is defined, and a kernel that calls one does not compile. Each has the size
// that libstdc++ gives it on 64-bit Linux, so that what lies behind it in a struct lies where the host has it.
#ifndef _HATCH_HOST_CLASSES_H
#define _HATCH_HOST_CLASSES_H

#include <hatch_cuda_kernels/hash.h>
#include <initializer_list>

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

#define _HATCH_HELD(name, bytes)                \
   public:                                      \
    _HATCH_HD name();                           \
    template <class _X, class... _Y>            \
    _HATCH_HD explicit name(_X&&, _Y&&...);     \
                                                \
   private:                                     \
    alignas(8) unsigned char __held[bytes]

template <class _C, class _Traits = char_traits<_C>, class _A = allocator<_C>>
class basic_string {
   public:
    _HATCH_HD basic_string(const _C*);
    _HATCH_HELD(basic_string, 32);
};
typedef basic_string<char> string;
typedef basic_string<wchar_t> wstring;
#if _HATCH_CPP17
template <class _C, class _Traits = char_traits<_C>>
class basic_string_view {
   public:
    _HATCH_HD basic_string_view(const _C*);
    _HATCH_HELD(basic_string_view, 16);
};
typedef basic_string_view<char> string_view;
#endif

#define _HATCH_SEQUENCE(name, bytes)                \
    template <class _T, class _A = allocator<_T>>   \
    class name {                                    \
       public:                                      \
        typedef _T value_type;                      \
        typedef _T& reference;                      \
        typedef _T* iterator;                       \
        typedef const _T* const_iterator;           \
        typedef size_t size_type;                   \
        _HATCH_HD name(initializer_list<_T>);       \
        _HATCH_HELD(name, bytes);                   \
    };
_HATCH_SEQUENCE(vector, 24)
_HATCH_SEQUENCE(deque, 80)
_HATCH_SEQUENCE(list, 24)
_HATCH_SEQUENCE(forward_list, 8)
#undef _HATCH_SEQUENCE
template <class _A>
class vector<bool, _A> {
   public:
    _HATCH_HD vector(initializer_list<bool>);
    _HATCH_HELD(vector, 40);
};
template <class _T, class _C = deque<_T>>
class queue {
    _HATCH_HELD(queue, sizeof(_C));
};
template <class _T, class _C = deque<_T>>
class stack {
    _HATCH_HELD(stack, sizeof(_C));
};
template <class _T, class _C = vector<_T>, class _Less = less<_T>>
class priority_queue {
    _HATCH_HELD(priority_queue, sizeof(_C) + 8);
};

#define _HATCH_SET(name, ...)                             \
    template <class _K, __VA_ARGS__, class _A = allocator<_K>> \
    class name {                                          \
       public:                                            \
        _HATCH_HD name(initializer_list<_K>);             \
        _HATCH_HELD(name, _HATCH_BYTES);                  \
    };
#define _HATCH_MAP(name, ...)                                                     \
    template <class _K, class _T, __VA_ARGS__, class _A = allocator<pair<const _K, _T>>> \
    class name {                                                                  \
       public:                                                                    \
        _HATCH_HD name(initializer_list<pair<const _K, _T>>);                     \
        _HATCH_HELD(name, _HATCH_BYTES);                                          \
    };
#define _HATCH_BYTES 48
_HATCH_SET(set, class _Less = less<_K>)
_HATCH_SET(multiset, class _Less = less<_K>)
_HATCH_MAP(map, class _Less = less<_K>)
_HATCH_MAP(multimap, class _Less = less<_K>)
#undef _HATCH_BYTES
#define _HATCH_BYTES 56
_HATCH_SET(unordered_set, class _Hash = hash<_K>, class _Same = equal_to<_K>)
_HATCH_SET(unordered_multiset, class _Hash = hash<_K>, class _Same = equal_to<_K>)
_HATCH_MAP(unordered_map, class _Hash = hash<_K>, class _Same = equal_to<_K>)
_HATCH_MAP(unordered_multimap, class _Hash = hash<_K>, class _Same = equal_to<_K>)
#undef _HATCH_BYTES
#undef _HATCH_SET
#undef _HATCH_MAP

template <class _T>
class shared_ptr {
   public:
    _HATCH_HD shared_ptr(decltype(nullptr));
    _HATCH_HELD(shared_ptr, 16);
};
template <class _T>
class weak_ptr {
    _HATCH_HELD(weak_ptr, 16);
};
template <class _T>
class enable_shared_from_this {
    _HATCH_HELD(enable_shared_from_this, 16);
};
template <class _Signature>
class function {
   public:
    template <class _F>
    _HATCH_HD function(_F);
    _HATCH_HELD(function, 32);
};

#define _HATCH_CLASS(name, bytes)   \
    class name {                    \
        _HATCH_HELD(name, bytes);   \
    };
#define _HATCH_TEMPLATE(name, bytes) \
    template <class _T>              \
    _HATCH_CLASS(name, bytes)
_HATCH_TEMPLATE(future, 16)
_HATCH_TEMPLATE(shared_future, 16)
_HATCH_TEMPLATE(promise, 24)
_HATCH_TEMPLATE(lock_guard, 8)
_HATCH_TEMPLATE(unique_lock, 16)
_HATCH_TEMPLATE(valarray, 16)
_HATCH_CLASS(any, 16)
_HATCH_CLASS(condition_variable, 48)
_HATCH_CLASS(mutex, 40)
_HATCH_CLASS(regex, 32)
_HATCH_CLASS(recursive_mutex, 40)
_HATCH_CLASS(shared_mutex, 56)
_HATCH_CLASS(thread, 8)
_HATCH_CLASS(exception_ptr, 8)
_HATCH_CLASS(locale, 8)
_HATCH_CLASS(error_code, 16)
_HATCH_CLASS(type_index, 8)

_HATCH_CLASS(random_device, 5000)
_HATCH_CLASS(mt19937, 5000)
_HATCH_CLASS(mt19937_64, 2504)
_HATCH_CLASS(minstd_rand, 8)
_HATCH_CLASS(bernoulli_distribution, 8)
typedef minstd_rand default_random_engine;
#undef _HATCH_CLASS
#undef _HATCH_TEMPLATE
struct once_flag {
   private:
    int __held = 0;
};
template <class _T = int>
class uniform_int_distribution {
    _HATCH_HELD(uniform_int_distribution, 2 * sizeof(_T));
};
template <class _T = double>
class uniform_real_distribution {
    _HATCH_HELD(uniform_real_distribution, 2 * sizeof(_T));
};
template <class _T = double>
class exponential_distribution {
    _HATCH_HELD(exponential_distribution, sizeof(_T));
};
template <class _T = double>
class normal_distribution {
    _HATCH_HELD(normal_distribution, 4 * sizeof(_T));
};

}  // namespace std

#endif
