// Torch's mathematical functions for both GPU platforms: of float and of double, by one name.
#ifndef _HATCH_TORCH_MATH_H
#define _HATCH_TORCH_MATH_H

#include <hatch_cuda_kernels/torch_namespaces.h>

namespace c10 {
namespace cuda {
namespace compat {

#define _HATCH_OF_ONE(name, single, twice)                          \
    inline _HATCH_HD float name(float __x) { return ::single(__x); } \
    inline _HATCH_HD double name(double __x) { return ::twice(__x); }
#define _HATCH_OF_TWO(name, single, twice)                                               \
    inline _HATCH_HD float name(float __x, float __y) { return ::single(__x, __y); } \
    inline _HATCH_HD double name(double __x, double __y) { return ::twice(__x, __y); }
_HATCH_OF_ONE(abs, fabsf, fabs)
_HATCH_OF_ONE(exp, expf, exp)
_HATCH_OF_ONE(ceil, ceilf, ceil)
_HATCH_OF_ONE(floor, floorf, floor)
_HATCH_OF_ONE(log, logf, log)
_HATCH_OF_ONE(log1p, log1pf, log1p)
_HATCH_OF_ONE(sqrt, sqrtf, sqrt)
_HATCH_OF_ONE(rsqrt, rsqrtf, rsqrt)
_HATCH_OF_ONE(tan, tanf, tan)
_HATCH_OF_ONE(tanh, tanhf, tanh)
_HATCH_OF_ONE(normcdf, normcdff, normcdf)
_HATCH_OF_TWO(copysign, copysignf, copysign)
_HATCH_OF_TWO(max, fmaxf, fmax)
_HATCH_OF_TWO(min, fminf, fmin)
_HATCH_OF_TWO(pow, powf, pow)
#undef _HATCH_OF_TWO
#undef _HATCH_OF_ONE
inline _HATCH_HD void sincos(float __x, float* __sin, float* __cos) { ::sincosf(__x, __sin, __cos); }
inline _HATCH_HD void sincos(double __x, double* __sin, double* __cos) { ::sincos(__x, __sin, __cos); }

}  // namespace compat
}  // namespace cuda
}  // namespace c10

#endif
