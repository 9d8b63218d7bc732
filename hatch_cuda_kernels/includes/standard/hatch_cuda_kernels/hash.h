// std::hash: a template people specialise for their types, with the values of integers, enumerations and pointers.
#ifndef _HATCH_HASH_H
#define _HATCH_HASH_H

#include <type_traits>

namespace std {

namespace __hatch {

template <class _T, class = void>
class __hash {  // of what has none: it cannot be made, nor end
    _HATCH_HD __hash(__hash&&);
    _HATCH_HD ~__hash();
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
// libstdc++ hashes the bytes of other values by MurmurHash64A; here of at most eight bytes.
_HATCH_HD constexpr size_t __hash_bits(unsigned long long __bits, unsigned long long __size) {
    const unsigned long long __mul = 0xc6a4a7935bd1e995ULL;
    unsigned long long __hash = 0xc70f6907ULL ^ (__size * __mul);
    if (__size == 8) {
        __bits *= __mul;
        __bits = (__bits ^ (__bits >> 47)) * __mul;
    }
    __hash = (__hash ^ __bits) * __mul;
    __hash = (__hash ^ (__hash >> 47)) * __mul;
    return __hash ^ (__hash >> 47);
}
template <class _T>
struct __hash<_T, enable_if_t<__floating<_T>::value>> {
    typedef _T argument_type;
    typedef size_t result_type;
    _HATCH_HD size_t operator()(_T __x) const noexcept {  // 0 and -0 are equal
        return __x == 0 ? 0 : __hash_bits(__bits_of(__x), sizeof(_T));
    }
    _HATCH_HD static unsigned long long __bits_of(float __x) { return __builtin_bit_cast(unsigned, __x); }
    _HATCH_HD static unsigned long long __bits_of(double __x) { return __builtin_bit_cast(unsigned long long, __x); }
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
