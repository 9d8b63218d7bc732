// std::in_place: make the value where it stays.
#ifndef _HATCH_IN_PLACE_H
#define _HATCH_IN_PLACE_H

#include <hatch_cuda_kernels/define.h>

#if _HATCH_CPP17
namespace std {

struct in_place_t {
    explicit in_place_t() = default;
};
inline constexpr in_place_t in_place{};
template <class _T>
struct in_place_type_t {
    explicit in_place_type_t() = default;
};
template <class _T>
inline constexpr in_place_type_t<_T> in_place_type{};
template <size_t _I>
struct in_place_index_t {
    explicit in_place_index_t() = default;
};
template <size_t _I>
inline constexpr in_place_index_t<_I> in_place_index{};

}  // namespace std
#endif

#endif
