// Torch's numbers of 16 and 8 bits, with Torch's own arithmetic (in float, each result rounded), and what sums are kept in.
#ifndef _HATCH_TORCH_NUMBERS_H
#define _HATCH_TORCH_NUMBERS_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <hatch_cuda_kernels/torch_namespaces.h>
#include <limits>
#include <type_traits>

namespace c10 {

struct alignas(2) Half {
    struct from_bits_t {};
    static constexpr _HATCH_HD from_bits_t from_bits() { return from_bits_t(); }

    unsigned short x;

    Half() = default;
    constexpr _HATCH_HD Half(unsigned short __bits, from_bits_t) : x(__bits) {}
    _HATCH_HD Half(float __value) : x(__half_as_ushort(__float2half(__value))) {}
    _HATCH_HD Half(const __half& __value) : x(__half_as_ushort(__value)) {}
    _HATCH_HD operator float() const { return __half2float(__ushort_as_half(x)); }
    _HATCH_HD operator __half() const { return __ushort_as_half(x); }
};

struct alignas(2) BFloat16 {
    struct from_bits_t {};
    static constexpr _HATCH_HD from_bits_t from_bits() { return from_bits_t(); }

    unsigned short x;

    BFloat16() = default;
    constexpr _HATCH_HD BFloat16(unsigned short __bits, from_bits_t) : x(__bits) {}
    _HATCH_HD BFloat16(float __value) : x(_rounded(__value)) {}
    _HATCH_HD BFloat16(const __nv_bfloat16& __value) : x(__bfloat16_as_ushort(__value)) {}
    _HATCH_HD operator float() const { return __bfloat162float(__ushort_as_bfloat16(x)); }
    explicit _HATCH_HD operator __nv_bfloat16() const { return __ushort_as_bfloat16(x); }

   private:
    static _HATCH_HD unsigned short _rounded(float __value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
        if (__value != __value) return 0x7fc0;
#endif
        return __bfloat16_as_ushort(__float2bfloat16(__value));
    }
};

// Of 8 bits: what converts them is not defined here, so that code that computes with one is refused.
#define _HATCH_OF_8_BITS(T)                                                          \
    struct alignas(1) T {                                                            \
        struct from_bits_t {};                                                       \
        static constexpr _HATCH_HD from_bits_t from_bits() { return from_bits_t(); } \
        unsigned char x;                                                             \
        T() = default;                                                               \
        constexpr _HATCH_HD T(unsigned char __bits, from_bits_t) : x(__bits) {}      \
        _HATCH_HD T(float __value);                                                  \
        _HATCH_HD operator float() const;                                            \
    };
_HATCH_OF_8_BITS(Float8_e4m3fn)
_HATCH_OF_8_BITS(Float8_e4m3fnuz)
_HATCH_OF_8_BITS(Float8_e5m2)
_HATCH_OF_8_BITS(Float8_e5m2fnuz)
#undef _HATCH_OF_8_BITS

inline __device__ Half __ldg(const Half* __p) { return ::__ldg(reinterpret_cast<const __half*>(__p)); }
inline __device__ BFloat16 __ldg(const BFloat16* __p) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    return *__p;
#else
    return ::__ldg(reinterpret_cast<const __nv_bfloat16*>(__p));
#endif
}
inline _HATCH_HD Half operator-(const Half& __a) { return Half(__hneg(__ushort_as_half(__a.x))); }
inline _HATCH_HD BFloat16 operator-(const BFloat16& __a) { return -static_cast<float>(__a); }

// With another number: in that one's type, or for integers in this one.
#define _HATCH_WITH(T, S, R, op)                                                                    \
    inline _HATCH_HD R operator op(T __a, S __b) { return static_cast<R>(__a) op static_cast<R>(__b); } \
    inline _HATCH_HD R operator op(S __a, T __b) { return static_cast<R>(__a) op static_cast<R>(__b); }
#define _HATCH_ONE(T, op)                                                                                   \
    inline _HATCH_HD T operator op(const T& __a, const T& __b) { return float(__a) op float(__b); }         \
    inline _HATCH_HD T& operator op##=(T& __a, const T& __b) { return __a = __a op __b; }                   \
    inline _HATCH_HD float& operator op##=(float& __a, const T& __b) { return __a op##= float(__b); }       \
    _HATCH_WITH(T, float, float, op)                                                                        \
    _HATCH_WITH(T, double, double, op)                                                                      \
    _HATCH_WITH(T, int, T, op)                                                                              \
    _HATCH_WITH(T, int64_t, T, op)
#define _HATCH_ALL(T) _HATCH_ONE(T, +) _HATCH_ONE(T, -) _HATCH_ONE(T, *) _HATCH_ONE(T, /)
_HATCH_ALL(Half)
_HATCH_ALL(BFloat16)
#undef _HATCH_ALL
#undef _HATCH_ONE
#undef _HATCH_WITH

