/* A CUDA driver whose devices are this host's memory, with the signatures of cuda.h: two devices of compute capability
   9.0, each with one context. It refuses images that begin with "refuse", unless a test sets what to say of each, and
   keeps what was launched last for tests to read. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct { uint32_t grid[3], block[3], shared; void *stream; void *attributes; uint32_t count; } Config;

Config launched;
unsigned char passed[256];
uint64_t launches, libraries;
uint64_t reset; /* a bit for each device whose context is gone */
int capability[2] = {9, 0}, driver_version = 13000;
uint64_t sizes[16];                                /* of the parameters, where they are passed one by one */
int (*judge)(const char *image, const char *name); /* what to answer when a kernel of an image is asked for */
char variable_name[64];
static unsigned char variable[16];
static uint64_t generations[2];
static _Thread_local uint64_t current;
static _Thread_local int capture_mode;

int cuInit(unsigned flags) { return flags; }
int cuGetErrorName(int code, const char **name) { *name = code == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU" : "CUDA_ERROR_INVALID_VALUE"; return 0; }
int cuDriverGetVersion(int *version) { *version = driver_version; return 0; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal > 1 ? 101 : 0; }
int cuDeviceGetAttribute(int *value, int which, int device) { *value = which == 75 ? capability[0] : which == 76 ? capability[1] : 1024; return device > 1; }
int cuDevicePrimaryCtxRetain(uint64_t *context, int device) {
    *context = 0x100 + device;
    if (reset >> device & 1) { reset &= ~(1ull << device); generations[device] += 1; }
    return device > 1;
}
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) { *flags = 0; *active = !(reset >> device & 1); return device > 1; }
int cuCtxGetCurrent(uint64_t *context) { *context = current; return 0; }
int cuCtxSetCurrent(uint64_t context) { current = context; return 0; }
int cuCtxGetId(uint64_t context, unsigned long long *id) {
    uint64_t device = (context ? context : current) - 0x100;
    if (device > 1) return 201;
    *id = 7 * (2 * generations[device] + device + 1);
    return reset >> device & 1 ? 709 : 0;
}
int cuCtxGetDevice(int *device) { *device = (int)current - 0x100; return current ? 0 : 201; }
int cuThreadExchangeStreamCaptureMode(int *mode) { int before = capture_mode; capture_mode = *mode; *mode = before; return 0; }
int cuLibraryLoadData(char **library, const char *code, int *options, void **values, unsigned count, int *more, void **others, unsigned length) {
    *library = strdup(code); /* images of tests are text */
    __atomic_add_fetch(&libraries, 1, __ATOMIC_RELAXED);
    return options || values || count || more || others || length;
}
int cuLibraryUnload(char *library) { __atomic_sub_fetch(&libraries, 1, __ATOMIC_RELAXED); free(library); return 0; }
int cuLibraryGetKernel(uint64_t *kernel, const char *library, const char *name) {
    *kernel = 0x300;
    if (judge) return judge(library, name);
    return memcmp(library, "refuse", 6) ? strcmp(name, "saxpy") && strcmp(name, "odd") ? 500 : 0 : 209;
}
int cuLibraryGetGlobal(void **address, size_t *bytes, const char *library, const char *name) {
    *address = variable; *bytes = sizeof variable;
    strncpy(variable_name, name, sizeof variable_name - 1);
    return library && (judge || !strcmp(name, "d_bias")) ? 0 : 500;
}
int cuKernelGetFunction(uint64_t *function, uint64_t kernel) { *function = kernel + 0x100; return kernel != 0x300; }
int cuKernelGetParamInfo(uint64_t kernel, size_t index, size_t *offset, size_t *size) { *offset = 0; *size = index < 16 ? sizes[index] : 0; return *size == 0; }
int cuKernelGetAttribute(int *value, int which, uint64_t kernel, int device) { *value = which == 1 ? 0 : which == 0 ? 1024 : 49152; return kernel != 0x300 || device > 1; }
int cuKernelSetAttribute(int which, int value, uint64_t kernel, int device) { return kernel != 0x300 || device > 1 || which != 8; }
int cuStreamSynchronize(void *stream) { return 0; }
int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t bytes, void *stream) { memcpy(to, from, bytes); return 0; }
int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t bytes, void *stream) { memcpy(to, from, bytes); return 0; }
int cuPointerGetAttribute(uint64_t *value, int which, uint64_t address) { return 1; }
int cuLaunchKernelEx(const Config *config, uint64_t function, void **params, void **extra) {
    if (function != 0x400) return 1;
    __atomic_add_fetch(&launches, 1, __ATOMIC_RELAXED);
    if (!sizes[0] && !extra) return 0; /* nobody reads what was passed */
    launched = *config;
    if (extra) memcpy(passed, extra[1], *(size_t *)extra[3]);
    unsigned char *to = passed;
    for (int i = 0; params && sizes[i]; to += sizes[i++]) memcpy(to, params[i], sizes[i]);
    return config->block[0] > 1024;
}
