// What the headers of this folder share. NVRTC alone reads them.
#ifndef _HATCH_DEFINE_H
#define _HATCH_DEFINE_H

#include <hatch_cuda_kernels/features.h>

// A libcu++ header that comes later defines some of the same macros with the same values in other words: no warning.
#pragma nv_diag_suppress 47

#define _HATCH_HD __host__ __device__

#if __cplusplus >= 201703L
#define _HATCH_CPP17 1
#define _HATCH_INLINE inline
#else
#define _HATCH_CPP17 0
#define _HATCH_INLINE
#endif

#if __cplusplus >= 202002L
#define _HATCH_CPP20 1
// What a comparison of wrapped objects gives: in C++20 it is one only where these can be compared.
#define _HATCH_WHERE(compared) decltype(static_cast<bool>(compared))
#else
#define _HATCH_CPP20 0
#define _HATCH_WHERE(compared) bool
#endif

namespace std {
using ::ptrdiff_t;
using ::size_t;
typedef decltype(nullptr) nullptr_t;
}  // namespace std

#endif
