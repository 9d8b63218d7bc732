/* A CUDA driver whose calls do nothing: what is left of a launch is the host's share, the bindings' included. */
#include <stdint.h>
#include <string.h>

int cuInit(unsigned flags) { return 0; }
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
/* Compute capability 9.0 (attributes 75 and 76), and enough of everything else. */
int cuDeviceGetAttribute(int *value, int which) { *value = which == 75 ? 9 : which == 76 ? 0 : 1024; return 0; }
int cuDevicePrimaryCtxRetain(void **context) { *context = (void *)0x100; return 0; }
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) { *flags = 0; *active = 1; return 0; }
int cuCtxGetCurrent(void **context) { *context = (void *)0x100; return 0; }
int cuCtxSetCurrent(void *context) { return 0; }
int cuCtxGetId(void *context, unsigned long long *id) { *id = 7; return 0; }
/* Torch numbers the CPU -1, so its tensors there are on this device. */
int cuCtxGetDevice(int *device) { *device = -1; return 0; }
int cuLibraryLoadData(void **library) { *library = (void *)0x200; return 0; }
int cuLibraryGetKernel(void **kernel) { *kernel = (void *)0x300; return 0; }
int cuKernelGetFunction(void **function) { *function = (void *)0x400; return 0; }
int cuKernelGetAttribute(int *value) { *value = 1024; return 0; }
int cuLaunchKernelEx(const void *config, void *function, void **params, void **extra) { return 0; }
static int nothing(void) { return 0; }

#define CALL(name) if (strcmp(wanted, #name) == 0) *function = (void *)name;

int cuGetProcAddress_v2(const char *wanted, void **function, int version, uint64_t flags, int *status) {
    if (status) *status = 0;
    *function = (void *)nothing;
    if (strcmp(wanted, "cuGetProcAddress") == 0) *function = (void *)cuGetProcAddress_v2;
    CALL(cuGetProcAddress_v2) CALL(cuDriverGetVersion) CALL(cuDeviceGetCount) CALL(cuDeviceGet)
    CALL(cuDeviceGetAttribute) CALL(cuDevicePrimaryCtxRetain) CALL(cuDevicePrimaryCtxGetState) CALL(cuCtxGetCurrent)
    CALL(cuCtxGetId) CALL(cuCtxGetDevice) CALL(cuLibraryLoadData) CALL(cuLibraryGetKernel) CALL(cuKernelGetFunction)
    CALL(cuKernelGetAttribute) CALL(cuLaunchKernelEx)
    return 0;
}
