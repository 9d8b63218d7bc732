// std::char_traits, of what std::string_view needs as it compiles, and what strings have in common.
#ifndef _HATCH_CHAR_TRAITS_H
#define _HATCH_CHAR_TRAITS_H

#include <hatch_cuda_kernels/host_classes.h>
#if _HATCH_CPP20
#include <compare>
#endif

namespace std {

typedef long streamoff;
typedef ptrdiff_t streamsize;
template <class _State>
class fpos {
   public:
    _HATCH_HD fpos(streamoff = 0);
    _HATCH_HD operator streamoff() const;
    _HATCH_HD fpos& operator+=(streamoff);
    _HATCH_HD fpos& operator-=(streamoff);
    _HATCH_HD fpos operator+(streamoff) const;
    _HATCH_HD fpos operator-(streamoff) const;
    _HATCH_HD streamoff operator-(const fpos&) const;
    _HATCH_HD _State state() const;
    _HATCH_HD void state(_State);

   private:
    streamoff __at;
    _State __state;
};
struct _HatchState {
    int __count, __value;
};
typedef fpos<_HatchState> streampos;
typedef streampos wstreampos;
typedef streampos u16streampos;
typedef streampos u32streampos;

namespace __hatch {

template <class _C>
struct __wide {
    typedef unsigned long type;
};
template <>
struct __wide<char> {
    typedef int type;
};
template <>
struct __wide<wchar_t> {
    typedef unsigned type;
};
template <>
struct __wide<char16_t> {
    typedef unsigned short type;
};
template <>
struct __wide<char32_t> {
    typedef unsigned type;
};
#ifdef __cpp_char8_t
template <>
struct __wide<char8_t> {
    typedef unsigned type;
};
#endif

template <class _C>
struct __ordered_as {
    typedef _C type;
};
template <>
struct __ordered_as<char> {
    typedef unsigned char type;
};

// One constant for all strings: it is in the image of each source that asks for them.
template <class = void>
struct __string_end {
    static constexpr size_t npos = static_cast<size_t>(-1);
};

#if _HATCH_CPP20
template <class _Traits>
struct __text_order {
    typedef weak_ordering type;
};
template <class _Traits>
    requires requires { typename _Traits::comparison_category; }
struct __text_order<_Traits> {
    typedef typename _Traits::comparison_category type;
};
template <class _Traits>
using __order_of_text = typename __text_order<_Traits>::type;
#endif

}  // namespace __hatch

template <class _C>
struct char_traits {
    typedef _C char_type;
    typedef typename __hatch::__wide<_C>::type int_type;
    typedef streamoff off_type;
    typedef streampos pos_type;
    typedef _HatchState state_type;
#if _HATCH_CPP20
    typedef strong_ordering comparison_category;
#endif
    _HATCH_HD static constexpr void assign(_C& __a, const _C& __b) noexcept { __a = __b; }
    _HATCH_HD static constexpr bool eq(_C __a, _C __b) noexcept { return __a == __b; }
    _HATCH_HD static constexpr bool lt(_C __a, _C __b) noexcept {
        typedef typename __hatch::__ordered_as<_C>::type __same;
        return static_cast<__same>(__a) < static_cast<__same>(__b);
    }
    _HATCH_HD static constexpr int compare(const _C* __a, const _C* __b, size_t __n) {
        for (size_t __i = 0; __i < __n; ++__i) {
            if (!eq(__a[__i], __b[__i])) {
                return lt(__a[__i], __b[__i]) ? -1 : 1;
            }
        }
        return 0;
    }
    _HATCH_HD static constexpr size_t length(const _C* __s) {
        size_t __n = 0;
        while (!eq(__s[__n], _C())) {
            ++__n;
        }
        return __n;
    }
    _HATCH_HD static constexpr const _C* find(const _C* __s, size_t __n, const _C& __c) {
        for (; __n > 0; --__n, ++__s) {
            if (eq(*__s, __c)) {
                return __s;
            }
        }
        return nullptr;
    }
    _HATCH_HD static _C* move(_C*, const _C*, size_t);
    _HATCH_HD static _C* copy(_C*, const _C*, size_t);
    _HATCH_HD static _C* assign(_C*, size_t, _C);
    _HATCH_HD static constexpr _C to_char_type(int_type __c) noexcept { return static_cast<_C>(__c); }
    _HATCH_HD static constexpr int_type to_int_type(_C __c) noexcept {
        typedef typename __hatch::__ordered_as<_C>::type __same;
        return sizeof(int_type) == 2 && static_cast<int_type>(__c) == eof()  // U+FFFF, which is no character
                   ? static_cast<int_type>(0xfffd)
                   : static_cast<int_type>(static_cast<__same>(__c));
    }
    _HATCH_HD static constexpr bool eq_int_type(int_type __a, int_type __b) noexcept { return __a == __b; }
    _HATCH_HD static constexpr int_type eof() noexcept { return static_cast<int_type>(-1); }
    _HATCH_HD static constexpr int_type not_eof(int_type __c) noexcept { return __c == eof() ? 0 : __c; }
};

}  // namespace std

#endif
