// std::begin, std::end and their like.
#ifndef _HATCH_RANGE_ACCESS_H
#define _HATCH_RANGE_ACCESS_H

#include <hatch_cuda_kernels/wrapped_iterators.h>
#include <initializer_list>

namespace std {

template <class _C>
_HATCH_HD constexpr auto begin(_C& __c) -> decltype(__c.begin()) {
    return __c.begin();
}
template <class _C>
_HATCH_HD constexpr auto begin(const _C& __c) -> decltype(__c.begin()) {
    return __c.begin();
}
template <class _T, size_t _N>
_HATCH_HD constexpr _T* begin(_T (&__a)[_N]) noexcept {
    return __a;
}
template <class _C>
_HATCH_HD constexpr auto end(_C& __c) -> decltype(__c.end()) {
    return __c.end();
}
template <class _C>
_HATCH_HD constexpr auto end(const _C& __c) -> decltype(__c.end()) {
    return __c.end();
}
template <class _T, size_t _N>
_HATCH_HD constexpr _T* end(_T (&__a)[_N]) noexcept {
    return __a + _N;
}
template <class _C>
_HATCH_HD constexpr auto cbegin(const _C& __c) -> decltype(std::begin(__c)) {
    return std::begin(__c);
}
template <class _C>
_HATCH_HD constexpr auto cend(const _C& __c) -> decltype(std::end(__c)) {
    return std::end(__c);
}
template <class _C>
_HATCH_HD constexpr auto rbegin(_C& __c) -> decltype(__c.rbegin()) {
    return __c.rbegin();
}
template <class _C>
_HATCH_HD constexpr auto rbegin(const _C& __c) -> decltype(__c.rbegin()) {
    return __c.rbegin();
}
template <class _T, size_t _N>
_HATCH_HD constexpr reverse_iterator<_T*> rbegin(_T (&__a)[_N]) {
    return reverse_iterator<_T*>(__a + _N);
}
template <class _C>
_HATCH_HD constexpr auto rend(_C& __c) -> decltype(__c.rend()) {
    return __c.rend();
}
template <class _C>
_HATCH_HD constexpr auto rend(const _C& __c) -> decltype(__c.rend()) {
    return __c.rend();
}
template <class _T, size_t _N>
_HATCH_HD constexpr reverse_iterator<_T*> rend(_T (&__a)[_N]) {
    return reverse_iterator<_T*>(__a);
}
template <class _C>
_HATCH_HD constexpr auto crbegin(const _C& __c) -> decltype(std::rbegin(__c)) {
    return std::rbegin(__c);
}
template <class _C>
_HATCH_HD constexpr auto crend(const _C& __c) -> decltype(std::rend(__c)) {
    return std::rend(__c);
}

#if _HATCH_CPP17
template <class _C>
_HATCH_HD constexpr auto size(const _C& __c) -> decltype(__c.size()) {
    return __c.size();
}
template <class _T, size_t _N>
_HATCH_HD constexpr size_t size(const _T (&)[_N]) noexcept {
    return _N;
}
template <class _C>
_HATCH_HD constexpr auto empty(const _C& __c) -> decltype(__c.empty()) {
    return __c.empty();
}
template <class _T, size_t _N>
_HATCH_HD constexpr bool empty(const _T (&)[_N]) noexcept {
    return false;
}
template <class _C>
_HATCH_HD constexpr auto data(_C& __c) -> decltype(__c.data()) {
    return __c.data();
}
template <class _C>
_HATCH_HD constexpr auto data(const _C& __c) -> decltype(__c.data()) {
    return __c.data();
}
template <class _T, size_t _N>
_HATCH_HD constexpr _T* data(_T (&__a)[_N]) noexcept {
    return __a;
}
#endif
#if _HATCH_CPP20
template <class _C>
_HATCH_HD constexpr auto ssize(const _C& __c) -> common_type_t<ptrdiff_t, make_signed_t<decltype(__c.size())>> {
    return static_cast<common_type_t<ptrdiff_t, make_signed_t<decltype(__c.size())>>>(__c.size());
}
template <class _T, ptrdiff_t _N>
_HATCH_HD constexpr ptrdiff_t ssize(const _T (&)[_N]) noexcept {
    return _N;
}
#endif

}  // namespace std

#endif
