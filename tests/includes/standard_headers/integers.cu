#include <cfloat>
#include <cinttypes>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdint.h>

template <class T>
using L = std::numeric_limits<T>;

static_assert(sizeof(uint8_t) == 1 && sizeof(std::int16_t) == 2 && sizeof(uint32_t) == 4 && sizeof(std::uint64_t) == 8, "");
static_assert(sizeof(size_t) == sizeof(std::size_t) && sizeof(std::ptrdiff_t) == 8 && sizeof(uintptr_t) == 8, "");
static_assert(uint64_t(-1) > 0 && int64_t(-1) < 0 && std::uint_least16_t(-1) == 65535, "");
static_assert(INT_MAX == L<int>::max() && INT_MIN == L<int>::min() && UINT_MAX == L<unsigned>::max(), "");
static_assert(LLONG_MIN == L<long long>::min() && ULONG_MAX == L<unsigned long>::max() && CHAR_BIT == 8, "");
static_assert(INT64_MAX == L<int64_t>::max() && UINT64_MAX == L<uint64_t>::max() && SIZE_MAX == L<size_t>::max(), "");
static_assert(L<signed char>::min() == -128 && L<short>::max() == 32767 && L<bool>::max() && L<char>::digits == 7, "");
static_assert(L<int>::digits10 == 9 && L<unsigned long long>::digits10 == 19 && L<unsigned>::is_modulo, "");
static_assert(sizeof(std::imaxdiv_t) == 16 && sizeof(imaxdiv_t{}.quot) == 8, "");
static_assert(L<int>::traps && L<char16_t>::traps && !L<float>::traps, "");
static_assert(INT64_C(5) == 5 && UINT32_C(7) == 7 && sizeof(UINT64_C(1)) == 8, "");

static_assert(L<float>::max() == FLT_MAX && L<double>::lowest() == -DBL_MAX && L<const float>::epsilon() == FLT_EPSILON, "");
static_assert(L<float>::min() == FLT_MIN && L<double>::min() == DBL_MIN && L<long double>::max() == LDBL_MAX, "");
static_assert(L<float>::infinity() > FLT_MAX && L<float>::quiet_NaN() != L<float>::quiet_NaN(), "");
#if __cplusplus >= 201703L
static_assert(FLT_MAX == 0x1.fffffep127f && DBL_MAX == 0x1.fffffffffffffp1023 && FLT_MIN == 0x1p-126f, "");
static_assert(FLT_EPSILON == 0x1p-23f && DBL_EPSILON == 0x1p-52 && DBL_MIN == 0x1p-1022, "");
static_assert(L<float>::denorm_min() == 0x1p-149f && L<double>::denorm_min() == 0x1p-1074 && FLT_DIG == 6, "");
#endif
static_assert(!L<float2>::is_specialized && L<double>::max_exponent == 1024 && DBL_MANT_DIG == 53, "");

struct Packed {
    char first;
    float4 second;
    int third;
};
static_assert(offsetof(Packed, second) == 16 && offsetof(Packed, third) == 32, "an offset is a constant");
static_assert(sizeof(min(size_t(5), int64_t(3))) == 8 && sizeof(max(int64_t(7), size_t(2))) == 8, "both are long");
static_assert(sizeof(min(1, 2)) == 4 && sizeof(max(1L, 2L)) == 8 && sizeof(min(size_t(1), size_t(1))) == 8, "");
static_assert(alignof(max_align_t) == alignof(std::max_align_t), "");
static_assert(sizeof(nullptr_t) == sizeof(std::nullptr_t), "");

#if __cplusplus >= 201703L
static_assert(std::to_integer<int>((std::byte{1} << 3) | std::byte{1}) == 9);
#endif

extern "C" __global__ void kernel(float* x, uint32_t n, std::uint64_t m) {
    printf("%" PRIu64 " %" PRId32 "\n", m, int32_t(n));
    *x = std::numeric_limits<float>::infinity() + offsetof(Packed, second);
}
