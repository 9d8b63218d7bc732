// std::min, std::max, std::clamp: what kernels take from <algorithm> most.
#ifndef _HATCH_EXTREMES_H
#define _HATCH_EXTREMES_H

#include <hatch_cuda_kernels/pair.h>
#include <initializer_list>

namespace std {

template <class _T>
_HATCH_HD constexpr const _T& min(const _T& __a, const _T& __b) {
    return __b < __a ? __b : __a;
}
template <class _T, class _Less>
_HATCH_HD constexpr const _T& min(const _T& __a, const _T& __b, _Less __less) {
    return __less(__b, __a) ? __b : __a;
}
template <class _T>
_HATCH_HD constexpr const _T& max(const _T& __a, const _T& __b) {
    return __a < __b ? __b : __a;
}
template <class _T, class _Less>
_HATCH_HD constexpr const _T& max(const _T& __a, const _T& __b, _Less __less) {
    return __less(__a, __b) ? __b : __a;
}
template <class _T>
_HATCH_HD constexpr pair<const _T&, const _T&> minmax(const _T& __a, const _T& __b) {
    return __b < __a ? pair<const _T&, const _T&>(__b, __a) : pair<const _T&, const _T&>(__a, __b);
}
template <class _T, class _Less>
_HATCH_HD constexpr pair<const _T&, const _T&> minmax(const _T& __a, const _T& __b, _Less __less) {
    return __less(__b, __a) ? pair<const _T&, const _T&>(__b, __a) : pair<const _T&, const _T&>(__a, __b);
}

namespace __hatch {

struct __lesser {
    template <class _A, class _B>
    _HATCH_HD constexpr bool operator()(const _A& __a, const _B& __b) const {
        return __a < __b;
    }
};
struct __equals {
    template <class _A, class _B>
    _HATCH_HD constexpr bool operator()(const _A& __a, const _B& __b) const {
        return __a == __b;
    }
};

}  // namespace __hatch

template <class _It, class _Less>
_HATCH_HD constexpr _It min_element(_It __first, _It __last, _Less __less) {
    _It __best = __first;
    for (; __first != __last; ++__first) {
        if (__less(*__first, *__best)) {
            __best = __first;
        }
    }
    return __best;
}
template <class _It>
_HATCH_HD constexpr _It min_element(_It __first, _It __last) {
    return std::min_element(__first, __last, __hatch::__lesser());
}
template <class _It, class _Less>
_HATCH_HD constexpr _It max_element(_It __first, _It __last, _Less __less) {
    _It __best = __first;
    for (; __first != __last; ++__first) {
        if (__less(*__best, *__first)) {
            __best = __first;
        }
    }
    return __best;
}
template <class _It>
_HATCH_HD constexpr _It max_element(_It __first, _It __last) {
    return std::max_element(__first, __last, __hatch::__lesser());
}
template <class _It, class _Less>
_HATCH_HD constexpr pair<_It, _It> minmax_element(_It __first, _It __last, _Less __less) {
    pair<_It, _It> __best(__first, __first);
    for (; __first != __last; ++__first) {
        if (__less(*__first, *__best.first)) {
            __best.first = __first;
        }
        if (!__less(*__first, *__best.second)) {
            __best.second = __first;
        }
    }
    return __best;
}
template <class _It>
_HATCH_HD constexpr pair<_It, _It> minmax_element(_It __first, _It __last) {
    return std::minmax_element(__first, __last, __hatch::__lesser());
}

template <class _T>
_HATCH_HD constexpr _T min(initializer_list<_T> __list) {
    return *std::min_element(__list.begin(), __list.end());
}
template <class _T, class _Less>
_HATCH_HD constexpr _T min(initializer_list<_T> __list, _Less __less) {
    return *std::min_element(__list.begin(), __list.end(), __less);
}
template <class _T>
_HATCH_HD constexpr _T max(initializer_list<_T> __list) {
    return *std::max_element(__list.begin(), __list.end());
}
template <class _T, class _Less>
_HATCH_HD constexpr _T max(initializer_list<_T> __list, _Less __less) {
    return *std::max_element(__list.begin(), __list.end(), __less);
}
template <class _T>
_HATCH_HD constexpr pair<_T, _T> minmax(initializer_list<_T> __list) {
    const pair<const _T*, const _T*> __found = std::minmax_element(__list.begin(), __list.end());
    return pair<_T, _T>(*__found.first, *__found.second);
}

#if _HATCH_CPP17
template <class _T, class _Less>
_HATCH_HD constexpr const _T& clamp(const _T& __x, const _T& __low, const _T& __high, _Less __less) {
    return __less(__x, __low) ? __low : __less(__high, __x) ? __high : __x;
}
template <class _T>
_HATCH_HD constexpr const _T& clamp(const _T& __x, const _T& __low, const _T& __high) {
    return __x < __low ? __low : __high < __x ? __high : __x;
}
#endif

}  // namespace std

#endif
