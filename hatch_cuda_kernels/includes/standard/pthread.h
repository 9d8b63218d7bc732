// Host only: types that a struct may have for members, with glibc's sizes on 64-bit Linux.
#ifndef _HATCH_PTHREAD
#define _HATCH_PTHREAD

typedef unsigned long pthread_t;
typedef unsigned int pthread_key_t;
typedef int pthread_once_t;
typedef volatile int pthread_spinlock_t;

#define _HATCH_OPAQUE(name, type, bytes) \
    union name {                         \
        char __size[bytes];              \
        type __align;                    \
    };
_HATCH_OPAQUE(pthread_attr_t, long, 56)
_HATCH_OPAQUE(pthread_barrier_t, long, 32)
_HATCH_OPAQUE(pthread_barrierattr_t, int, 4)
_HATCH_OPAQUE(pthread_cond_t, long long, 48)
_HATCH_OPAQUE(pthread_condattr_t, int, 4)
_HATCH_OPAQUE(pthread_mutex_t, long, 40)
_HATCH_OPAQUE(pthread_mutexattr_t, int, 4)
_HATCH_OPAQUE(pthread_rwlock_t, long, 56)
#undef _HATCH_OPAQUE

#endif