// As floats. Torch compiles without __half's own operators, between which and those of float a comparison could not
// choose: these fit better than both, and no other arguments.
template <class _T, class _U>
using _if_compared = std::enable_if_t<
    (std::is_same<_T, Half>::value || std::is_arithmetic<_T>::value) &&
        (std::is_same<_U, Half>::value || std::is_arithmetic<_U>::value) &&
        (std::is_same<_T, Half>::value || std::is_same<_U, Half>::value),
    int>;
template <class _T>
inline _HATCH_HD _T _compared(_T __x) { return __x; }
inline _HATCH_HD float _compared(Half __x) { return __x; }
#define _HATCH_COMPARED(op)                                                \
    template <class _T, class _U, _if_compared<_T, _U> = 0>                \
    inline _HATCH_HD bool operator op(const _T& __a, const _U& __b) {      \
        return _compared(__a) op _compared(__b);                           \
    }
_HATCH_COMPARED(==)
_HATCH_COMPARED(!=)
_HATCH_COMPARED(<)
_HATCH_COMPARED(>)
_HATCH_COMPARED(<=)
_HATCH_COMPARED(>=)
#undef _HATCH_COMPARED
inline _HATCH_HD bool operator>(BFloat16& __a, BFloat16& __b) { return float(__a) > float(__b); }
inline _HATCH_HD bool operator<(BFloat16& __a, BFloat16& __b) { return float(__a) < float(__b); }

}  // namespace c10

namespace std {
#define _HATCH_LIMIT(T, name, bits) \
    static constexpr _HATCH_HD c10::T name() { return c10::T(bits, c10::T::from_bits()); }
template <>
class numeric_limits<c10::Half> {
   public:
    static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
    static constexpr bool has_infinity = true, has_quiet_NaN = true, is_iec559 = true, is_bounded = true;
    static constexpr int digits = 11, digits10 = 3, max_digits10 = 5, radix = 2;
    static constexpr int min_exponent = -13, min_exponent10 = -4, max_exponent = 16, max_exponent10 = 4;
    _HATCH_LIMIT(Half, min, 0x0400)
    _HATCH_LIMIT(Half, lowest, 0xfbff)
    _HATCH_LIMIT(Half, max, 0x7bff)
    _HATCH_LIMIT(Half, epsilon, 0x1400)
    _HATCH_LIMIT(Half, round_error, 0x3800)
    _HATCH_LIMIT(Half, infinity, 0x7c00)
    _HATCH_LIMIT(Half, quiet_NaN, 0x7e00)
    _HATCH_LIMIT(Half, denorm_min, 0x0001)
};
template <>
class numeric_limits<c10::BFloat16> {
   public:
    static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
    static constexpr bool has_infinity = true, has_quiet_NaN = true, is_iec559 = false, is_bounded = true;
    static constexpr int digits = 8, digits10 = 2, max_digits10 = 4, radix = 2;
    static constexpr int min_exponent = -125, min_exponent10 = -37, max_exponent = 128, max_exponent10 = 38;
    _HATCH_LIMIT(BFloat16, min, 0x0080)
    _HATCH_LIMIT(BFloat16, lowest, 0xff7f)
    _HATCH_LIMIT(BFloat16, max, 0x7f7f)
    _HATCH_LIMIT(BFloat16, epsilon, 0x3c00)
    _HATCH_LIMIT(BFloat16, round_error, 0x3f00)
    _HATCH_LIMIT(BFloat16, infinity, 0x7f80)
    _HATCH_LIMIT(BFloat16, quiet_NaN, 0x7fc0)
    _HATCH_LIMIT(BFloat16, denorm_min, 0x0001)
};
// Of 8 bits: where one has no infinity but a member for it, as the two with 0x80 for NaN, that is NaN.
#define _HATCH_EIGHT_BITS(T, bits, decimal, least, least10, most, most10, infinite)                             \
    template <>                                                                                             \
    class numeric_limits<c10::T> {                                                                          \
       public:                                                                                              \
        static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false; \
        static constexpr bool has_infinity = infinite, has_quiet_NaN = true, has_signaling_NaN = false;     \
        static constexpr bool is_iec559 = false, is_bounded = true, is_modulo = false;                      \
        static constexpr int digits = bits, digits10 = 0, max_digits10 = decimal, radix = 2;                \
        static constexpr int min_exponent = least, min_exponent10 = least10;                                \
        static constexpr int max_exponent = most, max_exponent10 = most10;                                  \
        _HATCH_LIMIT(T, denorm_min, 0x01)
_HATCH_EIGHT_BITS(Float8_e4m3fn, 4, 3, -5, -1, 8, 2, false)
        _HATCH_LIMIT(Float8_e4m3fn, min, 0x08)
        _HATCH_LIMIT(Float8_e4m3fn, lowest, 0xfe)
        _HATCH_LIMIT(Float8_e4m3fn, max, 0x7e)
        _HATCH_LIMIT(Float8_e4m3fn, epsilon, 0x20)
        _HATCH_LIMIT(Float8_e4m3fn, round_error, 0x30)
        _HATCH_LIMIT(Float8_e4m3fn, quiet_NaN, 0x7f)
};
_HATCH_EIGHT_BITS(Float8_e4m3fnuz, 4, 3, -6, -1, 8, 2, false)
        _HATCH_LIMIT(Float8_e4m3fnuz, min, 0x08)
        _HATCH_LIMIT(Float8_e4m3fnuz, lowest, 0xff)
        _HATCH_LIMIT(Float8_e4m3fnuz, max, 0x7f)
        _HATCH_LIMIT(Float8_e4m3fnuz, epsilon, 0x28)
        _HATCH_LIMIT(Float8_e4m3fnuz, round_error, 0x38)
        _HATCH_LIMIT(Float8_e4m3fnuz, infinity, 0x80)
        _HATCH_LIMIT(Float8_e4m3fnuz, quiet_NaN, 0x80)
};
_HATCH_EIGHT_BITS(Float8_e5m2, 3, 2, -13, -4, 16, 4, true)
        _HATCH_LIMIT(Float8_e5m2, min, 0x04)
        _HATCH_LIMIT(Float8_e5m2, lowest, 0xfb)
        _HATCH_LIMIT(Float8_e5m2, max, 0x7b)
        _HATCH_LIMIT(Float8_e5m2, epsilon, 0x34)
        _HATCH_LIMIT(Float8_e5m2, round_error, 0x38)
        _HATCH_LIMIT(Float8_e5m2, infinity, 0x7c)
        _HATCH_LIMIT(Float8_e5m2, quiet_NaN, 0x7f)
};
_HATCH_EIGHT_BITS(Float8_e5m2fnuz, 3, 2, -14, -4, 16, 4, false)
        _HATCH_LIMIT(Float8_e5m2fnuz, min, 0x04)
        _HATCH_LIMIT(Float8_e5m2fnuz, lowest, 0xff)
        _HATCH_LIMIT(Float8_e5m2fnuz, max, 0x7f)
        _HATCH_LIMIT(Float8_e5m2fnuz, epsilon, 0x34)
        _HATCH_LIMIT(Float8_e5m2fnuz, round_error, 0x38)
        _HATCH_LIMIT(Float8_e5m2fnuz, infinity, 0x80)
        _HATCH_LIMIT(Float8_e5m2fnuz, quiet_NaN, 0x80)
};
#undef _HATCH_EIGHT_BITS
#undef _HATCH_LIMIT
}  // namespace std

