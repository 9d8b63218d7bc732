#ifndef _HATCH_TIME_H
#define _HATCH_TIME_H

// clock and clock_t are NVRTC's own: clock counts the multiprocessor's cycles. The rest is as libcu++ has it.
#include <hatch_cuda_kernels/cccl_version.h>
#if defined(_HATCH_CCCL_3_1) && __cplusplus >= 201703L
#include <cuda/std/ctime>  // where it defines timespec, there can be no other
// It may have been begun before, and include this header before it defines them.
typedef long long time_t;
struct timespec;
#else
typedef long long time_t;
struct timespec {
    time_t tv_sec;
    long tv_nsec;
};
#endif
struct tm {
    int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst;
    long tm_gmtoff;
    const char* tm_zone;
};

#include <hatch_cuda_kernels/define.h>

extern "C++" {  // also for who includes it in extern "C" {

#define CLOCKS_PER_SEC 1000000
#define TIME_UTC 1
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1

// The host's: a kernel that calls one does not link.
#define _HATCH_HOST template <class = void> _HATCH_HD
_HATCH_HOST time_t time(time_t*);
_HATCH_HOST double difftime(time_t, time_t);
_HATCH_HOST time_t mktime(tm*);
_HATCH_HOST char* asctime(const tm*);
_HATCH_HOST char* ctime(const time_t*);
_HATCH_HOST tm* gmtime(const time_t*);
_HATCH_HOST tm* localtime(const time_t*);
_HATCH_HOST tm* localtime_r(const time_t*, tm*);
_HATCH_HOST size_t strftime(char*, size_t, const char*, const tm*);
_HATCH_HOST int timespec_get(timespec*, int);
_HATCH_HOST int clock_gettime(int, timespec*);
_HATCH_HOST int nanosleep(const timespec*, timespec*);
#undef _HATCH_HOST

}  // extern "C++"

#endif
