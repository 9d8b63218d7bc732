// The functions of <math.h> for long double, which is double in device code.
#ifndef _HATCH_LONG_DOUBLE_H
#define _HATCH_LONG_DOUBLE_H

#include <hatch_cuda_kernels/define.h>

#define _HATCH_ONE(name) \
    _HATCH_HD inline long double name##l(long double __x) { return ::name(static_cast<double>(__x)); }
#define _HATCH_TWO(name)                                                         \
    _HATCH_HD inline long double name##l(long double __x, long double __y) {     \
        return ::name(static_cast<double>(__x), static_cast<double>(__y));       \
    }
_HATCH_ONE(acos)
_HATCH_ONE(asin)
_HATCH_ONE(atan)
_HATCH_ONE(ceil)
_HATCH_ONE(cos)
_HATCH_ONE(exp)
_HATCH_ONE(fabs)
_HATCH_ONE(floor)
_HATCH_ONE(log)
_HATCH_ONE(log10)
_HATCH_ONE(round)
_HATCH_ONE(sin)
_HATCH_ONE(sqrt)
_HATCH_ONE(tan)
_HATCH_ONE(tanh)
_HATCH_ONE(trunc)
_HATCH_TWO(atan2)
_HATCH_TWO(fmax)
_HATCH_TWO(fmin)
_HATCH_TWO(fmod)
_HATCH_TWO(hypot)
_HATCH_TWO(pow)
#undef _HATCH_ONE
#undef _HATCH_TWO

#endif
