// What each of Torch's namespaces has of the others.
#ifndef _HATCH_TORCH_NAMESPACES_H
#define _HATCH_TORCH_NAMESPACES_H

#include <hatch_cuda_kernels/define.h>
#include <stdint.h>

namespace c10 {}
namespace at {
using namespace c10;
}
namespace torch {
using namespace at;
}

#endif
