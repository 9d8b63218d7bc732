// Words of GNU C++, and what the C library's assert calls: nvcc knows them, NVRTC does not.
#ifndef _HATCH_GNU_WORDS_H
#define _HATCH_GNU_WORDS_H

#define __asm__ asm
#define __const const
#define __const__ const
#define __extension__
#define __signed__ signed
#define __builtin_offsetof(type, member) (static_cast<size_t>(__INTADDR__(&(((type*) 0)->member))))

inline __host__ __device__ void __assert_fail(const char* expression, const char* file, unsigned line, const char* function) {
    __assertfail(expression, file, line, function, sizeof(char));
}

#endif
