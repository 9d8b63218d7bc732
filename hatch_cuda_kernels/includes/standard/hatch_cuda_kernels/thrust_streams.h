// What thrust/random/detail/random_core_access.h declares, with marks: the members that it calls are private.
#pragma once

#include <thrust/detail/config.h>

THRUST_NAMESPACE_BEGIN
namespace random {
namespace detail {

struct random_core_access {
    template <class Stream, class Made>
    __host__ __device__ static Stream& stream_out(Stream& to, const Made& made) {
        return made.stream_out(to);
    }
    template <class Stream, class Made>
    __host__ __device__ static Stream& stream_in(Stream& from, Made& made) {
        return made.stream_in(from);
    }
    template <class Made>
    __host__ __device__ static bool equal(const Made& one, const Made& other) {
        return one.equal(other);
    }
};

}  // namespace detail
}  // namespace random
THRUST_NAMESPACE_END
