#ifndef _HATCH_FENV_H
#define _HATCH_FENV_H

#include <hatch_cuda_kernels/define.h>

extern "C++" {  // also for who includes it in extern "C" {

typedef unsigned short fexcept_t;
typedef struct {
    unsigned __held[8];
} fenv_t;
#define FE_INVALID 1
#define FE_DIVBYZERO 4
#define FE_OVERFLOW 8
#define FE_UNDERFLOW 16
#define FE_INEXACT 32
#define FE_ALL_EXCEPT 61
#define FE_TONEAREST 0
#define FE_DOWNWARD 1024
#define FE_UPWARD 2048
#define FE_TOWARDZERO 3072
#define FE_DFL_ENV ((const fenv_t*)-1)

// The host's: a kernel that calls one does not link.
#define _HATCH_HOST template <class = void> _HATCH_HD
_HATCH_HOST int feclearexcept(int);
_HATCH_HOST int fegetexceptflag(fexcept_t*, int);
_HATCH_HOST int feraiseexcept(int);
_HATCH_HOST int fesetexceptflag(const fexcept_t*, int);
_HATCH_HOST int fetestexcept(int);
_HATCH_HOST int fegetround();
_HATCH_HOST int fesetround(int);
_HATCH_HOST int fegetenv(fenv_t*);
_HATCH_HOST int feholdexcept(fenv_t*);
_HATCH_HOST int fesetenv(const fenv_t*);
_HATCH_HOST int feupdateenv(const fenv_t*);
#undef _HATCH_HOST

}  // extern "C++"

#endif
