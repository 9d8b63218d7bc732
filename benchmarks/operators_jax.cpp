// The kernel of operators_jax.py behind a handler in C++, as a library with compiled code would have it.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

using Function = void*;
using Library = void*;
using Stream = void*;

struct Driver {
    int (*load)(Library*, const char*, void*, void*, unsigned, void*, void*, unsigned);
    int (*kernel)(Function*, Library, const char*);
    int (*launch)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**);
    Function scale = nullptr;

    Driver() {
        void* library = dlopen("libcuda.so.1", RTLD_NOW);
        load = reinterpret_cast<decltype(load)>(dlsym(library, "cuLibraryLoadFromFile"));
        kernel = reinterpret_cast<decltype(kernel)>(dlsym(library, "cuLibraryGetKernel"));
        launch = reinterpret_cast<decltype(launch)>(dlsym(library, "cuLaunchKernel"));
        Library image = nullptr;
        if (load(&image, std::getenv("SCALE_CUBIN"), nullptr, nullptr, 0, nullptr, nullptr, 0) != 0 ||
            kernel(&scale, image, "scale") != 0) {
            std::fprintf(stderr, "cannot load %s\n", std::getenv("SCALE_CUBIN"));
            std::abort();
        }
    }
};

ffi::Error OnDevice(Stream stream, ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y, int64_t n, float a) {
    static Driver driver;
    void *to = y->untyped_data(), *from = x.untyped_data();
    void* arguments[] = {&to, &from, &n, &a};
    unsigned grid = static_cast<unsigned>((n + 255) / 256);
    int status = driver.launch(driver.scale, grid, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr);
    return status == 0 ? ffi::Error::Success() : ffi::Error::Internal("launch failed: " + std::to_string(status));
}

ffi::Error OnHost(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y, int64_t n, float a) {
    for (int64_t i = 0; i < n; i++) y->typed_data()[i] = a * x.typed_data()[i];
    return ffi::Error::Success();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(ScaleOnDevice, OnDevice,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<Stream>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>()
                                  .Attr<int64_t>("n")
                                  .Attr<float>("a"),
                              {ffi::Traits::kCmdBufferCompatible});

XLA_FFI_DEFINE_HANDLER_SYMBOL(ScaleOnHost, OnHost,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>()
                                  .Attr<int64_t>("n")
                                  .Attr<float>("a"));

// What stands for the driver's launch on a machine without one.
extern "C" int launch_on_host(const void*, void*, void** arguments, void**) {
    float *y = *static_cast<float**>(arguments[0]), *x = *static_cast<float**>(arguments[1]);
    int64_t n = *static_cast<int64_t*>(arguments[2]);
    float a = *static_cast<float*>(arguments[3]);
    for (int64_t i = 0; i < n; i++) y[i] = a * x[i];
    return 0;
}
