#ifndef _HATCH_STDLIB_H
#define _HATCH_STDLIB_H

#include <hatch_cuda_kernels/define.h>

extern "C++" {  // also for who includes it in extern "C" {

// malloc, free, abs, labs and llabs are NVRTC's own.

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 2147483647
#define MB_CUR_MAX 1

typedef struct {
    int quot, rem;
} div_t;
typedef struct {
    long quot, rem;
} ldiv_t;
typedef struct {
    long long quot, rem;
} lldiv_t;

// The host's: a kernel that calls one does not link. They are templates: a project that brings its own keeps it.
#define _HATCH_HOST template <class = void> _HATCH_HD
_HATCH_HOST void* calloc(size_t, size_t);
_HATCH_HOST void* realloc(void*, size_t);
_HATCH_HOST void* aligned_alloc(size_t, size_t);
_HATCH_HOST int posix_memalign(void**, size_t, size_t);
_HATCH_HOST char* getenv(const char*);
_HATCH_HOST int setenv(const char*, const char*, int);
_HATCH_HOST int unsetenv(const char*);
_HATCH_HOST int system(const char*);
_HATCH_HOST int atexit(void (*)());
_HATCH_HOST int at_quick_exit(void (*)());
_HATCH_HOST int atoi(const char*);
_HATCH_HOST long atol(const char*);
_HATCH_HOST long long atoll(const char*);
_HATCH_HOST double atof(const char*);
_HATCH_HOST long strtol(const char*, char**, int);
_HATCH_HOST unsigned long strtoul(const char*, char**, int);
_HATCH_HOST long long strtoll(const char*, char**, int);
_HATCH_HOST unsigned long long strtoull(const char*, char**, int);
_HATCH_HOST float strtof(const char*, char**);
_HATCH_HOST double strtod(const char*, char**);
_HATCH_HOST double strtold(const char*, char**);
_HATCH_HOST int rand();
_HATCH_HOST void srand(unsigned);
_HATCH_HOST double drand48();
_HATCH_HOST void srand48(long);
_HATCH_HOST long random();
_HATCH_HOST void srandom(unsigned);
_HATCH_HOST div_t div(int, int);
_HATCH_HOST ldiv_t ldiv(long, long);
_HATCH_HOST lldiv_t lldiv(long long, long long);
_HATCH_HOST ldiv_t div(long, long);
_HATCH_HOST lldiv_t div(long long, long long);
_HATCH_HOST void qsort(void*, size_t, size_t, int (*)(const void*, const void*));
_HATCH_HOST void* bsearch(const void*, const void*, size_t, size_t, int (*)(const void*, const void*));
_HATCH_HOST int mblen(const char*, size_t);
_HATCH_HOST int mbtowc(wchar_t*, const char*, size_t);
_HATCH_HOST int wctomb(char*, wchar_t);
_HATCH_HOST size_t mbstowcs(wchar_t*, const char*, size_t);
_HATCH_HOST size_t wcstombs(char*, const wchar_t*, size_t);
template <class = void>
[[noreturn]] _HATCH_HD void exit(int);
template <class = void>
[[noreturn]] _HATCH_HD void quick_exit(int);
template <class = void>
[[noreturn]] _HATCH_HD void _Exit(int);
template <class = void>
[[noreturn]] _HATCH_HD void abort();
#undef _HATCH_HOST

}  // extern "C++"

#endif
