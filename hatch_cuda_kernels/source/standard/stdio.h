#ifndef _HATCH_STDIO_H
#define _HATCH_STDIO_H

#include <hatch_cuda_kernels/define.h>

extern "C++" {  // also for who includes it in extern "C" {

// printf is NVRTC's own. Files are the host's: nothing is defined, and a kernel that uses them does not link.
typedef struct _HatchFile FILE;
template <class = void>
_HATCH_HD FILE* _HatchFileOf(int);
#define stdin (_HatchFileOf(0))
#define stdout (_HatchFileOf(1))
#define stderr (_HatchFileOf(2))
template <class... _T>
_HATCH_HD int fprintf(FILE*, const char*, _T...);
template <class = void>
_HATCH_HD int fflush(FILE*);

#define EOF (-1)

}  // extern "C++"

#endif
