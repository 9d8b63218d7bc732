// Locks, for classes of the host's that have one as a member. What device code could use besides is NVRTC's own.
#ifndef _HATCH_OMP_H
#define _HATCH_OMP_H

typedef struct {
    unsigned char __held[4];
} omp_lock_t;
typedef struct {
    alignas(8) unsigned char __held[16];
} omp_nest_lock_t;

#endif
