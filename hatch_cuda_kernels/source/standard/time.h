#ifndef _HATCH_TIME_H
#define _HATCH_TIME_H

// clock and clock_t are NVRTC's own: clock counts the multiprocessor's cycles. The rest is as libcu++ has it.
typedef long long time_t;
struct timespec;
struct tm;

#endif
