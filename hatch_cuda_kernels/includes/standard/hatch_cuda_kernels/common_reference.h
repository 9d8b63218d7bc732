// std::common_reference; libstdc++ 12 specialises std::basic_common_reference for no class.
#ifndef _HATCH_COMMON_REFERENCE_H
#define _HATCH_COMMON_REFERENCE_H

#include <hatch_cuda_kernels/common_type.h>

#if _HATCH_CPP20
namespace std {

template <class, class, template <class> class, template <class> class>
struct basic_common_reference {};
template <class... _T>
struct common_reference {};
template <class... _T> using common_reference_t = typename common_reference<_T...>::type;

namespace __hatch {

template <class _A, class _B>
using __chosen = decltype(false ? declval<_A (&)()>()() : declval<_B (&)()>()());
template <class _A, class _B>
using __chosen_left = __chosen<typename __copy_cv<_A, _B>::type&, typename __copy_cv<_B, _A>::type&>;

template <class _A, class _B>
struct __shared_reference {};
template <class _A, class _B>
    requires is_reference_v<__chosen_left<_A, _B>>
struct __shared_reference<_A&, _B&> : __same<__chosen_left<_A, _B>> {};
template <class _A, class _B>
using __shared_right = remove_reference_t<typename __shared_reference<_A&, _B&>::type>&&;
template <class _A, class _B>
    requires is_convertible_v<_A&&, __shared_right<_A, _B>> && is_convertible_v<_B&&, __shared_right<_A, _B>>
struct __shared_reference<_A&&, _B&&> : __same<__shared_right<_A, _B>> {};
template <class _A, class _B>
    requires is_convertible_v<_A&&, typename __shared_reference<const _A&, _B&>::type>
struct __shared_reference<_A&&, _B&> : __shared_reference<const _A&, _B&> {};
template <class _A, class _B>
struct __shared_reference<_A&, _B&&> : __shared_reference<_B&&, _A&> {};

template <class _From>
struct __qualified_as {
    template <class _T> using __of = typename __copy_cv<_From, _T>::type;
};
template <class _From>
struct __qualified_as<_From&> {
    template <class _T> using __of = typename __copy_cv<_From, _T>::type&;
};
template <class _From>
struct __qualified_as<_From&&> {
    template <class _T> using __of = typename __copy_cv<_From, _T>::type&&;
};
template <class _A, class _B>
using __basic_reference = typename basic_common_reference<__bare<_A>, __bare<_B>, __qualified_as<_A>::template __of,
                                                          __qualified_as<_B>::template __of>::type;

template <class _A, class _B>
struct __plain_reference : common_type<_A, _B> {};
template <class _A, class _B>
    requires requires { typename __chosen<_A, _B>; }
struct __plain_reference<_A, _B> : __same<__chosen<_A, _B>> {};
template <class _A, class _B>
struct __other_reference : __plain_reference<_A, _B> {};
template <class _A, class _B>
    requires requires { typename __basic_reference<_A, _B>; }
struct __other_reference<_A, _B> : __same<__basic_reference<_A, _B>> {};
template <class _A, class _B>
struct __two_references : __other_reference<_A, _B> {};
template <class _A, class _B>
    requires requires { typename __shared_reference<_A, _B>::type; }
struct __two_references<_A, _B> : __shared_reference<_A, _B> {};

}  // namespace __hatch

template <class _A>
struct common_reference<_A> : __hatch::__same<_A> {};
template <class _A, class _B>
struct common_reference<_A, _B> : __hatch::__two_references<_A, _B> {};
template <class _A, class _B, class _C, class... _Rest>
    requires requires { typename common_reference_t<_A, _B>; }
struct common_reference<_A, _B, _C, _Rest...> : common_reference<common_reference_t<_A, _B>, _C, _Rest...> {};

}  // namespace std
#endif

#endif
