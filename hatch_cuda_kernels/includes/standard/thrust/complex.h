// Thrust's own, whose operators for streams have no mark before CCCL 3.4: NVRTC takes them for functions of the host's.
#pragma once

#include <thrust/detail/config.h>
#include <thrust/detail/type_traits.h>
#include <thrust/type_traits/is_trivially_relocatable.h>

#include <cmath>
#include <complex>
#include <sstream>

#pragma nv_diagnostic push
#pragma nv_diag_suppress 20012
#define operator __device__ operator
#include <nv/../thrust/complex.h>
#undef operator
#pragma nv_diagnostic pop
