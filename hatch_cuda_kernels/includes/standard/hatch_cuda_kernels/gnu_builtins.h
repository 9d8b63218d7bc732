// Functions that gcc has built in: nvcc knows them, in constant expressions and most of them in device code; NVRTC does not.
#ifndef _HATCH_GNU_BUILTINS_H
#define _HATCH_GNU_BUILTINS_H

// Device code has instructions for these; constant expressions have not.
#define _HATCH_BITS(suffix, type, end)                                                               \
    __host__ __device__ constexpr int __builtin_popcount##suffix(unsigned type __x) {                \
        if (!__builtin_is_constant_evaluated()) return __popc##end(__x);                             \
        int __n = 0;                                                                                 \
        for (; __x; __x &= __x - 1) ++__n;                                                           \
        return __n;                                                                                  \
    }                                                                                                \
    __host__ __device__ constexpr int __builtin_parity##suffix(unsigned type __x) {                  \
        return __builtin_popcount##suffix(__x) & 1;                                                  \
    }                                                                                                \
    __host__ __device__ constexpr int __builtin_ffs##suffix(type __x) {                              \
        if (!__builtin_is_constant_evaluated()) return __ffs##end(__x);                              \
        return __x ? __builtin_popcount##suffix(~__x & (static_cast<unsigned type>(__x) - 1)) + 1 : 0; \
    }                                                                                                \
    __host__ __device__ constexpr int __builtin_ctz##suffix(unsigned type __x) {                     \
        return __builtin_ffs##suffix(static_cast<type>(__x)) - 1;                                    \
    }                                                                                                \
    __host__ __device__ constexpr int __builtin_clz##suffix(unsigned type __x) {                     \
        if (!__builtin_is_constant_evaluated()) return __clz##end(static_cast<type>(__x));           \
        int __n = 8 * sizeof(__x);                                                                   \
        for (; __x; __x >>= 1) --__n;                                                                \
        return __n;                                                                                  \
    }
_HATCH_BITS(, int, )
_HATCH_BITS(l, long, ll)
_HATCH_BITS(ll, long long, ll)
#undef _HATCH_BITS

__host__ __device__ constexpr unsigned short __builtin_bswap16(unsigned short __x) {
    return static_cast<unsigned short>(__x << 8 | __x >> 8);
}
__host__ __device__ constexpr unsigned __builtin_bswap32(unsigned __x) {
    return __x << 24 | (__x & 0xff00) << 8 | (__x >> 8 & 0xff00) | __x >> 24;
}
__host__ __device__ constexpr unsigned long long __builtin_bswap64(unsigned long long __x) {
    return static_cast<unsigned long long>(__builtin_bswap32(static_cast<unsigned>(__x))) << 32 |
           __builtin_bswap32(static_cast<unsigned>(__x >> 32));
}

#define __builtin_trap() __trap()
#define __builtin_inff() __int_as_float(0x7f800000)
#define __builtin_inf() __longlong_as_double(0x7ff0000000000000)
#define __builtin_huge_valf() __builtin_inff()
#define __builtin_huge_val() __builtin_inf()
#define __builtin_nanf(text) nanf(text)
#define __builtin_nan(text) nan(text)
#define __builtin_memcpy(to, from, size) memcpy(to, from, size)
#define __builtin_memset(to, value, size) memset(to, value, size)

#define _HATCH_ONE(name)                                                                             \
    inline __host__ __device__ double __builtin_##name(double __x) { return ::name(__x); }           \
    inline __host__ __device__ float __builtin_##name##f(float __x) { return ::name##f(__x); }
#define _HATCH_TWO(name)                                                                             \
    inline __host__ __device__ double __builtin_##name(double __x, double __y) {                     \
        return ::name(__x, __y);                                                                     \
    }                                                                                                \
    inline __host__ __device__ float __builtin_##name##f(float __x, float __y) {                     \
        return ::name##f(__x, __y);                                                                  \
    }
_HATCH_ONE(fabs)
_HATCH_ONE(sqrt)
_HATCH_ONE(floor)
_HATCH_ONE(ceil)
_HATCH_ONE(trunc)
_HATCH_ONE(round)
_HATCH_ONE(rint)
_HATCH_ONE(exp)
_HATCH_ONE(log)
_HATCH_ONE(sin)
_HATCH_ONE(cos)
_HATCH_TWO(fmin)
_HATCH_TWO(fmax)
_HATCH_TWO(fmod)
_HATCH_TWO(pow)
_HATCH_TWO(copysign)
#undef _HATCH_ONE
#undef _HATCH_TWO
inline __host__ __device__ double __builtin_fma(double __x, double __y, double __z) { return ::fma(__x, __y, __z); }
inline __host__ __device__ float __builtin_fmaf(float __x, float __y, float __z) { return ::fmaf(__x, __y, __z); }

#endif
