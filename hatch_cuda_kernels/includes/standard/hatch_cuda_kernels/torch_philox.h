// The state of Torch's generator, which the host gives a kernel, as Torch has it since offset_intragraph_ has 64 bits: 32
// bytes. Before that, it has 24; a kernel that is given as many is refused where it is launched.
#ifndef _HATCH_TORCH_PHILOX_H
#define _HATCH_TORCH_PHILOX_H

#include <hatch_cuda_kernels/torch_namespaces.h>
#include <tuple>

namespace at {

struct PhiloxCudaState {
    union Payload {
        uint64_t val;
        int64_t* ptr;
    };

    PhiloxCudaState() = default;
    _HATCH_HD PhiloxCudaState(uint64_t __seed, uint64_t __offset);
    _HATCH_HD PhiloxCudaState(int64_t* __seed, int64_t* __offset, uint64_t __added);

    Payload seed_{};
    Payload offset_{};
    uint64_t offset_intragraph_ = 0;
    bool captured_ = false;
};

namespace cuda {
namespace philox {
// Where a graph was captured, the seed and the offset are in memory.
_HATCH_HD __forceinline__ std::tuple<uint64_t, uint64_t> unpack(PhiloxCudaState __state) {
    if (__state.captured_) {
        const uint64_t __offset = *__state.offset_.ptr + __state.offset_intragraph_;
        return std::make_tuple(static_cast<uint64_t>(*__state.seed_.ptr), __offset);
    }
    return std::make_tuple(__state.seed_.val, __state.offset_.val);
}
}  // namespace philox
}  // namespace cuda

}  // namespace at

#endif
