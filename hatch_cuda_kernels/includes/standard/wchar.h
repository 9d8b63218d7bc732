#ifndef _HATCH_WCHAR_H
#define _HATCH_WCHAR_H

#include <hatch_cuda_kernels/define.h>

extern "C++" {  // also for who includes it in extern "C" {

typedef unsigned wint_t;
typedef struct {
    int __count, __value;
} mbstate_t;
#define WEOF (0xffffffffu)

// The host's: a kernel that calls one does not link.
#define _HATCH_HOST template <class = void> _HATCH_HD
#define _HATCH_HOST_PACK template <class... _T> _HATCH_HD
_HATCH_HOST size_t wcslen(const wchar_t*);
_HATCH_HOST int wcscmp(const wchar_t*, const wchar_t*);
_HATCH_HOST int wcsncmp(const wchar_t*, const wchar_t*, size_t);
_HATCH_HOST wchar_t* wcscpy(wchar_t*, const wchar_t*);
_HATCH_HOST wchar_t* wcsncpy(wchar_t*, const wchar_t*, size_t);
_HATCH_HOST wchar_t* wcscat(wchar_t*, const wchar_t*);
_HATCH_HOST wchar_t* wcschr(const wchar_t*, wchar_t);
_HATCH_HOST wchar_t* wcsrchr(const wchar_t*, wchar_t);
_HATCH_HOST wchar_t* wcsstr(const wchar_t*, const wchar_t*);
_HATCH_HOST wchar_t* wcstok(wchar_t*, const wchar_t*, wchar_t**);
_HATCH_HOST wchar_t* wmemcpy(wchar_t*, const wchar_t*, size_t);
_HATCH_HOST wchar_t* wmemmove(wchar_t*, const wchar_t*, size_t);
_HATCH_HOST wchar_t* wmemset(wchar_t*, wchar_t, size_t);
_HATCH_HOST int wmemcmp(const wchar_t*, const wchar_t*, size_t);
_HATCH_HOST long wcstol(const wchar_t*, wchar_t**, int);
_HATCH_HOST unsigned long wcstoul(const wchar_t*, wchar_t**, int);
_HATCH_HOST double wcstod(const wchar_t*, wchar_t**);
_HATCH_HOST size_t mbrtowc(wchar_t*, const char*, size_t, mbstate_t*);
_HATCH_HOST size_t wcrtomb(char*, wchar_t, mbstate_t*);
_HATCH_HOST size_t mbsrtowcs(wchar_t*, const char**, size_t, mbstate_t*);
_HATCH_HOST size_t wcsrtombs(char*, const wchar_t**, size_t, mbstate_t*);
_HATCH_HOST wint_t btowc(int);
_HATCH_HOST int wctob(wint_t);
_HATCH_HOST_PACK int wprintf(const wchar_t*, _T...);
_HATCH_HOST_PACK int swprintf(wchar_t*, size_t, const wchar_t*, _T...);
#undef _HATCH_HOST
#undef _HATCH_HOST_PACK

}  // extern "C++"

#endif
