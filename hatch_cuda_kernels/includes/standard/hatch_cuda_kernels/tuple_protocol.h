// std::tuple_size and std::tuple_element, which structured bindings ask for and libcu++ specialises for its own types.
#ifndef _HATCH_TUPLE_PROTOCOL_H
#define _HATCH_TUPLE_PROTOCOL_H

#include <hatch_cuda_kernels/cccl_version.h>
#include <type_traits>

namespace std {

#ifdef _HATCH_CCCL_BEFORE_3_2
#define _HATCH_PACK ...  // so it declares them itself, and there can be one declaration only
#else
#define _HATCH_PACK
#endif
template <class _HATCH_PACK _T>
struct tuple_size;
template <size_t _I, class _HATCH_PACK _T>
struct tuple_element;
#undef _HATCH_PACK

template <size_t _I, class _T>
using tuple_element_t = typename tuple_element<_I, _T>::type;
#if _HATCH_CPP17
template <class _T>
inline constexpr size_t tuple_size_v = tuple_size<_T>::value;
#endif

// Our types have these for themselves and for const, each: for all const types at once, libcu++ has them since 3.2.
namespace __hatch {

template <size_t _I, class... _T>
struct __nth {
    static_assert(sizeof...(_T) != 0, "there is no element of this index");
};
template <class _T, class... _Rest>
struct __nth<0, _T, _Rest...> {
    typedef _T type;
};
template <size_t _I, class _T, class... _Rest>
struct __nth<_I, _T, _Rest...> : __nth<_I - 1, _Rest...> {};

}  // namespace __hatch

}  // namespace std

#endif
