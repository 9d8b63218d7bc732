// The macros of <math.h>. Infinities and NaN are constants, also without libcu++.
#ifndef _HATCH_MATH_MACROS_H
#define _HATCH_MATH_MACROS_H

#define HUGE_VALF (__builtin_bit_cast(float, 0x7f800000U))
#define HUGE_VAL (__builtin_bit_cast(double, 0x7ff0000000000000ULL))
#define HUGE_VALL (static_cast<long double>(HUGE_VAL))
#define INFINITY HUGE_VALF
#define NAN (__builtin_bit_cast(float, 0x7fc00000U))

#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#define MAXFLOAT 3.402823466385288598e+38F

#ifndef FP_NAN  // libcu++'s
// Macros that stand for themselves: sources that know NVRTC have enumerators of these names, in their own namespaces or
// in no other than ours are inside of.
inline namespace __hatch_fp {
enum { FP_NAN, FP_INFINITE, FP_ZERO, FP_SUBNORMAL, FP_NORMAL };
}
#define FP_NAN FP_NAN
#define FP_INFINITE FP_INFINITE
#define FP_ZERO FP_ZERO
#define FP_SUBNORMAL FP_SUBNORMAL
#define FP_NORMAL FP_NORMAL
#endif
#define FP_ILOGB0 (-2147483647 - 1)
#define FP_ILOGBNAN (-2147483647 - 1)
#define MATH_ERRNO 1
#define MATH_ERREXCEPT 2
#define math_errhandling 3

#endif
