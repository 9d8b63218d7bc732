// Torch's loops over a grid.
#ifndef _HATCH_TORCH_LOOPS_H
#define _HATCH_TORCH_LOOPS_H

#include <stdint.h>

#define CUDA_KERNEL_LOOP_TYPE(index, count, type)                                        \
    int64_t _i_n_d_e_x = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;    \
    for (type index = _i_n_d_e_x; _i_n_d_e_x < (count);                                  \
         _i_n_d_e_x += blockDim.x * gridDim.x, index = _i_n_d_e_x)
#define CUDA_KERNEL_LOOP(index, count) CUDA_KERNEL_LOOP_TYPE(index, count, int)

#endif
