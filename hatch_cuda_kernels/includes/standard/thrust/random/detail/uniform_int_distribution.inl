// Thrust's own, after the declarations that random_core_access.h of this folder gives a mark.
#undef operator
#undef stream_in
#undef stream_out
#undef transition
#include <thrust/random/uniform_real_distribution.h>
#pragma nv_diag_suppress 20037
#define HATCH_CUDA_KERNELS_THRUST_BODIES
#include <nv/../thrust/random/detail/uniform_int_distribution.inl>
#undef HATCH_CUDA_KERNELS_THRUST_BODIES
#pragma nv_diagnostic pop
