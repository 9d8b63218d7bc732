#ifndef _HATCH_LIMITS_H
#define _HATCH_LIMITS_H

#include <hatch_cuda_kernels/define.h>

#include <hatch_cuda_kernels/limit_macros.h>

#ifndef _WIN32
#define NAME_MAX 255
#define PATH_MAX 4096
#define PIPE_BUF 4096
#endif

#endif
