// <algorithm>, the part that writes.
#ifndef _HATCH_CHANGING_H
#define _HATCH_CHANGING_H

#include <hatch_cuda_kernels/iterator_traits.h>
#include <hatch_cuda_kernels/searching.h>
#include <hatch_cuda_kernels/swap.h>

namespace std {

template <class _It, class _F>
_HATCH_HD constexpr _F for_each(_It __first, _It __last, _F __f) {
    for (; __first != __last; ++__first) {
        __f(*__first);
    }
    return __f;
}
#if _HATCH_CPP17
template <class _It, class _N, class _F>
_HATCH_HD constexpr _It for_each_n(_It __first, _N __n, _F __f) {
    for (_N __i = 0; __i < __n; ++__i, ++__first) {
        __f(*__first);
    }
    return __first;
}
#endif
template <class _It, class _Out>
_HATCH_HD constexpr _Out copy(_It __first, _It __last, _Out __out) {
    for (; __first != __last; ++__first, ++__out) {
        *__out = *__first;
    }
    return __out;
}
template <class _It, class _N, class _Out>
_HATCH_HD constexpr _Out copy_n(_It __first, _N __n, _Out __out) {
    for (_N __i = 0; __i < __n; ++__i, ++__first, ++__out) {
        *__out = *__first;
    }
    return __out;
}
template <class _It, class _Out, class _P>
_HATCH_HD constexpr _Out copy_if(_It __first, _It __last, _Out __out, _P __p) {
    for (; __first != __last; ++__first) {
        if (__p(*__first)) {
            *__out = *__first;
            ++__out;
        }
    }
    return __out;
}
template <class _It, class _Out>
_HATCH_HD constexpr _Out copy_backward(_It __first, _It __last, _Out __out) {
    while (__last != __first) {
        *--__out = *--__last;
    }
    return __out;
}
template <class _It, class _Out>
_HATCH_HD constexpr _Out move(_It __first, _It __last, _Out __out) {
    for (; __first != __last; ++__first, ++__out) {
        *__out = std::move(*__first);
    }
    return __out;
}
template <class _It, class _Out>
_HATCH_HD constexpr _Out move_backward(_It __first, _It __last, _Out __out) {
    while (__last != __first) {
        *--__out = std::move(*--__last);
    }
    return __out;
}
template <class _It, class _T>
_HATCH_HD constexpr void fill(_It __first, _It __last, const _T& __x) {
    for (; __first != __last; ++__first) {
        *__first = __x;
    }
}
template <class _It, class _N, class _T>
_HATCH_HD constexpr _It fill_n(_It __first, _N __n, const _T& __x) {
    for (_N __i = 0; __i < __n; ++__i, ++__first) {
        *__first = __x;
    }
    return __first;
}
template <class _It, class _F>
_HATCH_HD constexpr void generate(_It __first, _It __last, _F __f) {
    for (; __first != __last; ++__first) {
        *__first = __f();
    }
}
template <class _It, class _N, class _F>
_HATCH_HD constexpr _It generate_n(_It __first, _N __n, _F __f) {
    for (_N __i = 0; __i < __n; ++__i, ++__first) {
        *__first = __f();
    }
    return __first;
}
template <class _It, class _Out, class _F>
_HATCH_HD constexpr _Out transform(_It __first, _It __last, _Out __out, _F __f) {
    for (; __first != __last; ++__first, ++__out) {
        *__out = __f(*__first);
    }
    return __out;
}
template <class _A, class _B, class _Out, class _F>
_HATCH_HD constexpr _Out transform(_A __first, _A __last, _B __other, _Out __out, _F __f) {
    for (; __first != __last; ++__first, ++__other, ++__out) {
        *__out = __f(*__first, *__other);
    }
    return __out;
}
template <class _A, class _B>
_HATCH_HD constexpr void iter_swap(_A __a, _B __b) {
    using std::swap;
    swap(*__a, *__b);
}
template <class _A, class _B>
_HATCH_HD constexpr _B swap_ranges(_A __first, _A __last, _B __other) {
    for (; __first != __last; ++__first, ++__other) {
        std::iter_swap(__first, __other);
    }
    return __other;
}
template <class _It>
_HATCH_HD constexpr void reverse(_It __first, _It __last) {
    while (__first != __last && __first != --__last) {
        std::iter_swap(__first, __last);
        ++__first;
    }
}
template <class _It, class _Out>
_HATCH_HD constexpr _Out reverse_copy(_It __first, _It __last, _Out __out) {
    for (; __first != __last; ++__out) {
        *__out = *--__last;
    }
    return __out;
}
template <class _It>
_HATCH_HD constexpr _It rotate(_It __first, _It __middle, _It __last) {
    if (__first == __middle) {
        return __last;
    }
    const __hatch::__distance_of<_It> __n = std::distance(__middle, __last);
    std::reverse(__first, __middle);
    std::reverse(__middle, __last);
    std::reverse(__first, __last);
    return std::next(__first, __n);
}
template <class _It, class _P>
_HATCH_HD constexpr _It remove_if(_It __first, _It __last, _P __p) {
    _It __out = __first;
    for (; __first != __last; ++__first) {
        if (!__p(*__first)) {
            *__out = std::move(*__first);
            ++__out;
        }
    }
    return __out;
}
template <class _It, class _T>
_HATCH_HD constexpr _It remove(_It __first, _It __last, const _T& __x) {
    _It __out = __first;
    for (; __first != __last; ++__first) {
        if (!(*__first == __x)) {
            *__out = std::move(*__first);
            ++__out;
        }
    }
    return __out;
}
template <class _It, class _P, class _T>
_HATCH_HD constexpr void replace_if(_It __first, _It __last, _P __p, const _T& __x) {
    for (; __first != __last; ++__first) {
        if (__p(*__first)) {
            *__first = __x;
        }
    }
}
template <class _It, class _T>
_HATCH_HD constexpr void replace(_It __first, _It __last, const _T& __old, const _T& __x) {
    for (; __first != __last; ++__first) {
        if (*__first == __old) {
            *__first = __x;
        }
    }
}
template <class _It, class _Same>
_HATCH_HD constexpr _It unique(_It __first, _It __last, _Same __same) {
    if (__first == __last) {
        return __last;
    }
    _It __out = __first;
    while (++__first != __last) {
        if (!__same(*__out, *__first)) {
            *++__out = std::move(*__first);
        }
    }
    return ++__out;
}
template <class _It>
_HATCH_HD constexpr _It unique(_It __first, _It __last) {
    return std::unique(__first, __last, __hatch::__equals());
}
template <class _It, class _P>
_HATCH_HD constexpr _It partition(_It __first, _It __last, _P __p) {
    _It __out = __first;
    for (; __first != __last; ++__first) {
        if (__p(*__first)) {
            std::iter_swap(__out, __first);
            ++__out;
        }
    }
    return __out;
}

}  // namespace std

#endif
