// Torch's layout of a tensor of any rank, as a kernel takes it, and where in it an element lies. What makes one is the
// host's.
#ifndef _HATCH_TORCH_TENSOR_INFO_H
#define _HATCH_TORCH_TENSOR_INFO_H

#include <hatch_cuda_kernels/torch_namespaces.h>

#define MAX_TENSORINFO_DIMS 25

namespace at {
namespace cuda {
namespace detail {

constexpr int CUDA_NUM_THREADS = 1024;

template <class _T, class _I>
struct TensorInfo {
    _HATCH_HD TensorInfo();
    _HATCH_HD TensorInfo(_T*, int, _I[MAX_TENSORINFO_DIMS], _I[MAX_TENSORINFO_DIMS]);
    _HATCH_HD void reduceDim(int);
    _HATCH_HD int collapseDims(const int = -1);
    _HATCH_HD inline bool isContiguous() const { return dims == 1 && strides[0] == 1; }

    _T* data;
    _I sizes[MAX_TENSORINFO_DIMS];
    _I strides[MAX_TENSORINFO_DIMS];
    int dims;
};

// Of a known rank, or with -1 of the tensor's own.
template <class _T, class _I, int _rank>
struct IndexToOffset {
    static inline _HATCH_HD _I get(_I __index, const TensorInfo<_T, _I>& __info) {
        _I __offset = 0;
        for (int __i = (_rank == -1 ? __info.dims : _rank) - 1; __i > 0; --__i) {
            __offset += __index % __info.sizes[__i] * __info.strides[__i];
            __index /= __info.sizes[__i];
        }
        return __offset + __index * __info.strides[0];
    }
};

}  // namespace detail
}  // namespace cuda
}  // namespace at

#endif
