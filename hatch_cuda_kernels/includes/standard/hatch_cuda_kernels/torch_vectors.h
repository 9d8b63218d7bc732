// Torch's vectors of numbers, as long as one load takes.
#ifndef _HATCH_TORCH_VECTORS_H
#define _HATCH_TORCH_VECTORS_H

#include <hatch_cuda_kernels/torch_namespaces.h>

namespace at {
namespace native {
namespace memory {

template <class _T, int _size>
struct alignas(sizeof(_T) * _size) aligned_vector {
    _T val[_size];
};

}  // namespace memory
}  // namespace native
}  // namespace at

#endif
