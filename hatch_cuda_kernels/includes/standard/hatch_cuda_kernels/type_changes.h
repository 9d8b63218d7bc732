// <type_traits>, the part that makes one type of another.
#ifndef _HATCH_TYPE_CHANGES_H
#define _HATCH_TYPE_CHANGES_H

#include <hatch_cuda_kernels/scalars.h>

namespace std {

template <class...>
using __hatch_void_t = void;

template <class _T>
struct remove_reference {
    typedef _T type;
};
template <class _T>
struct remove_reference<_T&> {
    typedef _T type;
};
template <class _T>
struct remove_reference<_T&&> {
    typedef _T type;
};

namespace __hatch {

template <class _T>
struct __same {
    typedef _T type;
};
template <class _T>
using __bare = typename remove_cv<typename remove_reference<_T>::type>::type;

template <class _T, class = void>
struct __references {  // void, and functions with const or & behind the brackets: there is no reference to them
    typedef _T __left;
    typedef _T __right;
};
template <class _T>
struct __references<_T, __hatch_void_t<_T&>> {
    typedef _T& __left;
    typedef _T&& __right;
};

}  // namespace __hatch

template <class _T>
struct add_lvalue_reference {
    typedef typename __hatch::__references<_T>::__left type;
};
template <class _T>
struct add_rvalue_reference {
    typedef typename __hatch::__references<_T>::__right type;
};
template <class _T>
_HATCH_HD typename add_rvalue_reference<_T>::type declval() noexcept;

template <class _T>
struct add_const {
    typedef const _T type;
};
template <class _T>
struct add_volatile {
    typedef volatile _T type;
};
template <class _T>
struct add_cv {
    typedef const volatile _T type;
};

namespace __hatch {

template <class _T, class = void>
struct __pointer_to {
    typedef _T type;
};
template <class _T>
struct __pointer_to<_T, __hatch_void_t<typename remove_reference<_T>::type*>> {
    typedef typename remove_reference<_T>::type* type;
};

}  // namespace __hatch

template <class _T>
struct add_pointer : __hatch::__pointer_to<_T> {};
template <class _T>
struct remove_pointer {
    typedef _T type;
};
template <class _T>
struct remove_pointer<_T*> {
    typedef _T type;
};
template <class _T>
struct remove_pointer<_T* const> {
    typedef _T type;
};
template <class _T>
struct remove_pointer<_T* volatile> {
    typedef _T type;
};
template <class _T>
struct remove_pointer<_T* const volatile> {
    typedef _T type;
};

template <class _T>
struct remove_extent {
    typedef _T type;
};
template <class _T>
struct remove_extent<_T[]> {
    typedef _T type;
};
template <class _T, size_t _N>
struct remove_extent<_T[_N]> {
    typedef _T type;
};
template <class _T>
struct remove_all_extents {
    typedef _T type;
};
template <class _T>
struct remove_all_extents<_T[]> : remove_all_extents<_T> {};
template <class _T, size_t _N>
struct remove_all_extents<_T[_N]> : remove_all_extents<_T> {};

namespace __hatch {

template <class _T, bool _Function = __is_function(_T)>
struct __decayed : remove_cv<_T> {};
template <class _T>
struct __decayed<_T, true> : add_pointer<_T> {};
template <class _T>
struct __decayed<_T[], false> : add_pointer<_T> {};
template <class _T, size_t _N>
struct __decayed<_T[_N], false> : add_pointer<_T> {};

}  // namespace __hatch

template <class _T>
struct decay : __hatch::__decayed<typename remove_reference<_T>::type> {};

namespace __hatch {

template <class _From, class _To>
struct __copy_cv : __same<_To> {};
template <class _From, class _To>
struct __copy_cv<const _From, _To> : __same<const _To> {};
template <class _From, class _To>
struct __copy_cv<volatile _From, _To> : __same<volatile _To> {};
template <class _From, class _To>
struct __copy_cv<const volatile _From, _To> : __same<const volatile _To> {};

template <size_t _Size>
struct __of_size;
template <>
struct __of_size<1> {
    typedef signed char __with_sign;
    typedef unsigned char __without_sign;
};
template <>
struct __of_size<2> {
    typedef short __with_sign;
    typedef unsigned short __without_sign;
};
template <>
struct __of_size<4> {
    typedef int __with_sign;
    typedef unsigned int __without_sign;
};
template <>
struct __of_size<8> {
    typedef long long __with_sign;
    typedef unsigned long long __without_sign;
};
#ifdef __CUDACC_RTC_INT128__
template <>
struct __of_size<16> {
    typedef __int128 __with_sign;
    typedef unsigned __int128 __without_sign;
};
#endif

template <class _T>
struct __signs : __of_size<sizeof(_T)> {};  // characters and enumerations
#define _HATCH_SIGNS(...)                  \
    template <>                            \
    struct __signs<signed __VA_ARGS__> {   \
        typedef signed __VA_ARGS__ __with_sign; \
        typedef unsigned __VA_ARGS__ __without_sign; \
    };                                     \
    template <>                            \
    struct __signs<unsigned __VA_ARGS__> : __signs<signed __VA_ARGS__> {};
_HATCH_SIGNS(int)
_HATCH_SIGNS(long)
_HATCH_SIGNS(long long)
#undef _HATCH_SIGNS

}  // namespace __hatch

template <class _T>
struct make_signed : __hatch::__copy_cv<_T, typename __hatch::__signs<typename remove_cv<_T>::type>::__with_sign> {};
template <class _T>
struct make_unsigned
    : __hatch::__copy_cv<_T, typename __hatch::__signs<typename remove_cv<_T>::type>::__without_sign> {};

template <class _T> using remove_const_t = typename remove_const<_T>::type;
template <class _T> using remove_volatile_t = typename remove_volatile<_T>::type;
template <class _T> using remove_cv_t = typename remove_cv<_T>::type;
template <class _T> using remove_reference_t = typename remove_reference<_T>::type;
template <class _T> using add_lvalue_reference_t = typename add_lvalue_reference<_T>::type;
template <class _T> using add_rvalue_reference_t = typename add_rvalue_reference<_T>::type;
template <class _T> using add_const_t = typename add_const<_T>::type;
template <class _T> using add_volatile_t = typename add_volatile<_T>::type;
template <class _T> using add_cv_t = typename add_cv<_T>::type;
template <class _T> using add_pointer_t = typename add_pointer<_T>::type;
template <class _T> using remove_pointer_t = typename remove_pointer<_T>::type;
template <class _T> using remove_extent_t = typename remove_extent<_T>::type;
template <class _T> using remove_all_extents_t = typename remove_all_extents<_T>::type;
template <class _T> using decay_t = typename decay<_T>::type;
template <class _T> using make_signed_t = typename make_signed<_T>::type;
template <class _T> using make_unsigned_t = typename make_unsigned<_T>::type;

#if _HATCH_CPP17
template <class... _T> using void_t = __hatch_void_t<_T...>;
#endif
#if _HATCH_CPP20
template <class _T> struct type_identity : __hatch::__same<_T> {};
template <class _T> using type_identity_t = typename type_identity<_T>::type;
template <class _T> struct remove_cvref : __hatch::__same<__hatch::__bare<_T>> {};
template <class _T> using remove_cvref_t = __hatch::__bare<_T>;
#endif

}  // namespace std

#endif
