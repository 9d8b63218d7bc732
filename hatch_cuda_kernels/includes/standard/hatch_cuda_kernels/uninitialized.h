// <memory>, the part about objects made in memory that is there, and their ends.
#ifndef _HATCH_UNINITIALIZED_H
#define _HATCH_UNINITIALIZED_H

#include <hatch_cuda_kernels/iterator_traits.h>

namespace std {

template <class _T>
_HATCH_HD constexpr _T* addressof(_T& __x) noexcept {
    return __builtin_addressof(__x);
}
template <class _T>
const _T* addressof(const _T&&) = delete;

// Where an item goes, and an item made there.
#define _HATCH_AT(at) ::new (static_cast<void*>(std::addressof(*at))) __hatch::__value_of<decltype(at)>
template <class _It, class _Out>
_HATCH_HD _Out uninitialized_copy(_It __first, _It __last, _Out __out) {
    for (; __first != __last; ++__first, ++__out) {
        _HATCH_AT(__out)(*__first);
    }
    return __out;
}
template <class _It, class _T>
_HATCH_HD void uninitialized_fill(_It __first, _It __last, const _T& __x) {
    for (; __first != __last; ++__first) {
        _HATCH_AT(__first)(__x);
    }
}
template <class _It, class _N, class _Out>
_HATCH_HD _Out uninitialized_copy_n(_It __first, _N __n, _Out __out) {
    for (; __n > 0; --__n, ++__first, ++__out) {
        _HATCH_AT(__out)(*__first);
    }
    return __out;
}
template <class _It, class _N, class _T>
_HATCH_HD _It uninitialized_fill_n(_It __first, _N __n, const _T& __x) {
    for (; __n > 0; --__n, ++__first) {
        _HATCH_AT(__first)(__x);
    }
    return __first;
}

#if _HATCH_CPP17
template <class _T>
_HATCH_HD constexpr void destroy_at(_T* __p) {
    __p->~_T();
}
template <class _It>
_HATCH_HD constexpr void destroy(_It __first, _It __last) {
    for (; __first != __last; ++__first) {
        std::destroy_at(std::addressof(*__first));
    }
}
template <class _It, class _N>
_HATCH_HD constexpr _It destroy_n(_It __first, _N __n) {
    for (; __n > 0; --__n, ++__first) {
        std::destroy_at(std::addressof(*__first));
    }
    return __first;
}
template <class _It, class _Out>
_HATCH_HD _Out uninitialized_move(_It __first, _It __last, _Out __out) {
    for (; __first != __last; ++__first, ++__out) {
        _HATCH_AT(__out)(std::move(*__first));
    }
    return __out;
}
#define _HATCH_MADE_SO(name, ...)                            \
    template <class _It>                                     \
    _HATCH_HD void name(_It __first, _It __last) {           \
        for (; __first != __last; ++__first) {               \
            _HATCH_AT(__first) __VA_ARGS__;                  \
        }                                                    \
    }                                                        \
    template <class _It, class _N>                           \
    _HATCH_HD _It name##_n(_It __first, _N __n) {            \
        for (; __n > 0; --__n, ++__first) {                  \
            _HATCH_AT(__first) __VA_ARGS__;                  \
        }                                                    \
        return __first;                                      \
    }
_HATCH_MADE_SO(uninitialized_default_construct)
_HATCH_MADE_SO(uninitialized_value_construct, ())
#undef _HATCH_MADE_SO
#endif
#if _HATCH_CPP20
template <class _T, class... _X>
_HATCH_HD constexpr _T* construct_at(_T* __p, _X&&... __x) {
    return ::new (static_cast<void*>(__p)) _T(std::forward<_X>(__x)...);
}
#endif
#undef _HATCH_AT

}  // namespace std

#endif
