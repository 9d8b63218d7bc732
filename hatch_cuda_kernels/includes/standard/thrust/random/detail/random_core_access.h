// Thrust's own, and marks for the functions for streams of the engine or distribution whose header asks for it: they
// have none, so NVRTC takes them for functions of the host's. The header's last line includes one of detail/*.inl, which
// ends this. No #pragma once: each of these headers asks anew.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <limits>

#include <thrust/detail/config.h>
#include <thrust/pair.h>
#include <thrust/random/detail/linear_congruential_engine_discard.h>
#include <thrust/random/detail/linear_feedback_shift_engine_wordmask.h>
#include <thrust/random/detail/xor_combine_engine_max.h>

#include <cuda/std/limits>

#include <hatch_cuda_kernels/thrust_streams.h>
#if !defined(HATCH_CUDA_KERNELS_THRUST_BODIES)
#pragma nv_diagnostic push
#pragma nv_diag_suppress 20012, 20044
#define operator __device__ operator
#define stream_in __device__ stream_in
#define transition __device__ transition
#define stream_out __device__ stream_out
#endif
