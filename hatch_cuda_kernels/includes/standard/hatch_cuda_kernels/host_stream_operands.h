// What is written to streams, and read from them.
#ifndef _HATCH_HOST_STREAM_OPERANDS_H
#define _HATCH_HOST_STREAM_OPERANDS_H

#include <type_traits>

#define _HATCH_OPERANDS_OF(operation, ref) \
    operation(bool ref)                \
    operation(short ref)               \
    operation(unsigned short ref)      \
    operation(int ref)                 \
    operation(unsigned ref)            \
    operation(long ref)                \
    operation(unsigned long ref)       \
    operation(long long ref)           \
    operation(unsigned long long ref)  \
    operation(float ref)               \
    operation(double ref)

namespace std {
namespace __hatch {

// A class or an enumeration that is no other operand. Whatever is declared for one is preferred.
struct __any_operand {
    template <class _T, class = enable_if_t<(__is_class(_T) || __is_union(_T) || __is_enum(_T)) &&
                                            !is_convertible<const _T&, long double>::value &&
                                            !is_convertible<const _T&, const void*>::value>>
    _HATCH_HD __any_operand(const _T&);
};

}  // namespace __hatch
}  // namespace std

#endif
