// The benchmark's kernel as operators of a C++ extension, built by nvcc: the same schemas as ours.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include "operators_torch_kernel.cuh"

void saxpy_cuda(at::Tensor y, const at::Tensor& x, int64_t n, double a) {
    TORCH_CHECK(y.is_contiguous() && x.is_contiguous(), "tensors must be contiguous");
    TORCH_CHECK(y.scalar_type() == at::kFloat && x.scalar_type() == at::kFloat, "tensors must be float32");
    saxpy<<<(n + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
        y.mutable_data_ptr<float>(), x.const_data_ptr<float>(), n, static_cast<float>(a));
}

at::Tensor cube_cuda(const at::Tensor& x, int64_t n) {
    TORCH_CHECK(x.is_contiguous() && x.scalar_type() == at::kFloat, "x must be contiguous and float32");
    at::Tensor y = at::empty_like(x);
    cube<<<(n + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
        y.mutable_data_ptr<float>(), x.const_data_ptr<float>(), n);
    return y;
}

TORCH_LIBRARY(operators_extension, library) {
    library.def("saxpy(Tensor(a!) y, Tensor x, SymInt n, float a) -> ()");
    library.def("cube(Tensor x, SymInt n) -> Tensor");
}

TORCH_LIBRARY_IMPL(operators_extension, CUDA, library) {
    library.impl("saxpy", saxpy_cuda);
    library.impl("cube", cube_cuda);
}
