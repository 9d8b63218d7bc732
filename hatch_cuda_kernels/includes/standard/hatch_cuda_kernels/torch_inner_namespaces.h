// Those of Torch's namespaces that a source opens, whether or not it uses what is in them.
#ifndef _HATCH_TORCH_INNER_NAMESPACES_H
#define _HATCH_TORCH_INNER_NAMESPACES_H

#include <hatch_cuda_kernels/torch_namespaces.h>

namespace at {
namespace cuda {
namespace detail {}
}  // namespace cuda
namespace native {}
}  // namespace at

#endif
