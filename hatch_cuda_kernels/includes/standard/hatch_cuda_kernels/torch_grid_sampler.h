// What Torch's grid sampler makes of coordinates from -1 to 1, and additions to what lies there.
#ifndef _HATCH_TORCH_GRID_SAMPLER_H
#define _HATCH_TORCH_GRID_SAMPLER_H

#include <hatch_cuda_kernels/torch_fast_atomics.h>
#include <limits.h>

namespace at {
namespace native {

namespace detail {
enum class GridSamplerInterpolation { Bilinear, Nearest, Bicubic };
enum class GridSamplerPadding { Zeros, Border, Reflection };
}  // namespace detail
using detail::GridSamplerInterpolation;
using detail::GridSamplerPadding;

#define _HATCH_OF_T template <class _T> __forceinline__ __device__

// By the corners, the ends are the middles of the first and the last element, else their outer sides. What ends with
// _set_grad also says by how much the result changes with the coordinate.
_HATCH_OF_T _T grid_sampler_unnormalize(_T __x, int __size, bool __corners) {
    return __corners ? ((__x + 1.f) / 2) * (__size - 1) : ((__x + 1.f) * __size - 1) / 2;
}
_HATCH_OF_T _T grid_sampler_unnormalize_set_grad(_T __x, int __size, bool __corners, _T* __slope) {
    if (__corners) {
        *__slope = static_cast<_T>(__size - 1) / 2;
        return ((__x + 1.f) / 2) * (__size - 1);
    }
    *__slope = static_cast<_T>(__size) / 2;
    return ((__x + 1.f) * __size - 1) / 2;
}

_HATCH_OF_T _T clip_coordinates(_T __x, int __size) {
    return ::min(static_cast<_T>(__size - 1), ::max(__x, static_cast<_T>(0)));
}
_HATCH_OF_T _T clip_coordinates_set_grad(_T __x, int __size, _T* __slope) {
    if (__x <= static_cast<_T>(0)) {
        *__slope = static_cast<_T>(0);
        return static_cast<_T>(0);
    }
    const _T __last = static_cast<_T>(__size - 1);
    if (__x >= __last) {
        *__slope = static_cast<_T>(0);
        return __last;
    }
    *__slope = static_cast<_T>(1);
    return __x;
}

_HATCH_OF_T _T reflect_coordinates(_T __x, int __twice_low, int __twice_high) {
    if (__twice_low == __twice_high) return static_cast<_T>(0);
    const _T __low = static_cast<_T>(__twice_low) / 2, __span = static_cast<_T>(__twice_high - __twice_low) / 2;
    __x = ::fabs(__x - __low);
    const _T __rest = ::fmod(__x, __span);
    const int __turns = static_cast<int>(::floor(__x / __span));
    if (__turns % 2 == 0) return __rest + __low;
    return __span - __rest + __low;
}
_HATCH_OF_T _T reflect_coordinates_set_grad(_T __x, int __twice_low, int __twice_high, _T* __slope) {
    if (__twice_low == __twice_high) {
        *__slope = static_cast<_T>(0);
        return static_cast<_T>(0);
    }
    const _T __low = static_cast<_T>(__twice_low) / 2, __span = static_cast<_T>(__twice_high - __twice_low) / 2;
    int __sign = 1;
    __x = __x - __low;
    if (__x < static_cast<_T>(0)) {
        __sign = -1;
        __x = -__x;
    }
    const _T __rest = ::fmod(__x, __span);
    const int __turns = static_cast<int>(::floor(__x / __span));
    if (__turns % 2 == 0) {
        *__slope = static_cast<_T>(__sign);
        return __rest + __low;
    }
    *__slope = static_cast<_T>(-__sign);
    return __span - __rest + __low;
}

// What no int can hold, NaN too, is outside.
_HATCH_OF_T _T safe_downgrade_to_int_range(_T __x) {
    if (__x > INT_MAX - 1 || __x < INT_MIN || !::isfinite(static_cast<double>(__x))) return static_cast<_T>(-100.0);
    return __x;
}
_HATCH_OF_T _T compute_coordinates(_T __x, int __size, GridSamplerPadding __padding, bool __corners) {
    if (__padding == GridSamplerPadding::Border) {
        __x = clip_coordinates(__x, __size);
    } else if (__padding == GridSamplerPadding::Reflection) {
        if (__corners) {
            __x = reflect_coordinates(__x, 0, 2 * (__size - 1));
        } else {
            __x = reflect_coordinates(__x, -1, 2 * __size - 1);
        }
        __x = clip_coordinates(__x, __size);
    }
    return safe_downgrade_to_int_range(__x);
}
_HATCH_OF_T _T grid_sampler_compute_source_index(_T __x, int __size, GridSamplerPadding __padding, bool __corners) {
    return compute_coordinates(grid_sampler_unnormalize(__x, __size, __corners), __size, __padding, __corners);
}
_HATCH_OF_T _T grid_sampler_compute_source_index_set_grad(
    _T __x, int __size, GridSamplerPadding __padding, bool __corners, _T* __slope) {
    _T __clipped, __reflected;
    __x = grid_sampler_unnormalize_set_grad(__x, __size, __corners, __slope);
    if (__padding == GridSamplerPadding::Border) {
        __x = clip_coordinates_set_grad(__x, __size, &__clipped);
        *__slope = *__slope * __clipped;
    } else if (__padding == GridSamplerPadding::Reflection) {
        if (__corners) {
            __x = reflect_coordinates_set_grad(__x, 0, 2 * (__size - 1), &__reflected);
        } else {
            __x = reflect_coordinates_set_grad(__x, -1, 2 * __size - 1, &__reflected);
        }
        __x = clip_coordinates_set_grad(__x, __size, &__clipped);
        *__slope = *__slope * __reflected * __clipped;
    }
    return safe_downgrade_to_int_range(__x);
}

__forceinline__ __device__ bool within_bounds_2d(int __h, int __w, int __height, int __width) {
    return __h >= 0 && __h < __height && __w >= 0 && __w < __width;
}
__forceinline__ __device__ bool within_bounds_3d(int __d, int __h, int __w, int __depth, int __height, int __width) {
    return __d >= 0 && __d < __depth && __h >= 0 && __h < __height && __w >= 0 && __w < __width;
}

_HATCH_OF_T _T get_value_bounded(const _T* __data, _T __x, _T __y, int __width, int __height, int __step_w,
                                 int __step_h, GridSamplerPadding __padding, bool __corners) {
    __x = compute_coordinates(__x, __width, __padding, __corners);
    __y = compute_coordinates(__y, __height, __padding, __corners);
    const int __w = static_cast<int>(__x), __h = static_cast<int>(__y);
    if (within_bounds_2d(__h, __w, __height, __width)) return __data[__h * __step_h + __w * __step_w];
    return static_cast<_T>(0);
}
template <class _T, class _I>
__forceinline__ __device__ void safe_add_2d(_T* __data, int __h, int __w, int __step_h, int __step_w, int __height,
                                            int __width, _T __value, const _I __offset, const _I __count) {
    if (within_bounds_2d(__h, __w, __height, __width))
        fastAtomicAdd(__data, __offset + __h * __step_h + __w * __step_w, __count, __value, true);
}
template <class _T, class _I>
__forceinline__ __device__ void safe_add_3d(_T* __data, int __d, int __h, int __w, int __step_d, int __step_h,
                                            int __step_w, int __depth, int __height, int __width, _T __value,
                                            const _I __offset, const _I __count) {
    if (within_bounds_3d(__d, __h, __w, __depth, __height, __width))
        fastAtomicAdd(__data, __offset + __d * __step_d + __h * __step_h + __w * __step_w, __count, __value, true);
}
template <class _T, class _I>
__forceinline__ __device__ void add_value_bounded(
    _T* __data, _T __x, _T __y, int __width, int __height, int __step_w, int __step_h, _T __value,
    GridSamplerPadding __padding, bool __corners, const _I __offset, const _I __count) {
    __x = compute_coordinates(__x, __width, __padding, __corners);
    __y = compute_coordinates(__y, __height, __padding, __corners);
    const int __w = static_cast<int>(__x), __h = static_cast<int>(__y);
    safe_add_2d(__data, __h, __w, __step_h, __step_w, __height, __width, __value, __offset, __count);
}

// Of the cubic kernel with -0.75, at the four elements around.
_HATCH_OF_T void get_cubic_coefficients_grad(_T __of[4], _T __t) {
    const _T __a = -0.75;
    _T __x = -1 - __t;
    __of[0] = (-3 * __a * __x - 10 * __a) * __x - 8 * __a;
    __x = -__t;
    __of[1] = (-3 * (__a + 2) * __x - 2 * (__a + 3)) * __x;
    __x = 1 - __t;
    __of[2] = (3 * (__a + 2) * __x - 2 * (__a + 3)) * __x;
    __x = 2 - __t;
    __of[3] = (3 * __a * __x - 10 * __a) * __x + 8 * __a;
}
#undef _HATCH_OF_T

}  // namespace native
}  // namespace at

#endif
