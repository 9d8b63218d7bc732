// The compiled launcher of launch_tvm.py: nine tensors, checked as tvm-ffi's examples check theirs.
#define TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API 1
#include <cuda.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/string.h>

namespace ffi = tvm::ffi;

static ffi::CubinModule* module;
static ffi::CubinKernel* kernel;

void Load(ffi::Bytes cubin) {
  module = new ffi::CubinModule(cubin);
  kernel = new ffi::CubinKernel(module->GetKernel("nine"));
}

static void* Address(const ffi::TensorView& tensor, DLDevice device) {
  TVM_FFI_CHECK(tensor.device().device_type == device.device_type && tensor.device().device_id == device.device_id,
                ValueError) << "another device";
  DLDataType dtype = tensor.dtype();
  TVM_FFI_CHECK(dtype.code == kDLFloat && dtype.bits == 32 && dtype.lanes == 1, TypeError) << "not float32";
  return tensor.data_ptr();
}

void Launch(ffi::TensorView a, ffi::TensorView b, ffi::TensorView c, ffi::TensorView d, ffi::TensorView e,
            ffi::TensorView f, ffi::TensorView g, ffi::TensorView h, ffi::TensorView i, int64_t n) {
  DLDevice device = a.device();
  void* at[] = {Address(a, device), Address(b, device), Address(c, device), Address(d, device), Address(e, device),
                Address(f, device), Address(g, device), Address(h, device), Address(i, device)};
  int count = static_cast<int>(n);
  void* args[] = {&at[0], &at[1], &at[2], &at[3], &at[4], &at[5], &at[6], &at[7], &at[8], &count};
  auto stream = static_cast<ffi::cuda_api::StreamHandle>(TVMFFIEnvGetStream(device.device_type, device.device_id));
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(kernel->Launch(args, ffi::dim3(4), ffi::dim3(256), stream));
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(load, Load);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(launch, Launch);
