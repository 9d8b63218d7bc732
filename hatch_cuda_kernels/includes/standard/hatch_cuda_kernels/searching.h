// <algorithm>, the part that looks and changes nothing.
#ifndef _HATCH_SEARCHING_H
#define _HATCH_SEARCHING_H

#include <hatch_cuda_kernels/extremes.h>
#include <hatch_cuda_kernels/iterator_traits.h>

namespace std {

template <class _It, class _P>
_HATCH_HD constexpr bool all_of(_It __first, _It __last, _P __p) {
    for (; __first != __last; ++__first) {
        if (!__p(*__first)) {
            return false;
        }
    }
    return true;
}
template <class _It, class _P>
_HATCH_HD constexpr bool any_of(_It __first, _It __last, _P __p) {
    for (; __first != __last; ++__first) {
        if (__p(*__first)) {
            return true;
        }
    }
    return false;
}
template <class _It, class _P>
_HATCH_HD constexpr bool none_of(_It __first, _It __last, _P __p) {
    return !std::any_of(__first, __last, __p);
}
template <class _It, class _P>
_HATCH_HD constexpr _It find_if(_It __first, _It __last, _P __p) {
    while (__first != __last && !__p(*__first)) {
        ++__first;
    }
    return __first;
}
template <class _It, class _P>
_HATCH_HD constexpr _It find_if_not(_It __first, _It __last, _P __p) {
    while (__first != __last && __p(*__first)) {
        ++__first;
    }
    return __first;
}
template <class _It, class _T>
_HATCH_HD constexpr _It find(_It __first, _It __last, const _T& __x) {
    while (__first != __last && !(*__first == __x)) {
        ++__first;
    }
    return __first;
}
template <class _It, class _P>
_HATCH_HD constexpr __hatch::__distance_of<_It> count_if(_It __first, _It __last, _P __p) {
    __hatch::__distance_of<_It> __n = 0;
    for (; __first != __last; ++__first) {
        if (__p(*__first)) {
            ++__n;
        }
    }
    return __n;
}
template <class _It, class _T>
_HATCH_HD constexpr __hatch::__distance_of<_It> count(_It __first, _It __last, const _T& __x) {
    __hatch::__distance_of<_It> __n = 0;
    for (; __first != __last; ++__first) {
        if (*__first == __x) {
            ++__n;
        }
    }
    return __n;
}
template <class _It, class _Same>
_HATCH_HD constexpr _It adjacent_find(_It __first, _It __last, _Same __same) {
    if (__first == __last) {
        return __last;
    }
    for (_It __next = __first; ++__next != __last; __first = __next) {
        if (__same(*__first, *__next)) {
            return __first;
        }
    }
    return __last;
}
template <class _It>
_HATCH_HD constexpr _It adjacent_find(_It __first, _It __last) {
    return std::adjacent_find(__first, __last, __hatch::__equals());
}
template <class _A, class _B, class _Same>
_HATCH_HD constexpr bool equal(_A __first, _A __last, _B __other, _Same __same) {
    for (; __first != __last; ++__first, ++__other) {
        if (!__same(*__first, *__other)) {
            return false;
        }
    }
    return true;
}
template <class _A, class _B>
_HATCH_HD constexpr bool equal(_A __first, _A __last, _B __other) {
    return std::equal(__first, __last, __other, __hatch::__equals());
}
template <class _A, class _B>
_HATCH_HD constexpr pair<_A, _B> mismatch(_A __first, _A __last, _B __other) {
    while (__first != __last && *__first == *__other) {
        ++__first;
        ++__other;
    }
    return pair<_A, _B>(__first, __other);
}
template <class _A, class _B>
_HATCH_HD constexpr bool lexicographical_compare(_A __first, _A __last, _B __other, _B __end) {
    for (; __first != __last && __other != __end; ++__first, ++__other) {
        if (*__first < *__other || *__other < *__first) {
            return *__first < *__other;
        }
    }
    return __first == __last && __other != __end;
}
template <class _A, class _B>
_HATCH_HD constexpr _A search(_A __first, _A __last, _B __other, _B __end) {
    for (;; ++__first) {
        _A __at = __first;
        for (_B __want = __other;; ++__at, ++__want) {
            if (__want == __end) {
                return __first;
            }
            if (__at == __last) {
                return __last;
            }
            if (!(*__at == *__want)) {
                break;
            }
        }
    }
}
template <class _It, class _T, class _Less>
_HATCH_HD constexpr _It lower_bound(_It __first, _It __last, const _T& __x, _Less __less) {
    __hatch::__distance_of<_It> __n = std::distance(__first, __last);
    while (__n > 0) {
        const __hatch::__distance_of<_It> __half = __n / 2;
        _It __middle = std::next(__first, __half);
        if (__less(*__middle, __x)) {
            __first = ++__middle;
            __n -= __half + 1;
        } else {
            __n = __half;
        }
    }
    return __first;
}
template <class _It, class _T>
_HATCH_HD constexpr _It lower_bound(_It __first, _It __last, const _T& __x) {
    return std::lower_bound(__first, __last, __x, __hatch::__lesser());
}
template <class _It, class _T, class _Less>
_HATCH_HD constexpr _It upper_bound(_It __first, _It __last, const _T& __x, _Less __less) {
    __hatch::__distance_of<_It> __n = std::distance(__first, __last);
    while (__n > 0) {
        const __hatch::__distance_of<_It> __half = __n / 2;
        _It __middle = std::next(__first, __half);
        if (!__less(__x, *__middle)) {
            __first = ++__middle;
            __n -= __half + 1;
        } else {
            __n = __half;
        }
    }
    return __first;
}
template <class _It, class _T>
_HATCH_HD constexpr _It upper_bound(_It __first, _It __last, const _T& __x) {
    return std::upper_bound(__first, __last, __x, __hatch::__lesser());
}
template <class _It, class _T, class _Less>
_HATCH_HD constexpr pair<_It, _It> equal_range(_It __first, _It __last, const _T& __x, _Less __less) {
    return pair<_It, _It>(std::lower_bound(__first, __last, __x, __less),
                          std::upper_bound(__first, __last, __x, __less));
}
template <class _It, class _T>
_HATCH_HD constexpr pair<_It, _It> equal_range(_It __first, _It __last, const _T& __x) {
    return std::equal_range(__first, __last, __x, __hatch::__lesser());
}
template <class _It, class _T, class _Less>
_HATCH_HD constexpr bool binary_search(_It __first, _It __last, const _T& __x, _Less __less) {
    __first = std::lower_bound(__first, __last, __x, __less);
    return __first != __last && !__less(__x, *__first);
}
template <class _It, class _T>
_HATCH_HD constexpr bool binary_search(_It __first, _It __last, const _T& __x) {
    return std::binary_search(__first, __last, __x, __hatch::__lesser());
}
template <class _It, class _Less>
_HATCH_HD constexpr bool is_sorted(_It __first, _It __last, _Less __less) {
    if (__first == __last) {
        return true;
    }
    for (_It __next = __first; ++__next != __last; __first = __next) {
        if (__less(*__next, *__first)) {
            return false;
        }
    }
    return true;
}
template <class _It>
_HATCH_HD constexpr bool is_sorted(_It __first, _It __last) {
    return std::is_sorted(__first, __last, __hatch::__lesser());
}

}  // namespace std

#endif
