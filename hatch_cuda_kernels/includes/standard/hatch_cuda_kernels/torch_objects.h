// Torch's objects, which are the host's, for classes that have one as a member or as their base: nothing is defined.
#ifndef _HATCH_TORCH_OBJECTS_H
#define _HATCH_TORCH_OBJECTS_H

#include <hatch_cuda_kernels/torch_namespaces.h>
#include <optional>

namespace c10 {
using std::optional;

template <class _T>
class intrusive_ptr {
    _T* _p;

   public:
    _HATCH_HD intrusive_ptr();
    _HATCH_HD intrusive_ptr(const intrusive_ptr&);
    _HATCH_HD intrusive_ptr& operator=(const intrusive_ptr&);
    _HATCH_HD ~intrusive_ptr();
};
template <class _T>
class ArrayRef;
template <class _T>
class List;
}  // namespace c10

namespace at {
class Tensor {
    void* _p;

   public:
    _HATCH_HD Tensor();
    _HATCH_HD Tensor(const Tensor&);
    _HATCH_HD Tensor& operator=(const Tensor&);
    _HATCH_HD ~Tensor();
};
using c10::ArrayRef;
using TensorList = c10::ArrayRef<Tensor>;
}  // namespace at

namespace c10 {
namespace cuda {
class CUDAStream {
    long long _id[2];

   public:
    CUDAStream() = delete;
};
}  // namespace cuda
}  // namespace c10
namespace at {
namespace cuda {
using c10::cuda::CUDAStream;
}
}  // namespace at

namespace torch {
namespace autograd {
template <class _T>
struct Function {};
}  // namespace autograd
struct CustomClassHolder {
    unsigned long long _counts;  // of 32 bits each; in older releases, of 64
    _HATCH_HD virtual ~CustomClassHolder();
};
namespace jit {
using torch::CustomClassHolder;
}
}  // namespace torch

#endif
