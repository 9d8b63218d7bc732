#ifndef _HATCH_STDINT_H
#define _HATCH_STDINT_H

#include <hatch_cuda_kernels/define.h>
#include <limits.h>

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
#if defined(_WIN32) || defined(_HATCH_LONG_LONG)
typedef long long int64_t;
typedef unsigned long long uint64_t;
#else  // as glibc has them
typedef long int64_t;
typedef unsigned long uint64_t;
#endif
#if defined(_HATCH_LONG_LONG) && !defined(_WIN32)
extern "C++" {
#include <hatch_cuda_kernels/wide_extremes.h>
}
typedef int16_t int_fast16_t;
typedef int32_t int_fast32_t;
typedef uint16_t uint_fast16_t;
typedef uint32_t uint_fast32_t;
#elif !defined(_WIN32)  // there, libcu++ has changed its mind about them
typedef int64_t int_fast16_t;
typedef int64_t int_fast32_t;
typedef uint64_t uint_fast16_t;
typedef uint64_t uint_fast32_t;
#endif
#ifndef _WIN32
typedef int8_t int_fast8_t;
typedef int64_t int_fast64_t;
typedef uint8_t uint_fast8_t;
typedef uint64_t uint_fast64_t;
#endif

typedef int8_t int_least8_t;
typedef int16_t int_least16_t;
typedef int32_t int_least32_t;
typedef int64_t int_least64_t;
typedef uint8_t uint_least8_t;
typedef uint16_t uint_least16_t;
typedef uint32_t uint_least32_t;
typedef uint64_t uint_least64_t;

typedef int64_t intptr_t;
typedef uint64_t uintptr_t;
typedef int64_t intmax_t;
typedef uint64_t uintmax_t;

#include <hatch_cuda_kernels/integer_macros.h>

#endif
