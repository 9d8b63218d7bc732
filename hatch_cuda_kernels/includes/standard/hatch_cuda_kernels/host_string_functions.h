// <string>, the part about functions that are no members.
#ifndef _HATCH_HOST_STRING_FUNCTIONS_H
#define _HATCH_HOST_STRING_FUNCTIONS_H

#include <string>

namespace std {

#define _HATCH_ITS basic_string<_C, _T, _A>
#define _HATCH_BOTH(result, op, constness)                                  \
    template <class _C, class _T, class _A>                                 \
    _HATCH_HD result operator op(constness _HATCH_ITS&, constness _HATCH_ITS&); \
    template <class _C, class _T, class _A>                                 \
    _HATCH_HD result operator op(constness _HATCH_ITS&, const _C*);      \
    template <class _C, class _T, class _A>                                 \
    _HATCH_HD result operator op(const _C*, constness _HATCH_ITS&);
_HATCH_BOTH(bool, ==, const)
_HATCH_BOTH(bool, !=, const)
_HATCH_BOTH(bool, <, const)
_HATCH_BOTH(bool, >, const)
_HATCH_BOTH(bool, <=, const)
_HATCH_BOTH(bool, >=, const)
#if _HATCH_CPP20
template <class _C, class _T, class _A>
_HATCH_HD __hatch::__order_of_text<_T> operator<=>(const _HATCH_ITS&, const _HATCH_ITS&) noexcept;
template <class _C, class _T, class _A>
_HATCH_HD __hatch::__order_of_text<_T> operator<=>(const _HATCH_ITS&, const _C*);
#endif
_HATCH_BOTH(_HATCH_ITS, +, const)
#undef _HATCH_BOTH
template <class _C, class _T, class _A>
_HATCH_HD _HATCH_ITS operator+(const _HATCH_ITS&, _C);
template <class _C, class _T, class _A>
_HATCH_HD _HATCH_ITS operator+(_C, const _HATCH_ITS&);
template <class _C, class _T, class _A>
_HATCH_HD basic_ostream<_C, _T>& operator<<(basic_ostream<_C, _T>&, const _HATCH_ITS&);
template <class _C, class _T, class _A>
_HATCH_HD basic_istream<_C, _T>& operator>>(basic_istream<_C, _T>&, _HATCH_ITS&);
template <class _C, class _T, class _A>
_HATCH_HD basic_istream<_C, _T>& getline(basic_istream<_C, _T>&, _HATCH_ITS&);
template <class _C, class _T, class _A>
_HATCH_HD basic_istream<_C, _T>& getline(basic_istream<_C, _T>&, _HATCH_ITS&, _C);
template <class _C, class _T, class _A>
_HATCH_HD basic_istream<_C, _T>& getline(basic_istream<_C, _T>&&, _HATCH_ITS&);
template <class _C, class _T, class _A>
_HATCH_HD basic_istream<_C, _T>& getline(basic_istream<_C, _T>&&, _HATCH_ITS&, _C);
#if _HATCH_CPP20
template <class _C, class _T, class _A, class _U>
_HATCH_HD size_t erase(_HATCH_ITS&, const _U&);
template <class _C, class _T, class _A, class _P>
_HATCH_HD size_t erase_if(_HATCH_ITS&, _P);
#endif
#undef _HATCH_ITS

#define _HATCH_TEXT(type) _HATCH_HD string to_string(type);
_HATCH_TEXT(int)
_HATCH_TEXT(unsigned)
_HATCH_TEXT(long)
_HATCH_TEXT(unsigned long)
_HATCH_TEXT(long long)
_HATCH_TEXT(unsigned long long)
_HATCH_TEXT(float)
_HATCH_TEXT(double)
#undef _HATCH_TEXT
template <class _T>
_HATCH_HD wstring to_wstring(_T);
#define _HATCH_NUMBER(type, name, ...) _HATCH_HD type name(const string&, size_t* = nullptr __VA_ARGS__);
_HATCH_NUMBER(int, stoi, , int = 10)
_HATCH_NUMBER(long, stol, , int = 10)
_HATCH_NUMBER(unsigned long, stoul, , int = 10)
_HATCH_NUMBER(long long, stoll, , int = 10)
_HATCH_NUMBER(unsigned long long, stoull, , int = 10)
_HATCH_NUMBER(float, stof)
_HATCH_NUMBER(double, stod)
_HATCH_NUMBER(double, stold)
#undef _HATCH_NUMBER

template <class _C, class _A>
struct hash<basic_string<_C, char_traits<_C>, _A>> {
    typedef size_t result_type;
    typedef basic_string<_C, char_traits<_C>, _A> argument_type;
    _HATCH_HD size_t operator()(const argument_type&) const noexcept;
};

inline namespace literals {
inline namespace string_literals {
_HATCH_HD string operator""s(const char*, size_t);
_HATCH_HD wstring operator""s(const wchar_t*, size_t);
_HATCH_HD u16string operator""s(const char16_t*, size_t);
_HATCH_HD u32string operator""s(const char32_t*, size_t);
}  // namespace string_literals
}  // namespace literals

}  // namespace std

#endif
