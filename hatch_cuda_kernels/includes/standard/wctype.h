#ifndef _HATCH_WCTYPE_H
#define _HATCH_WCTYPE_H

#include <hatch_cuda_kernels/define.h>
#include <wchar.h>

extern "C++" {  // also for who includes it in extern "C" {

typedef unsigned long wctype_t;

// The host's: a kernel that calls one does not link.
#define _HATCH_HOST template <class = void> _HATCH_HD
_HATCH_HOST int iswalnum(wint_t);
_HATCH_HOST int iswalpha(wint_t);
_HATCH_HOST int iswblank(wint_t);
_HATCH_HOST int iswcntrl(wint_t);
_HATCH_HOST int iswdigit(wint_t);
_HATCH_HOST int iswgraph(wint_t);
_HATCH_HOST int iswlower(wint_t);
_HATCH_HOST int iswprint(wint_t);
_HATCH_HOST int iswpunct(wint_t);
_HATCH_HOST int iswspace(wint_t);
_HATCH_HOST int iswupper(wint_t);
_HATCH_HOST int iswxdigit(wint_t);
_HATCH_HOST wint_t towlower(wint_t);
_HATCH_HOST wint_t towupper(wint_t);
#undef _HATCH_HOST

}  // extern "C++"

#endif
