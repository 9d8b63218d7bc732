#ifndef _HATCH_SETJMP_H
#define _HATCH_SETJMP_H

#include <hatch_cuda_kernels/define.h>

extern "C++" {  // also for who includes it in extern "C" {

typedef struct {
    long __held[25];
} jmp_buf[1];

// The host's: a kernel that calls one does not link.
template <class = void>
_HATCH_HD int setjmp(jmp_buf);
template <class = void>
[[noreturn]] _HATCH_HD void longjmp(jmp_buf, int);

}  // extern "C++"

#endif
