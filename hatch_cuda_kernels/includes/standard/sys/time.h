// Host only: the types, as the host lays them out.
#ifndef _HATCH_SYS_TIME_H
#define _HATCH_SYS_TIME_H

#include <time.h>

struct timeval {
    time_t tv_sec;
    long tv_usec;
};
struct timezone {
    int tz_minuteswest, tz_dsttime;
};

#endif
