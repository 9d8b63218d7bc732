// What can be called, and with what result: std::invoke, and the traits about it.
#ifndef _HATCH_CALLABLES_H
#define _HATCH_CALLABLES_H

#include <hatch_cuda_kernels/type_changes.h>

namespace std {

template <class _T>
class reference_wrapper;

namespace __hatch {

template <class _T>
_HATCH_HD constexpr _T&& __pass(typename remove_reference<_T>::type& __x) noexcept {
    return static_cast<_T&&>(__x);
}

template <class _C, class _T>
struct __is_of : integral_constant<bool, __is_base_of(_C, __bare<_T>)> {};
template <class _C>
struct __is_of<_C, _C> : true_type {};

// The object a pointer to member is used on: given as itself, behind a pointer, or behind a reference_wrapper.
template <class _C, class _T, class = typename enable_if<__is_of<_C, __bare<_T>>::value>::type>
_HATCH_HD constexpr _T&& __object(_T&& __x) noexcept {
    return static_cast<_T&&>(__x);
}
template <class _C, class _T, class = typename enable_if<!__is_of<_C, __bare<_T>>::value>::type, class = void>
_HATCH_HD constexpr auto __object(_T&& __x) -> decltype(*__hatch::__pass<_T>(__x)) {
    return *__hatch::__pass<_T>(__x);
}
template <class _C, class _T>
_HATCH_HD constexpr _T& __object(reference_wrapper<_T> __x) noexcept {
    return __x.get();
}

template <class _F, class... _A>
_HATCH_HD constexpr auto __call(_F&& __f, _A&&... __a) noexcept(
    noexcept(__hatch::__pass<_F>(__f)(__hatch::__pass<_A>(__a)...)))
    -> decltype(__hatch::__pass<_F>(__f)(__hatch::__pass<_A>(__a)...)) {
    return __hatch::__pass<_F>(__f)(__hatch::__pass<_A>(__a)...);
}
template <class _M, class _C, class _T, class... _A, class = typename enable_if<__is_function(_M)>::type>
_HATCH_HD constexpr auto __call(_M _C::*__m, _T&& __x, _A&&... __a)
    -> decltype((__hatch::__object<_C>(__hatch::__pass<_T>(__x)).*__m)(__hatch::__pass<_A>(__a)...)) {
    return (__hatch::__object<_C>(__hatch::__pass<_T>(__x)).*__m)(__hatch::__pass<_A>(__a)...);
}
template <class _M, class _C, class _T, class = typename enable_if<!__is_function(_M)>::type>
_HATCH_HD constexpr auto __call(_M _C::*__m, _T&& __x) noexcept
    -> decltype((__hatch::__object<_C>(__hatch::__pass<_T>(__x)).*__m)) {
    return (__hatch::__object<_C>(__hatch::__pass<_T>(__x)).*__m);
}

template <class _Void, class _F, class... _A>
struct __result {
    static constexpr bool __ok = false;
    static constexpr bool __nothrow = false;
};
template <class _F, class... _A>
struct __result<__hatch_void_t<decltype(__hatch::__call(declval<_F>(), declval<_A>()...))>, _F, _A...> {
    typedef decltype(__hatch::__call(declval<_F>(), declval<_A>()...)) type;
    static constexpr bool __ok = true;
    static constexpr bool __nothrow = noexcept(__hatch::__call(declval<_F>(), declval<_A>()...));
};

template <class _Result, class _R, bool = _Result::__ok>
struct __gives : false_type {};
template <class _Result, class _R>
struct __gives<_Result, _R, true>
    : integral_constant<bool, __is_convertible_to(typename _Result::type, _R) || __is_convertible_to(_R, void)> {};

}  // namespace __hatch

template <class _Call>
struct result_of;
template <class _F, class... _A>
struct result_of<_F(_A...)> : __hatch::__result<void, _F, _A...> {};
template <class _Call>
using result_of_t = typename result_of<_Call>::type;

#if _HATCH_CPP17
template <class _F, class... _A>
struct invoke_result : __hatch::__result<void, _F, _A...> {};
template <class _F, class... _A>
using invoke_result_t = typename invoke_result<_F, _A...>::type;

template <class _F, class... _A>
struct is_invocable : integral_constant<bool, __hatch::__result<void, _F, _A...>::__ok> {};
template <class _F, class... _A>
struct is_nothrow_invocable : integral_constant<bool, __hatch::__result<void, _F, _A...>::__nothrow> {};
template <class _R, class _F, class... _A>
struct is_invocable_r : __hatch::__gives<__hatch::__result<void, _F, _A...>, _R> {};
template <class _R, class _F, class... _A>
struct is_nothrow_invocable_r
    : integral_constant<bool, is_invocable_r<_R, _F, _A...>::value && is_nothrow_invocable<_F, _A...>::value> {};
template <class _F, class... _A>
inline constexpr bool is_invocable_v = is_invocable<_F, _A...>::value;
template <class _F, class... _A>
inline constexpr bool is_nothrow_invocable_v = is_nothrow_invocable<_F, _A...>::value;
template <class _R, class _F, class... _A>
inline constexpr bool is_invocable_r_v = is_invocable_r<_R, _F, _A...>::value;
template <class _R, class _F, class... _A>
inline constexpr bool is_nothrow_invocable_r_v = is_nothrow_invocable_r<_R, _F, _A...>::value;

template <class _F, class... _A>
_HATCH_HD constexpr invoke_result_t<_F, _A...> invoke(_F&& __f, _A&&... __a) {
    return __hatch::__call(__hatch::__pass<_F>(__f), __hatch::__pass<_A>(__a)...);
}
#endif

}  // namespace std

#endif
