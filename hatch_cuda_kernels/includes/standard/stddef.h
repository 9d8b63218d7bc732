#ifndef _HATCH_STDDEF_H
#define _HATCH_STDDEF_H

#include <hatch_cuda_kernels/define.h>

#undef offsetof
#define offsetof(type, member) (static_cast<size_t>(__INTADDR__(&(((type*) 0)->member))))  // a constant, as it must be

using std::nullptr_t;
typedef struct {
    long long __a;
    long double __b;
} max_align_t;

#endif
