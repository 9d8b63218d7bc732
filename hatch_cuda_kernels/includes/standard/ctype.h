#ifndef _HATCH_CTYPE_H
#define _HATCH_CTYPE_H

#include <hatch_cuda_kernels/define.h>

extern "C++" {  // also for who includes it in extern "C" {

// The host's: a kernel that calls one does not link. They are templates: a project that brings its own keeps it.
#define _HATCH_HOST template <class = void> _HATCH_HD
_HATCH_HOST int isalnum(int);
_HATCH_HOST int isalpha(int);
_HATCH_HOST int isblank(int);
_HATCH_HOST int iscntrl(int);
_HATCH_HOST int isdigit(int);
_HATCH_HOST int isgraph(int);
_HATCH_HOST int islower(int);
_HATCH_HOST int isprint(int);
_HATCH_HOST int ispunct(int);
_HATCH_HOST int isspace(int);
_HATCH_HOST int isupper(int);
_HATCH_HOST int isxdigit(int);
_HATCH_HOST int tolower(int);
_HATCH_HOST int toupper(int);
#undef _HATCH_HOST

}  // extern "C++"

#endif
