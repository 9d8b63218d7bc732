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
}  // namespace at

namespace torch {
struct CustomClassHolder {
    unsigned long long _counts[2];
    _HATCH_HD virtual ~CustomClassHolder();
};
namespace jit {
using torch::CustomClassHolder;
}
}  // namespace torch

#endif
