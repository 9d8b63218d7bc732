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
#else
#define _HATCH_CPP20 0
#endif

namespace std {
using ::ptrdiff_t;
using ::size_t;
typedef decltype(nullptr) nullptr_t;
}  // namespace std

#endif
