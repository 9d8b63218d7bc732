// Operators as objects: std::plus, std::less and the others.
#ifndef _HATCH_FUNCTION_OBJECTS_H
#define _HATCH_FUNCTION_OBJECTS_H

#include <type_traits>

namespace std {

#define _HATCH_BINARY(name, op, result)                                                            \
    template <class _T = void>                                                                     \
    struct name {                                                                                  \
        typedef _T first_argument_type;                                                            \
        typedef _T second_argument_type;                                                           \
        typedef result result_type;                                                                \
        _HATCH_HD constexpr result operator()(const _T& __a, const _T& __b) const { return __a op __b; } \
    };                                                                                             \
    template <>                                                                                    \
    struct name<void> {                                                                            \
        typedef int is_transparent;                                                                \
        template <class _A, class _B>                                                              \
        _HATCH_HD constexpr auto operator()(_A&& __a, _B&& __b) const                              \
            -> decltype(std::forward<_A>(__a) op std::forward<_B>(__b)) {                          \
            return std::forward<_A>(__a) op std::forward<_B>(__b);                                 \
        }                                                                                          \
    };
_HATCH_BINARY(plus, +, _T)
_HATCH_BINARY(minus, -, _T)
_HATCH_BINARY(multiplies, *, _T)
_HATCH_BINARY(divides, /, _T)
_HATCH_BINARY(modulus, %, _T)
_HATCH_BINARY(bit_and, &, _T)
_HATCH_BINARY(bit_or, |, _T)
_HATCH_BINARY(bit_xor, ^, _T)
_HATCH_BINARY(equal_to, ==, bool)
_HATCH_BINARY(not_equal_to, !=, bool)
_HATCH_BINARY(greater, >, bool)
_HATCH_BINARY(less, <, bool)
_HATCH_BINARY(greater_equal, >=, bool)
_HATCH_BINARY(less_equal, <=, bool)
_HATCH_BINARY(logical_and, &&, bool)
_HATCH_BINARY(logical_or, ||, bool)
#undef _HATCH_BINARY

#define _HATCH_UNARY(name, op, result)                                                             \
    template <class _T = void>                                                                     \
    struct name {                                                                                  \
        typedef _T argument_type;                                                                  \
        typedef result result_type;                                                                \
        _HATCH_HD constexpr result operator()(const _T& __x) const { return op __x; }              \
    };                                                                                             \
    template <>                                                                                    \
    struct name<void> {                                                                            \
        typedef int is_transparent;                                                                \
        template <class _T>                                                                        \
        _HATCH_HD constexpr auto operator()(_T&& __x) const -> decltype(op std::forward<_T>(__x)) { \
            return op std::forward<_T>(__x);                                                       \
        }                                                                                          \
    };
_HATCH_UNARY(negate, -, _T)
_HATCH_UNARY(bit_not, ~, _T)
_HATCH_UNARY(logical_not, !, bool)
#undef _HATCH_UNARY

}  // namespace std

#endif
