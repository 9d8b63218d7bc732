// Host only: what device code could use of it is nothing, or is NVRTC's own; headers ask for the version.
#undef _POSIX_VERSION
#define _POSIX_VERSION 200809L
#undef _POSIX_TIMERS
#define _POSIX_TIMERS 200809L
#undef _POSIX_MONOTONIC_CLOCK
#define _POSIX_MONOTONIC_CLOCK 0
