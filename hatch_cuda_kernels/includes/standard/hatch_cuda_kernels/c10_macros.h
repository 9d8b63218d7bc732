// c10's macros for device code, as they are with CUDA and gcc, for what stays of a source without its host code.
// C10_LAUNCH_BOUNDS_2 is not here: what it makes of an architecture changes with Torch's releases.
#ifndef _HATCH_C10_MACROS_H
#define _HATCH_C10_MACROS_H

#define C10_HOST  // what is for the host alone has no mark here
#define C10_DEVICE __device__
#define C10_HOST_DEVICE __host__ __device__
#define C10_ALWAYS_INLINE __attribute__((__always_inline__)) inline
#define C10_NOINLINE __attribute__((noinline))
#define C10_NODISCARD [[nodiscard]]
#define C10_UNUSED [[maybe_unused]]
#define C10_RESTRICT __restrict
#define C10_LIKELY(...) (__builtin_expect(static_cast<bool>(__VA_ARGS__), 1))
#define C10_UNLIKELY(...) (__builtin_expect(static_cast<bool>(__VA_ARGS__), 0))
#define C10_WARP_SIZE 32
#define C10_MAX_THREADS_PER_BLOCK(count) (((count) <= 1024) ? (count) : 256)
#define C10_LAUNCH_BOUNDS_1(count) __launch_bounds__((C10_MAX_THREADS_PER_BLOCK((count))))
// These hold with NDEBUG, too.
#define CUDA_KERNEL_ASSERT(condition) CUDA_KERNEL_ASSERT_MSG(condition, #condition)
#define CUDA_KERNEL_ASSERT_MSG(condition, message)                                \
    if (C10_UNLIKELY(!(condition))) {                                             \
        __assertfail(message, __FILE__, __LINE__, __func__, sizeof(char)); \
    }

#endif
