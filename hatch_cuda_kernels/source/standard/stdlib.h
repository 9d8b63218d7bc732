#ifndef _HATCH_STDLIB_H
#define _HATCH_STDLIB_H

#include <hatch_cuda_kernels/define.h>

extern "C++" {  // also for who includes it in extern "C" {

// malloc, free, abs, labs and llabs are NVRTC's own.

// The host's: a kernel that calls it does not link.
template <class = void>
[[noreturn]] _HATCH_HD void exit(int);

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 2147483647

}  // extern "C++"

#endif
