// Thrust's own, after the declarations that random_core_access.h of this folder gives a mark.
#undef operator
#undef stream_in
#undef stream_out
#undef transition
#pragma nv_diag_suppress 20037
#define HATCH_CUDA_KERNELS_THRUST_BODIES
#include <nv/../thrust/random/detail/linear_feedback_shift_engine.inl>
#undef HATCH_CUDA_KERNELS_THRUST_BODIES
#pragma nv_diagnostic pop
