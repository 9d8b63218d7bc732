// std::common_type and std::underlying_type.
#ifndef _HATCH_COMMON_TYPE_H
#define _HATCH_COMMON_TYPE_H

#include <hatch_cuda_kernels/type_changes.h>

namespace std {

namespace __hatch {

template <class _T, bool = __is_enum(_T)>
struct __underlying {};
template <class _T>
struct __underlying<_T, true> {
    typedef __underlying_type(_T) type;
};

template <class _A, class _B>
using __both = decltype(false ? declval<_A>() : declval<_B>());
template <class _A, class _B, class = void>
struct __common_of_const {};
#if _HATCH_CPP20
template <class _A, class _B>
struct __common_of_const<_A, _B, __hatch_void_t<__both<const _A&, const _B&>>>
    : __same<__bare<__both<const _A&, const _B&>>> {};
#endif
template <class _A, class _B, class = void>
struct __common : __common_of_const<_A, _B> {};
template <class _A, class _B>
struct __common<_A, _B, __hatch_void_t<__both<_A, _B>>> : decay<__both<_A, _B>> {};

}  // namespace __hatch

template <class _T>
struct underlying_type : __hatch::__underlying<_T> {};

template <class... _T>
struct common_type {};

namespace __hatch {

template <class _A, class _B, class _DA = typename decay<_A>::type, class _DB = typename decay<_B>::type>
struct __common_pair : common_type<_DA, _DB> {};  // where it is specialised for the plain types, that counts
template <class _A, class _B>
struct __common_pair<_A, _B, _A, _B> : __common<_A, _B> {};
template <class, class, class...>
struct __common_many {};
template <class _A, class _B, class... _Rest>
struct __common_many<__hatch_void_t<typename common_type<_A, _B>::type>, _A, _B, _Rest...>
    : common_type<typename common_type<_A, _B>::type, _Rest...> {};

}  // namespace __hatch

template <class _T>
struct common_type<_T> : common_type<_T, _T> {};
template <class _A, class _B>
struct common_type<_A, _B> : __hatch::__common_pair<_A, _B> {};
template <class _A, class _B, class _C, class... _Rest>
struct common_type<_A, _B, _C, _Rest...> : __hatch::__common_many<void, _A, _B, _C, _Rest...> {};

template <class _T> using underlying_type_t = typename underlying_type<_T>::type;
template <class... _T> using common_type_t = typename common_type<_T...>::type;

}  // namespace std

#endif
