#ifndef _HATCH_ALLOCA_H
#define _HATCH_ALLOCA_H

#include <hatch_cuda_kernels/gnu_builtins.h>

#define alloca(size) __builtin_alloca(size)

#endif
