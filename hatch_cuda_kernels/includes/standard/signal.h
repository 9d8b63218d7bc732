#ifndef _HATCH_SIGNAL_H
#define _HATCH_SIGNAL_H

#include <hatch_cuda_kernels/define.h>

extern "C++" {  // also for who includes it in extern "C" {

typedef int sig_atomic_t;
#define SIGHUP 1
#define SIGINT 2
#define SIGQUIT 3
#define SIGILL 4
#define SIGTRAP 5
#define SIGABRT 6
#define SIGFPE 8
#define SIGKILL 9
#define SIGSEGV 11
#define SIGPIPE 13
#define SIGTERM 15
#define SIG_DFL ((void (*)(int))0)
#define SIG_IGN ((void (*)(int))1)
#define SIG_ERR ((void (*)(int)) - 1)

// The host's: a kernel that calls one does not link.
template <class = void>
_HATCH_HD void (*signal(int, void (*)(int)))(int);
template <class = void>
_HATCH_HD int raise(int);

}  // extern "C++"

#endif
