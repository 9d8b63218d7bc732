// std::integer_sequence and how to count one out.
#ifndef _HATCH_INTEGER_SEQUENCE_H
#define _HATCH_INTEGER_SEQUENCE_H

#include <hatch_cuda_kernels/define.h>

namespace std {

template <class _I, _I... _N>
struct integer_sequence {
    typedef _I value_type;
    _HATCH_HD static constexpr size_t size() noexcept { return sizeof...(_N); }
};
template <size_t... _N>
using index_sequence = integer_sequence<size_t, _N...>;

namespace __hatch {

template <class _A, class _B>
struct __joined;
template <class _I, _I... _A, _I... _B>
struct __joined<integer_sequence<_I, _A...>, integer_sequence<_I, _B...>> {
    typedef integer_sequence<_I, _A..., (_I(sizeof...(_A)) + _B)...> type;
};
template <class _I, size_t _N>
struct __counted : __joined<typename __counted<_I, _N / 2>::type, typename __counted<_I, _N - _N / 2>::type> {};
template <class _I>
struct __counted<_I, 0> {
    typedef integer_sequence<_I> type;
};
template <class _I>
struct __counted<_I, 1> {
    typedef integer_sequence<_I, 0> type;
};

}  // namespace __hatch

template <class _I, _I _N>
using make_integer_sequence = typename __hatch::__counted<_I, static_cast<size_t>(_N)>::type;
template <size_t _N>
using make_index_sequence = make_integer_sequence<size_t, _N>;
template <class... _T>
using index_sequence_for = make_index_sequence<sizeof...(_T)>;

}  // namespace std

#endif
