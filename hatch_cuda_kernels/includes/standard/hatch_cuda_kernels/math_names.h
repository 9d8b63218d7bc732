// Functions that NVRTC has otherwise than nvcc: its pow(float, int) is float and multiplies, its isnan gives int. As it
// has them as functions of the global namespace, no overload can take their place; another name can. This header comes
// before all others, so that whatever has one of the names has it under the same other one.
#ifndef _HATCH_MATH_NAMES_H
#define _HATCH_MATH_NAMES_H

#include <hatch_cuda_kernels/math_functions.h>

namespace std {
using ::isfinite;
using ::isinf;
using ::isnan;
using ::pow;
using ::signbit;
using ::__hatch_isfinite;
using ::__hatch_isinf;
using ::__hatch_isnan;
using ::__hatch_pow;
using ::__hatch_signbit;
}  // namespace std

#define isfinite __hatch_isfinite
#define isinf __hatch_isinf
#define isnan __hatch_isnan
#define pow __hatch_pow
#define signbit __hatch_signbit

#endif
