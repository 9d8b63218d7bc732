#ifndef _HATCH_STRING_H
#define _HATCH_STRING_H

#include <hatch_cuda_kernels/define.h>

extern "C++" {  // also for who includes it in extern "C" {

// memcpy and memset are NVRTC's own. The others are templates: a project that brings its own keeps it.
#define _HATCH_EITHER template <class _Any = void>

_HATCH_EITHER _HATCH_HD void* memmove(void* __to, const void* __from, size_t __n) {
    unsigned char* __a = static_cast<unsigned char*>(__to);
    const unsigned char* __b = static_cast<const unsigned char*>(__from);
    for (size_t __i = 0; __i < __n; ++__i) {
        const size_t __at = __a < __b ? __i : __n - 1 - __i;
        __a[__at] = __b[__at];
    }
    return __to;
}
_HATCH_EITHER _HATCH_HD int memcmp(const void* __left, const void* __right, size_t __n) {
    const unsigned char* __a = static_cast<const unsigned char*>(__left);
    const unsigned char* __b = static_cast<const unsigned char*>(__right);
    for (size_t __i = 0; __i < __n; ++__i) {
        if (__a[__i] != __b[__i]) {
            return __a[__i] < __b[__i] ? -1 : 1;
        }
    }
    return 0;
}
_HATCH_EITHER _HATCH_HD void* memchr(const void* __where, int __c, size_t __n) {
    const unsigned char* __p = static_cast<const unsigned char*>(__where);
    for (size_t __i = 0; __i < __n; ++__i) {
        if (__p[__i] == static_cast<unsigned char>(__c)) {
            return const_cast<unsigned char*>(__p + __i);
        }
    }
    return nullptr;
}
_HATCH_EITHER _HATCH_HD size_t strlen(const char* __s) {
    size_t __n = 0;
    while (__s[__n] != 0) {
        ++__n;
    }
    return __n;
}
_HATCH_EITHER _HATCH_HD int strncmp(const char* __a, const char* __b, size_t __n) {
    for (size_t __i = 0; __i < __n; ++__i) {
        if (__a[__i] != __b[__i]) {
            return static_cast<unsigned char>(__a[__i]) < static_cast<unsigned char>(__b[__i]) ? -1 : 1;
        }
        if (__a[__i] == 0) {
            return 0;
        }
    }
    return 0;
}
_HATCH_EITHER _HATCH_HD int strcmp(const char* __a, const char* __b) { return strncmp(__a, __b, static_cast<size_t>(-1)); }
_HATCH_EITHER _HATCH_HD char* strcpy(char* __to, const char* __from) {
    size_t __i = 0;
    do {
        __to[__i] = __from[__i];
    } while (__from[__i++] != 0);
    return __to;
}
_HATCH_EITHER _HATCH_HD char* strncpy(char* __to, const char* __from, size_t __n) {
    size_t __i = 0;
    for (; __i < __n && __from[__i] != 0; ++__i) {
        __to[__i] = __from[__i];
    }
    for (; __i < __n; ++__i) {
        __to[__i] = 0;
    }
    return __to;
}
_HATCH_EITHER _HATCH_HD char* strcat(char* __to, const char* __from) {
    strcpy(__to + strlen(__to), __from);
    return __to;
}
_HATCH_EITHER _HATCH_HD char* strchr(const char* __s, int __c) {
    for (;; ++__s) {
        if (*__s == static_cast<char>(__c)) {
            return const_cast<char*>(__s);
        }
        if (*__s == 0) {
            return nullptr;
        }
    }
}
#undef _HATCH_EITHER

// The host's: a kernel that calls one does not link.
#define _HATCH_HOST template <class = void> _HATCH_HD
_HATCH_HOST char* strrchr(const char*, int);
_HATCH_HOST char* strstr(const char*, const char*);
_HATCH_HOST char* strpbrk(const char*, const char*);
_HATCH_HOST char* strtok(char*, const char*);
_HATCH_HOST char* strncat(char*, const char*, size_t);
_HATCH_HOST char* strdup(const char*);
_HATCH_HOST char* strndup(const char*, size_t);
_HATCH_HOST char* strerror(int);
_HATCH_HOST size_t strspn(const char*, const char*);
_HATCH_HOST size_t strcspn(const char*, const char*);
_HATCH_HOST size_t strnlen(const char*, size_t);
_HATCH_HOST size_t strxfrm(char*, const char*, size_t);
_HATCH_HOST int strcoll(const char*, const char*);
_HATCH_HOST int strcasecmp(const char*, const char*);
_HATCH_HOST int strncasecmp(const char*, const char*, size_t);
#undef _HATCH_HOST

}  // extern "C++"

#endif
