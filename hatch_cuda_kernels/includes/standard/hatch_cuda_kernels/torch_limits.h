// Torch's limits of numbers, with bounds that are infinite where a number can be.
#ifndef _HATCH_TORCH_LIMITS_H
#define _HATCH_TORCH_LIMITS_H

#include <hatch_cuda_kernels/torch_numbers.h>
#include <limits>

namespace at {

template <class _T>
struct numeric_limits {
    static inline _HATCH_HD _T lowest() { return std::numeric_limits<_T>::lowest(); }
    static inline _HATCH_HD _T max() { return std::numeric_limits<_T>::max(); }
    static inline _HATCH_HD _T lower_bound() {
        return std::numeric_limits<_T>::has_infinity ? static_cast<_T>(-std::numeric_limits<_T>::infinity()) : lowest();
    }
    static inline _HATCH_HD _T upper_bound() {
        return std::numeric_limits<_T>::has_infinity ? std::numeric_limits<_T>::infinity() : max();
    }
};

}  // namespace at

#endif
