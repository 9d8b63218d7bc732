#ifndef _HATCH_STDIO_H
#define _HATCH_STDIO_H

#include <hatch_cuda_kernels/define.h>

// printf is NVRTC's own. Files are the host's.
typedef struct _HatchFile FILE;

#define EOF (-1)

#endif
