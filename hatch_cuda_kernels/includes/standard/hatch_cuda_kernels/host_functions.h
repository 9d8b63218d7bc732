// <functional>, the part about what keeps a function of the host's: std::function, std::bind.
#ifndef _HATCH_HOST_FUNCTIONS_H
#define _HATCH_HOST_FUNCTIONS_H

#include <exception>
#include <hatch_cuda_kernels/callables.h>
#include <hatch_cuda_kernels/host_classes.h>
#include <type_traits>

namespace std {

class bad_function_call : public exception {
   public:
    _HATCH_HD const char* what() const noexcept override { return "bad_function_call"; }
};

template <class _A, class _R>
struct unary_function {
    typedef _A argument_type;
    typedef _R result_type;
};
template <class _A, class _B, class _R>
struct binary_function {
    typedef _A first_argument_type;
    typedef _B second_argument_type;
    typedef _R result_type;
};
namespace __hatch {
template <class _R, class... _X>
struct __function_types {};
template <class _R, class _A>
struct __function_types<_R, _A> : unary_function<_A, _R> {};
template <class _R, class _A, class _B>
struct __function_types<_R, _A, _B> : binary_function<_A, _B, _R> {};
struct __function_held {
    _HATCH_BYTES(24);
};
}  // namespace __hatch

template <class _Signature>
class function;
template <class _R, class... _X>
class function<_R(_X...)> : public __hatch::__function_types<_R, _X...>, private __hatch::__function_held {
    template <class _F>
    using __if_called = enable_if_t<!is_same<__hatch::__bare<_F>, function>::value &&
                                    __hatch::__gives<__hatch::__result<void, decay_t<_F>&, _X...>, _R>::value>;

   public:
    typedef _R result_type;
    _HATCH_HD function() noexcept;
    _HATCH_HD function(decltype(nullptr)) noexcept;
    _HATCH_COPIED(function);
    template <class _F, class = __if_called<_F>>
    _HATCH_HD function(_F&&);
    _HATCH_HD function& operator=(function&&) noexcept;
    _HATCH_HD function& operator=(decltype(nullptr)) noexcept;
    template <class _F, class = __if_called<_F>>
    _HATCH_HD function& operator=(_F&&);
    _HATCH_HD void swap(function&) noexcept;
    _HATCH_HD explicit operator bool() const noexcept;
    _HATCH_HD _R operator()(_X...) const;
    template <class _F>
    _HATCH_HD _F* target() noexcept;
    template <class _F>
    _HATCH_HD const _F* target() const noexcept;

   private:
    void* __invoked;
};
#define _HATCH_COMPARED(op)                                                          \
    template <class _R, class... _X>                                                 \
    _HATCH_HD bool operator op(const function<_R(_X...)>&, decltype(nullptr)) noexcept; \
    template <class _R, class... _X>                                                 \
    _HATCH_HD bool operator op(decltype(nullptr), const function<_R(_X...)>&) noexcept;
_HATCH_COMPARED(==)
_HATCH_COMPARED(!=)
#undef _HATCH_COMPARED
#if _HATCH_CPP17
template <class _R, class... _X>
function(_R (*)(_X...)) -> function<_R(_X...)>;
namespace __hatch {
template <class _M>
struct __signature;
#define _HATCH_SIGNATURE(...)                                \
    template <class _R, class _F, class... _X>               \
    struct __signature<_R (_F::*)(_X...) __VA_ARGS__> {      \
        typedef _R type(_X...);                              \
    };
_HATCH_SIGNATURE()
_HATCH_SIGNATURE(const)
_HATCH_SIGNATURE(noexcept)
_HATCH_SIGNATURE(const noexcept)
#undef _HATCH_SIGNATURE
}  // namespace __hatch
template <class _F>
function(_F) -> function<typename __hatch::__signature<decltype(&_F::operator())>::type>;
#endif

namespace __hatch {

// What bind() returns: its result is that of the function, where one can be told from its type.
template <class _F>
struct __bound_result {
    struct __any {
        template <class _T>
        _HATCH_HD operator _T() const;
    };
    typedef __any type;
};
template <class _R, class... _X>
struct __bound_result<_R (*)(_X...)> {
    typedef _R type;
};
template <class _R, class _C, class... _X>
struct __bound_result<_R (_C::*)(_X...)> {
    typedef _R type;
};
template <class _R, class _C, class... _X>
struct __bound_result<_R (_C::*)(_X...) const> {
    typedef _R type;
};
template <class _R, class... _X>
struct __bound_result<function<_R(_X...)>> {
    typedef _R type;
};
template <class _R, class _F, class... _X>
class __bound {
   public:
    typedef _R result_type;
    template <class... _Y>
    _HATCH_HD _R operator()(_Y&&...);
    template <class... _Y>
    _HATCH_HD _R operator()(_Y&&...) const;

   private:
    char __held[sizeof(_F) + sizeof...(_X)];
};
template <int _N>
struct __placeholder {};

}  // namespace __hatch

template <class _F, class... _X>
_HATCH_HD __hatch::__bound<typename __hatch::__bound_result<decay_t<_F>>::type, decay_t<_F>, decay_t<_X>...> bind(_F&&, _X&&...);
template <class _R, class _F, class... _X>
_HATCH_HD __hatch::__bound<_R, decay_t<_F>, decay_t<_X>...> bind(_F&&, _X&&...);

template <class _T>
struct is_bind_expression : false_type {};
template <class _R, class _F, class... _X>
struct is_bind_expression<__hatch::__bound<_R, _F, _X...>> : true_type {};
template <class _T>
struct is_placeholder : integral_constant<int, 0> {};
template <int _N>
struct is_placeholder<__hatch::__placeholder<_N>> : integral_constant<int, _N> {};
#if _HATCH_CPP17
template <class _T>
inline constexpr bool is_bind_expression_v = is_bind_expression<_T>::value;
template <class _T>
inline constexpr int is_placeholder_v = is_placeholder<_T>::value;
#endif
namespace placeholders {
#define _HATCH_PLACEHOLDER(n) extern __shared__ const __hatch::__placeholder<n> _##n;
_HATCH_PLACEHOLDER(1)
_HATCH_PLACEHOLDER(2)
_HATCH_PLACEHOLDER(3)
_HATCH_PLACEHOLDER(4)
_HATCH_PLACEHOLDER(5)
_HATCH_PLACEHOLDER(6)
_HATCH_PLACEHOLDER(7)
_HATCH_PLACEHOLDER(8)
_HATCH_PLACEHOLDER(9)
#undef _HATCH_PLACEHOLDER
}  // namespace placeholders

}  // namespace std

#endif
