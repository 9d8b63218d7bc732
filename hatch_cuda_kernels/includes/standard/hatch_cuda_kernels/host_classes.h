// What the host's classes share: those that hold the host's memory, files or threads. They are declared whole, so that a
// struct of the host's that has one as a member compiles, and functions for host and device that work with one; none of
// their functions is defined, and a kernel that calls one does not link. Each has the size that libstdc++ gives it on
// 64-bit Linux, so that what lies behind it in a struct lies where the host has it.
#ifndef _HATCH_HOST_CLASSES_H
#define _HATCH_HOST_CLASSES_H

#include <initializer_list>

namespace std {

template <class _T>
class allocator;
template <class _A>
struct allocator_traits;
template <class _P>
struct pointer_traits;
template <class _C>
struct char_traits;
template <class _T>
struct hash;
template <class _T>
struct less;
template <class _T>
struct equal_to;
template <class _A, class _B>
struct pair;

// What a class holds, and how it is copied and moved: with what is to stand behind copies.
#define _HATCH_BYTES(bytes) \
   private:                 \
    alignas(8) unsigned char __held[bytes]
#define _HATCH_COPIED(name, ...)              \
    _HATCH_HD name(const name&) __VA_ARGS__;  \
    _HATCH_HD name(name&&) noexcept;          \
    _HATCH_HD ~name();                        \
    _HATCH_HD name& operator=(const name&) __VA_ARGS__
#define _HATCH_MOVED(name)                 \
    name(const name&) = delete;            \
    name& operator=(const name&) = delete; \
    _HATCH_HD name(name&&) noexcept;       \
    _HATCH_HD ~name();                     \
    _HATCH_HD name& operator=(name&&) noexcept
#define _HATCH_KEPT(name)       \
    name(const name&) = delete; \
    name& operator=(const name&) = delete

// A class of which less is known: it takes any arguments.
#define _HATCH_HELD(name, bytes)            \
   public:                                  \
    _HATCH_HD name();                       \
    template <class _X, class... _Y>        \
    _HATCH_HD explicit name(_X&&, _Y&&...); \
    _HATCH_BYTES(bytes)

template <class _C, class _Traits = char_traits<_C>, class _A = allocator<_C>>
class basic_string;
typedef basic_string<char> string;
typedef basic_string<wchar_t> wstring;
typedef basic_string<char16_t> u16string;
typedef basic_string<char32_t> u32string;
#if _HATCH_CPP17
template <class _C, class _Traits = char_traits<_C>>
class basic_string_view;
typedef basic_string_view<char> string_view;
typedef basic_string_view<wchar_t> wstring_view;
typedef basic_string_view<char16_t> u16string_view;
typedef basic_string_view<char32_t> u32string_view;
#endif
#if _HATCH_CPP20
typedef basic_string<char8_t> u8string;
typedef basic_string_view<char8_t> u8string_view;
#endif

template <class _T, class _A = allocator<_T>>
class vector;
template <class _T, class _A = allocator<_T>>
class deque;
template <class _T, class _A = allocator<_T>>
class list;
template <class _T>
class shared_ptr;
template <class _T>
class weak_ptr;

template <class _C, class _Traits = char_traits<_C>>
class basic_istream;
template <class _C, class _Traits = char_traits<_C>>
class basic_ostream;
typedef basic_istream<char> istream;
typedef basic_ostream<char> ostream;
class locale;
class error_code;

namespace chrono {
template <class _Rep, class _Period>
class duration;
template <class _Clock, class _Duration>
class time_point;
}  // namespace chrono

}  // namespace std

#endif
