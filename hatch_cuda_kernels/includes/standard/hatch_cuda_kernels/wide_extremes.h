// min and max of a long and a long long, for projects whose int64_t is long long: with nvcc, it is long as size_t is, and
// NVRTC would not know which of its own functions to take. Only these pairs, so that no other call means another function. In brackets, as a
// project may have macros of these names; with a pack that is always empty, so that a project's own template is preferred.
#ifndef _HATCH_WIDE_EXTREMES_H
#define _HATCH_WIDE_EXTREMES_H

#include <hatch_cuda_kernels/define.h>

namespace __hatch_wide {

template <class _A, class _B>
struct __both {};
#define _HATCH_BOTH(a, b, result) \
    template <>                   \
    struct __both<a, b> {         \
        typedef result type;      \
    };                            \
    template <>                   \
    struct __both<b, a> {         \
        typedef result type;      \
    };
_HATCH_BOTH(long, long long, long long)
_HATCH_BOTH(unsigned long, long long, unsigned long long)
_HATCH_BOTH(long, unsigned long long, unsigned long long)
_HATCH_BOTH(unsigned long, unsigned long long, unsigned long long)
#undef _HATCH_BOTH

}  // namespace __hatch_wide

template <class _A, class _B, class... _None>
_HATCH_HD constexpr typename __hatch_wide::__both<_A, _B>::type (min)(_A __a, _B __b, _None...) {
    typedef typename __hatch_wide::__both<_A, _B>::type _R;
    return static_cast<_R>(__b) < static_cast<_R>(__a) ? static_cast<_R>(__b) : static_cast<_R>(__a);
}
template <class _A, class _B, class... _None>
_HATCH_HD constexpr typename __hatch_wide::__both<_A, _B>::type (max)(_A __a, _B __b, _None...) {
    typedef typename __hatch_wide::__both<_A, _B>::type _R;
    return static_cast<_R>(__a) < static_cast<_R>(__b) ? static_cast<_R>(__b) : static_cast<_R>(__a);
}

#endif
