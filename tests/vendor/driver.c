/* A CUDA driver whose device is this host's memory, with the signatures of cuda.h: one device of compute capability 9.0,
   with one context. It refuses images that begin with "refuse", and keeps what was launched last for tests to read. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct { uint32_t grid[3], block[3], shared; void *stream; void *attributes; uint32_t count; } Config;

Config launched;
unsigned char passed[64];
uint64_t launches, reset;
static unsigned char variable[16];
static uint64_t current;
static int capture_mode;

int cuInit(unsigned flags) { return flags; }
int cuGetErrorName(int code, const char **name) { *name = code == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU" : "CUDA_ERROR_INVALID_VALUE"; return 0; }
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal != 0; }
int cuDeviceGetAttribute(int *value, int which, int device) { *value = which == 75 ? 9 : which == 76 ? 0 : 1024; return device; }
int cuDevicePrimaryCtxRetain(uint64_t *context, int device) { *context = 0x100; reset = 0; return device; }
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) { *flags = 0; *active = !reset; return device; }
int cuCtxGetCurrent(uint64_t *context) { *context = current; return 0; }
int cuCtxSetCurrent(uint64_t context) { current = context; return 0; }
int cuCtxGetId(uint64_t context, unsigned long long *id) {
    static unsigned long long ids = 0;
    static int was_reset = 1;
    if (reset) { was_reset = 1; return 709; }
    if (was_reset) { ids += 7; was_reset = 0; }
    *id = ids;
    return context || current ? 0 : 201;
}
int cuCtxGetDevice(int *device) { *device = 0; return current ? 0 : 201; }
int cuThreadExchangeStreamCaptureMode(int *mode) { int before = capture_mode; capture_mode = *mode; *mode = before; return 0; }
int cuLibraryLoadData(const void **library, const void *code, int *options, void **values, unsigned count, int *more, void **others, unsigned length) {
    *library = code; /* tests keep the bytes of images */
    return options || values || count || more || others || length;
}
int cuLibraryUnload(void *library) { return 0; }
int cuLibraryGetKernel(uint64_t *kernel, const char *library, const char *name) { *kernel = 0x300; return memcmp(library, "refuse", 6) ? strcmp(name, "saxpy") ? 500 : 0 : 209; }
int cuLibraryGetGlobal(void **address, size_t *bytes, const char *library, const char *name) { *address = variable; *bytes = sizeof variable; return strcmp(name, "d_bias") ? 500 : 0; }
int cuKernelGetFunction(uint64_t *function, uint64_t kernel) { *function = kernel + 0x100; return kernel != 0x300; }
int cuKernelGetAttribute(int *value, int which, uint64_t kernel, int device) { *value = which == 1 ? 0 : 49152; return kernel != 0x300 || device; }
int cuKernelSetAttribute(int which, int value, uint64_t kernel, int device) { return kernel != 0x300 || device || which != 8; }
int cuStreamSynchronize(void *stream) { return 0; }
int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t bytes, void *stream) { memcpy(to, from, bytes); return 0; }
int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t bytes, void *stream) { memcpy(to, from, bytes); return 0; }
int cuPointerGetAttribute(uint64_t *value, int which, uint64_t address) { return 1; }
int cuLaunchKernelEx(const Config *config, uint64_t function, void **params, void **extra) {
    if (function != 0x400 || params || extra[0] != (void *)1) return 1;
    launched = *config;
    launches += 1;
    memcpy(passed, extra[1], *(size_t *)extra[3]);
    return config->block[0] > 1024;
}
