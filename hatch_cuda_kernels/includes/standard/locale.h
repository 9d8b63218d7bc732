#ifndef _HATCH_LOCALE_H
#define _HATCH_LOCALE_H

#include <hatch_cuda_kernels/define.h>

extern "C++" {  // also for who includes it in extern "C" {

struct lconv {
    char *decimal_point, *thousands_sep, *grouping, *__monetary[7], __signs[14];
};
#define LC_CTYPE 0
#define LC_NUMERIC 1
#define LC_TIME 2
#define LC_COLLATE 3
#define LC_MONETARY 4
#define LC_MESSAGES 5
#define LC_ALL 6

// The host's: a kernel that calls one does not link.
template <class = void>
_HATCH_HD char* setlocale(int, const char*);
template <class = void>
_HATCH_HD lconv* localeconv();

}  // extern "C++"

#endif
