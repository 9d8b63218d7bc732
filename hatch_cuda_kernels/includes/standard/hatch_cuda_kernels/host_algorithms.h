// <algorithm>, the part that only is declared: a kernel that calls one of these does not link.
#ifndef _HATCH_HOST_ALGORITHMS_H
#define _HATCH_HOST_ALGORITHMS_H

#include <hatch_cuda_kernels/pair.h>

namespace std {

#define _HATCH_OF(...) template <__VA_ARGS__> _HATCH_HD
_HATCH_OF(class _It, class _E) void shuffle(_It, _It, _E&&);
_HATCH_OF(class _It) void random_shuffle(_It, _It);
_HATCH_OF(class _It, class _E) void random_shuffle(_It, _It, _E&&);
_HATCH_OF(class _It, class _Out, class _N, class _E) _Out sample(_It, _It, _Out, _N, _E&&);
_HATCH_OF(class _It, class _F) _It stable_partition(_It, _It, _F);
_HATCH_OF(class _It, class _F) _It partition_point(_It, _It, _F);
_HATCH_OF(class _It, class _Out, class _P, class _F) pair<_Out, _P> partition_copy(_It, _It, _Out, _P, _F);
_HATCH_OF(class _It, class _F) bool is_partitioned(_It, _It, _F);
_HATCH_OF(class _It, class _Out) _Out unique_copy(_It, _It, _Out);
_HATCH_OF(class _It, class _Out, class _F) _Out unique_copy(_It, _It, _Out, _F);
_HATCH_OF(class _It, class _Out) _Out rotate_copy(_It, _It, _It, _Out);
_HATCH_OF(class _It, class _Out, class _T) _Out remove_copy(_It, _It, _Out, const _T&);
_HATCH_OF(class _It, class _Out, class _F) _Out remove_copy_if(_It, _It, _Out, _F);
_HATCH_OF(class _It, class _Out, class _T) _Out replace_copy(_It, _It, _Out, const _T&, const _T&);
_HATCH_OF(class _It, class _Out, class _F, class _T) _Out replace_copy_if(_It, _It, _Out, _F, const _T&);
_HATCH_OF(class _It, class _Out) _Out partial_sort_copy(_It, _It, _Out, _Out);
_HATCH_OF(class _It, class _Out, class _F) _Out partial_sort_copy(_It, _It, _Out, _Out, _F);
_HATCH_OF(class _It) bool prev_permutation(_It, _It);
_HATCH_OF(class _It, class _F) bool prev_permutation(_It, _It, _F);
_HATCH_OF(class _It) _It is_sorted_until(_It, _It);
_HATCH_OF(class _It, class _F) _It is_sorted_until(_It, _It, _F);
_HATCH_OF(class _It) bool is_heap(_It, _It);
_HATCH_OF(class _It, class _F) bool is_heap(_It, _It, _F);
_HATCH_OF(class _It) _It is_heap_until(_It, _It);
_HATCH_OF(class _It, class _F) _It is_heap_until(_It, _It, _F);
_HATCH_OF(class _It) void inplace_merge(_It, _It, _It);
_HATCH_OF(class _It, class _F) void inplace_merge(_It, _It, _It, _F);
_HATCH_OF(class _It, class _N, class _T) _It search_n(_It, _It, _N, const _T&);
_HATCH_OF(class _It, class _N, class _T, class _F) _It search_n(_It, _It, _N, const _T&, _F);
_HATCH_OF(class _A, class _B) _A find_end(_A, _A, _B, _B);
_HATCH_OF(class _A, class _B, class _F) _A find_end(_A, _A, _B, _B, _F);
_HATCH_OF(class _A, class _B) _A find_first_of(_A, _A, _B, _B);
_HATCH_OF(class _A, class _B, class _F) _A find_first_of(_A, _A, _B, _B, _F);
_HATCH_OF(class _A, class _B) bool includes(_A, _A, _B, _B);
_HATCH_OF(class _A, class _B, class _F) bool includes(_A, _A, _B, _B, _F);
_HATCH_OF(class _A, class _B) bool is_permutation(_A, _A, _B);
_HATCH_OF(class _A, class _B, class... _X) bool is_permutation(_A, _A, _B, _X...);
#define _HATCH_SETS(name)                                                               \
    _HATCH_OF(class _A, class _B, class _Out) _Out name(_A, _A, _B, _B, _Out);          \
    _HATCH_OF(class _A, class _B, class _Out, class _F) _Out name(_A, _A, _B, _B, _Out, _F);
_HATCH_SETS(set_union)
_HATCH_SETS(set_intersection)
_HATCH_SETS(set_difference)
_HATCH_SETS(set_symmetric_difference)
#undef _HATCH_SETS
#undef _HATCH_OF

}  // namespace std

#endif
