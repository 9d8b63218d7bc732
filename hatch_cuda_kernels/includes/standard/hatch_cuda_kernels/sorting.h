// <algorithm>, the part that puts in order. One thread sorts: heaps, which take no memory and no recursion.
#ifndef _HATCH_SORTING_H
#define _HATCH_SORTING_H

#include <hatch_cuda_kernels/changing.h>

namespace std {

namespace __hatch {

template <class _It, class _Less>
_HATCH_HD constexpr void __sink(_It __first, __distance_of<_It> __at, __distance_of<_It> __n, _Less& __less) {
    for (__distance_of<_It> __child = 2 * __at + 1; __child < __n; __child = 2 * __at + 1) {
        if (__child + 1 < __n && __less(__first[__child], __first[__child + 1])) {
            ++__child;
        }
        if (!__less(__first[__at], __first[__child])) {
            return;
        }
        std::iter_swap(__first + __at, __first + __child);
        __at = __child;
    }
}

}  // namespace __hatch

template <class _It, class _Less>
_HATCH_HD constexpr void make_heap(_It __first, _It __last, _Less __less) {
    const __hatch::__distance_of<_It> __n = __last - __first;
    for (__hatch::__distance_of<_It> __i = __n / 2; __i-- > 0;) {
        __hatch::__sink(__first, __i, __n, __less);
    }
}
template <class _It>
_HATCH_HD constexpr void make_heap(_It __first, _It __last) {
    std::make_heap(__first, __last, __hatch::__lesser());
}
template <class _It, class _Less>
_HATCH_HD constexpr void push_heap(_It __first, _It __last, _Less __less) {
    for (__hatch::__distance_of<_It> __i = __last - __first - 1; __i > 0;) {
        const __hatch::__distance_of<_It> __parent = (__i - 1) / 2;
        if (!__less(__first[__parent], __first[__i])) {
            return;
        }
        std::iter_swap(__first + __parent, __first + __i);
        __i = __parent;
    }
}
template <class _It>
_HATCH_HD constexpr void push_heap(_It __first, _It __last) {
    std::push_heap(__first, __last, __hatch::__lesser());
}
template <class _It, class _Less>
_HATCH_HD constexpr void pop_heap(_It __first, _It __last, _Less __less) {
    if (__last - __first > 1) {
        --__last;
        std::iter_swap(__first, __last);
        __hatch::__sink(__first, 0, __last - __first, __less);
    }
}
template <class _It>
_HATCH_HD constexpr void pop_heap(_It __first, _It __last) {
    std::pop_heap(__first, __last, __hatch::__lesser());
}
template <class _It, class _Less>
_HATCH_HD constexpr void sort_heap(_It __first, _It __last, _Less __less) {
    for (; __last - __first > 1; --__last) {
        std::pop_heap(__first, __last, __less);
    }
}
template <class _It>
_HATCH_HD constexpr void sort_heap(_It __first, _It __last) {
    std::sort_heap(__first, __last, __hatch::__lesser());
}
template <class _It, class _Less>
_HATCH_HD constexpr void sort(_It __first, _It __last, _Less __less) {
    std::make_heap(__first, __last, __less);
    std::sort_heap(__first, __last, __less);
}
template <class _It>
_HATCH_HD constexpr void sort(_It __first, _It __last) {
    std::sort(__first, __last, __hatch::__lesser());
}
template <class _It, class _Less>
_HATCH_HD constexpr void stable_sort(_It __first, _It __last, _Less __less) {
    if (__first == __last) {
        return;
    }
    for (_It __next = __first + 1; __next != __last; ++__next) {
        __hatch::__value_of<_It> __x = std::move(*__next);
        _It __hole = __next;
        for (; __hole != __first && __less(__x, *(__hole - 1)); --__hole) {
            *__hole = std::move(*(__hole - 1));
        }
        *__hole = std::move(__x);
    }
}
template <class _It>
_HATCH_HD constexpr void stable_sort(_It __first, _It __last) {
    std::stable_sort(__first, __last, __hatch::__lesser());
}
template <class _It, class _Less>
_HATCH_HD constexpr void partial_sort(_It __first, _It __middle, _It __last, _Less __less) {
    std::make_heap(__first, __middle, __less);
    for (_It __it = __middle; __it != __last; ++__it) {
        if (__less(*__it, *__first)) {
            std::iter_swap(__it, __first);
            __hatch::__sink(__first, 0, __middle - __first, __less);
        }
    }
    std::sort_heap(__first, __middle, __less);
}
template <class _It>
_HATCH_HD constexpr void partial_sort(_It __first, _It __middle, _It __last) {
    std::partial_sort(__first, __middle, __last, __hatch::__lesser());
}
template <class _It, class _Less>
_HATCH_HD constexpr void nth_element(_It __first, _It __nth, _It __last, _Less __less) {
    if (__nth != __last) {
        std::partial_sort(__first, __nth + 1, __last, __less);
    }
}
template <class _It>
_HATCH_HD constexpr void nth_element(_It __first, _It __nth, _It __last) {
    std::nth_element(__first, __nth, __last, __hatch::__lesser());
}
template <class _A, class _B, class _Out, class _Less>
_HATCH_HD constexpr _Out merge(_A __first, _A __last, _B __other, _B __end, _Out __out, _Less __less) {
    for (; __first != __last; ++__out) {
        if (__other == __end) {
            return std::copy(__first, __last, __out);
        }
        if (__less(*__other, *__first)) {
            *__out = *__other;
            ++__other;
        } else {
            *__out = *__first;
            ++__first;
        }
    }
    return std::copy(__other, __end, __out);
}
template <class _A, class _B, class _Out>
_HATCH_HD constexpr _Out merge(_A __first, _A __last, _B __other, _B __end, _Out __out) {
    return std::merge(__first, __last, __other, __end, __out, __hatch::__lesser());
}
template <class _It, class _Less>
_HATCH_HD constexpr bool next_permutation(_It __first, _It __last, _Less __less) {
    if (__last - __first < 2) {
        return false;
    }
    for (_It __i = __last - 1; __i != __first; --__i) {
        if (__less(*(__i - 1), *__i)) {
            _It __j = __last - 1;
            while (!__less(*(__i - 1), *__j)) {
                --__j;
            }
            std::iter_swap(__i - 1, __j);
            std::reverse(__i, __last);
            return true;
        }
    }
    std::reverse(__first, __last);
    return false;
}
template <class _It>
_HATCH_HD constexpr bool next_permutation(_It __first, _It __last) {
    return std::next_permutation(__first, __last, __hatch::__lesser());
}

}  // namespace std

#endif
