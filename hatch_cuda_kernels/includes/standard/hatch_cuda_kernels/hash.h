// std::hash: a template people specialise for their types, with the values of integers, enumerations and pointers.
#ifndef _HATCH_HASH_H
#define _HATCH_HASH_H

#include <type_traits>

namespace std {

namespace __hatch {

template <class _T, class = void>
struct __hash {
    __hash() = delete;
    __hash(const __hash&) = delete;
};
template <class _T>
struct __hash<_T, enable_if_t<__integral<_T>::value || __is_enum(_T)>> {
    typedef _T argument_type;
    typedef size_t result_type;
    _HATCH_HD constexpr size_t operator()(_T __x) const noexcept { return static_cast<size_t>(__x); }
};
template <class _T>
struct __hash<_T*, void> {
    typedef _T* argument_type;
    typedef size_t result_type;
    _HATCH_HD size_t operator()(_T* __p) const noexcept { return reinterpret_cast<size_t>(__p); }
};
template <class _T>
struct __hash<_T, enable_if_t<__floating<_T>::value>> {
    typedef _T argument_type;
    typedef size_t result_type;
    _HATCH_HD constexpr size_t operator()(_T __x) const noexcept {  // 0 and -0 are equal
        return __x == 0 ? 0 : static_cast<size_t>(__builtin_bit_cast(unsigned long long, static_cast<double>(__x)));
    }
};

}  // namespace __hatch

template <class _T>
struct hash : __hatch::__hash<_T> {};
template <>
struct hash<decltype(nullptr)> {
    _HATCH_HD constexpr size_t operator()(decltype(nullptr)) const noexcept { return 0; }
};

}  // namespace std

#endif
