// <regex>, the part about what matches.
#ifndef _HATCH_HOST_MATCHES_H
#define _HATCH_HOST_MATCHES_H

#include <regex>

namespace std {

template <class _It>
class sub_match : public pair<_It, _It> {
   public:
    typedef typename iterator_traits<_It>::value_type value_type;
    typedef typename iterator_traits<_It>::difference_type difference_type;
    typedef _It iterator;
    typedef basic_string<value_type> string_type;
    bool matched;
    _HATCH_HD difference_type length() const;
    _HATCH_HD operator string_type() const;
    _HATCH_HD string_type str() const;
    _HATCH_HD int compare(const sub_match&) const;
    _HATCH_HD int compare(const string_type&) const;
    _HATCH_HD int compare(const value_type*) const;
};
#define _HATCH_COMPARED(op)                                                                   \
    template <class _It>                                                                      \
    _HATCH_HD bool operator op(const sub_match<_It>&, const sub_match<_It>&);                 \
    template <class _It>                                                                      \
    _HATCH_HD bool operator op(const sub_match<_It>&, const typename sub_match<_It>::string_type&); \
    template <class _It>                                                                      \
    _HATCH_HD bool operator op(const typename sub_match<_It>::string_type&, const sub_match<_It>&); \
    template <class _It>                                                                      \
    _HATCH_HD bool operator op(const sub_match<_It>&, const typename sub_match<_It>::value_type*);
_HATCH_COMPARED(==)
_HATCH_COMPARED(!=)
_HATCH_COMPARED(<)
#undef _HATCH_COMPARED
#if _HATCH_CPP20
template <class _It>
_HATCH_HD strong_ordering operator<=>(const sub_match<_It>&, const sub_match<_It>&);
#endif
template <class _C, class _T, class _It>
_HATCH_HD basic_ostream<_C, _T>& operator<<(basic_ostream<_C, _T>&, const sub_match<_It>&);

template <class _It, class _A = allocator<sub_match<_It>>>
class match_results {
   public:
    typedef sub_match<_It> value_type;
    typedef const value_type& const_reference;
    typedef value_type& reference;
    typedef __hatch::__host_iterator<value_type, const value_type&, match_results, random_access_iterator_tag> const_iterator;
    typedef const_iterator iterator;
    typedef typename iterator_traits<_It>::difference_type difference_type;
    typedef size_t size_type;
    typedef _A allocator_type;
    typedef typename iterator_traits<_It>::value_type char_type;
    typedef basic_string<char_type> string_type;
    _HATCH_HD match_results();
    _HATCH_COPIED(match_results);
    _HATCH_HD match_results& operator=(match_results&&) noexcept;
    _HATCH_HD bool ready() const noexcept;
    _HATCH_HD size_t size() const noexcept;
    _HATCH_HD size_t max_size() const noexcept;
    _HATCH_HD bool empty() const noexcept;
    _HATCH_HD difference_type length(size_t = 0) const;
    _HATCH_HD difference_type position(size_t = 0) const;
    _HATCH_HD string_type str(size_t = 0) const;
    _HATCH_HD const_reference operator[](size_t) const;
    _HATCH_HD const_reference prefix() const;
    _HATCH_HD const_reference suffix() const;
    _HATCH_HD const_iterator begin() const noexcept;
    _HATCH_HD const_iterator end() const noexcept;
    _HATCH_HD const_iterator cbegin() const noexcept;
    _HATCH_HD const_iterator cend() const noexcept;
    _HATCH_HD string_type format(const string_type&, regex_constants::match_flag_type = regex_constants::format_default) const;
    _HATCH_HD _A get_allocator() const noexcept;
    _HATCH_HD void swap(match_results&) noexcept;
    _HATCH_BYTES(32);
};
_HATCH_EQUAL(_HATCH_PARAMETERS(class _It, class _A), _HATCH_PARAMETERS(match_results<_It, _A>))

#define _HATCH_FLAGS regex_constants::match_flag_type = regex_constants::match_default
// Each of a match and a search, in a range, a string or a pointer's; and whether it is told what matched.
#define _HATCH_MATCHED(name)                                                                                        \
    template <class _It, class _A, class _C, class _T>                                                              \
    _HATCH_HD bool name(_It, _It, match_results<_It, _A>&, const basic_regex<_C, _T>&, _HATCH_FLAGS);               \
    template <class _It, class _C, class _T>                                                                        \
    _HATCH_HD bool name(_It, _It, const basic_regex<_C, _T>&, _HATCH_FLAGS);                                        \
    template <class _C, class _A, class _T>                                                                         \
    _HATCH_HD bool name(const _C*, match_results<const _C*, _A>&, const basic_regex<_C, _T>&, _HATCH_FLAGS);        \
    template <class _C, class _T>                                                                                   \
    _HATCH_HD bool name(const _C*, const basic_regex<_C, _T>&, _HATCH_FLAGS);                                       \
    template <class _S, class _B, class _A, class _C, class _T>                                                     \
    _HATCH_HD bool name(const basic_string<_C, _S, _B>&,                                                            \
                        match_results<typename basic_string<_C, _S, _B>::const_iterator, _A>&,                      \
                        const basic_regex<_C, _T>&, _HATCH_FLAGS);                                                  \
    template <class _S, class _B, class _C, class _T>                                                               \
    _HATCH_HD bool name(const basic_string<_C, _S, _B>&, const basic_regex<_C, _T>&, _HATCH_FLAGS);
_HATCH_MATCHED(regex_match)
_HATCH_MATCHED(regex_search)
#undef _HATCH_MATCHED
template <class _Out, class _It, class _C, class _T, class _S>
_HATCH_HD _Out regex_replace(_Out, _It, _It, const basic_regex<_C, _T>&, const _S&, _HATCH_FLAGS);
template <class _C, class _T, class _X, class _A, class _S>
_HATCH_HD basic_string<_C, _X, _A> regex_replace(const basic_string<_C, _X, _A>&, const basic_regex<_C, _T>&, const _S&,
                                                 _HATCH_FLAGS);
template <class _C, class _T, class _S>
_HATCH_HD basic_string<_C> regex_replace(const _C*, const basic_regex<_C, _T>&, const _S&, _HATCH_FLAGS);

#define _HATCH_FOUND(name, value, bytes, ...)                                                              \
    template <class _It, class _C = typename iterator_traits<_It>::value_type, class _T = regex_traits<_C>> \
    class name {                                                                                           \
       public:                                                                                             \
        typedef basic_regex<_C, _T> regex_type;                                                            \
        typedef value<_It> value_type;                                                                     \
        typedef ptrdiff_t difference_type;                                                                 \
        typedef const value_type* pointer;                                                                 \
        typedef const value_type& reference;                                                               \
        typedef forward_iterator_tag iterator_category;                                                    \
        _HATCH_HD name();                                                                                  \
        _HATCH_HD name(_It, _It, const regex_type& __VA_ARGS__, _HATCH_FLAGS);                             \
        _HATCH_COPIED(name);                                                                               \
        _HATCH_HD bool operator==(const name&) const;                                                      \
        _HATCH_HD bool operator!=(const name&) const;                                                      \
        _HATCH_HD const value_type& operator*() const;                                                     \
        _HATCH_HD const value_type* operator->() const;                                                    \
        _HATCH_HD name& operator++();                                                                      \
        _HATCH_HD name operator++(int);                                                                    \
        _HATCH_BYTES(bytes);                                                                               \
    };
_HATCH_FOUND(regex_iterator, match_results, 64)
_HATCH_FOUND(regex_token_iterator, sub_match, 136, , int = 0)
#undef _HATCH_FOUND
#undef _HATCH_FLAGS

#define _HATCH_FOR_EACH(name, type)                    \
    typedef type<const char*> c##name;                 \
    typedef type<const wchar_t*> wc##name;             \
    typedef type<string::const_iterator> s##name;      \
    typedef type<wstring::const_iterator> ws##name;
_HATCH_FOR_EACH(sub_match, sub_match)
_HATCH_FOR_EACH(match, match_results)
_HATCH_FOR_EACH(regex_iterator, regex_iterator)
_HATCH_FOR_EACH(regex_token_iterator, regex_token_iterator)
#undef _HATCH_FOR_EACH

}  // namespace std

#endif
