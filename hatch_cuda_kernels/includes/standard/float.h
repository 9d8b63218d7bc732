#ifndef _HATCH_FLOAT_H
#define _HATCH_FLOAT_H

#include <hatch_cuda_kernels/define.h>

#define FLT_RADIX 2
#define FLT_ROUNDS 1
#define FLT_EVAL_METHOD 0
#define DECIMAL_DIG 17

#define FLT_MANT_DIG 24
#define FLT_DIG 6
#define FLT_DECIMAL_DIG 9
#define FLT_MIN_EXP (-125)
#define FLT_MIN_10_EXP (-37)
#define FLT_MAX_EXP 128
#define FLT_MAX_10_EXP 38
#define FLT_HAS_SUBNORM 1
#define FLT_MAX 3.402823466385288598e+38F
#define FLT_MIN 1.175494350822287508e-38F
#define FLT_TRUE_MIN 1.401298464324817071e-45F
#define FLT_EPSILON 1.1920928955078125e-7F

#define DBL_MANT_DIG 53
#define DBL_DIG 15
#define DBL_DECIMAL_DIG 17
#define DBL_MIN_EXP (-1021)
#define DBL_MIN_10_EXP (-307)
#define DBL_MAX_EXP 1024
#define DBL_MAX_10_EXP 308
#define DBL_HAS_SUBNORM 1
#define DBL_MAX 1.797693134862315708e+308
#define DBL_MIN 2.225073858507201383e-308
#define DBL_TRUE_MIN 4.940656458412465442e-324
#define DBL_EPSILON 2.220446049250313081e-16

// Device code computes long double as double.
#define LDBL_MANT_DIG DBL_MANT_DIG
#define LDBL_DIG DBL_DIG
#define LDBL_DECIMAL_DIG DBL_DECIMAL_DIG
#define LDBL_MIN_EXP DBL_MIN_EXP
#define LDBL_MIN_10_EXP DBL_MIN_10_EXP
#define LDBL_MAX_EXP DBL_MAX_EXP
#define LDBL_MAX_10_EXP DBL_MAX_10_EXP
#define LDBL_HAS_SUBNORM DBL_HAS_SUBNORM
#define LDBL_MAX static_cast<long double>(DBL_MAX)
#define LDBL_MIN static_cast<long double>(DBL_MIN)
#define LDBL_TRUE_MIN static_cast<long double>(DBL_TRUE_MIN)
#define LDBL_EPSILON static_cast<long double>(DBL_EPSILON)

#endif