namespace at {
// What Torch's device code computes in; on the host, it is another type.
template <class _T, bool _on_gpu>
struct AccumulateType {};
template <class _T>
struct OpMathType {
    typedef _T type;
};
#define _HATCH_COMPUTES(family, becomes) \
    template <>                         \
    struct family {                     \
        typedef becomes type;           \
    };
#define _HATCH_SUMS(of, becomes)      \
    template <>                       \
    struct AccumulateType<of, true> { \
        typedef becomes type;         \
    };
_HATCH_COMPUTES(OpMathType<Half>, float)
_HATCH_COMPUTES(OpMathType<BFloat16>, float)
_HATCH_COMPUTES(OpMathType<Float8_e5m2fnuz>, float)
_HATCH_COMPUTES(OpMathType<Float8_e5m2>, float)
_HATCH_COMPUTES(OpMathType<Float8_e4m3fnuz>, float)
_HATCH_COMPUTES(OpMathType<Float8_e4m3fn>, float)
_HATCH_SUMS(Half, float)
_HATCH_SUMS(BFloat16, float)
_HATCH_SUMS(__half, float)
_HATCH_SUMS(Float8_e4m3fn, float)
_HATCH_SUMS(Float8_e4m3fnuz, float)
_HATCH_SUMS(Float8_e5m2, float)
_HATCH_SUMS(Float8_e5m2fnuz, float)
_HATCH_SUMS(float, float)
_HATCH_SUMS(double, double)
_HATCH_SUMS(bool, bool)
_HATCH_SUMS(char, int64_t)
_HATCH_SUMS(int8_t, int64_t)
_HATCH_SUMS(uint8_t, int64_t)
_HATCH_SUMS(int16_t, int64_t)
_HATCH_SUMS(int32_t, int64_t)
_HATCH_SUMS(long, int64_t)
_HATCH_SUMS(long long, int64_t)
#undef _HATCH_SUMS
#undef _HATCH_COMPUTES
template <class _T, bool _on_gpu>
using acc_type = typename AccumulateType<_T, _on_gpu>::type;
template <class _T>
using opmath_type = typename OpMathType<_T>::type;
}  // namespace at

#endif
