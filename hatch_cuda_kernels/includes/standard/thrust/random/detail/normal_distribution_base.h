// Thrust's own, whose version for other compilers has members without a mark: NVRTC takes them for functions of the
// host's.
#pragma once

#include <thrust/pair.h>
#include <thrust/random/uniform_real_distribution.h>

#include <cmath>
#include <limits>

#define normal_distribution_portable(...) __device__ normal_distribution_portable(__VA_ARGS__)
#define reset() __device__ reset()
#pragma nv_diagnostic push
#pragma nv_diag_suppress 20012
#include <nv/../thrust/random/detail/normal_distribution_base.h>
#pragma nv_diagnostic pop
#undef reset
#undef normal_distribution_portable
