#ifndef _HATCH_TIME_H
#define _HATCH_TIME_H

// clock and clock_t are NVRTC's own: clock counts the multiprocessor's cycles. The rest is as libcu++ has it.
typedef long long time_t;
struct timespec {
    time_t tv_sec;
    long tv_nsec;
};
struct tm {
    int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst;
    long tm_gmtoff;
    const char* tm_zone;
};

#endif
