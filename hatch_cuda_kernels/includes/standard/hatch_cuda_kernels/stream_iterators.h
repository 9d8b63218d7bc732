// Iterators that read and write streams, which are the host's.
#ifndef _HATCH_STREAM_ITERATORS_H
#define _HATCH_STREAM_ITERATORS_H

#include <hatch_cuda_kernels/iterator_traits.h>
#include <iosfwd>

namespace std {

#define _HATCH_STEPS(name)                                     \
    _HATCH_HD name& operator++();                              \
    _HATCH_HD name operator++(int)
#define _HATCH_READ(name)                                      \
    typedef _Traits traits_type;                               \
    typedef _C char_type;                                      \
    typedef basic_istream<_C, _Traits> istream_type;           \
    _HATCH_STEPS(name);                                        \
    _HATCH_HD bool operator==(const name&) const;              \
    _HATCH_HD bool operator!=(const name&) const;
#define _HATCH_WRITTEN(name)                                   \
    _HATCH_DISTANCE_20                                         \
    typedef _Traits traits_type;                               \
    typedef _C char_type;                                      \
    typedef basic_ostream<_C, _Traits> ostream_type;           \
    _HATCH_HD name& operator*();                               \
    _HATCH_STEPS(name)

template <class _T, class _C = char, class _Traits = char_traits<_C>, class _Distance = ptrdiff_t>
class istream_iterator : public iterator<input_iterator_tag, _T, _Distance, const _T*, const _T&> {
   public:
    _HATCH_READ(istream_iterator)
    _HATCH_HD constexpr istream_iterator() noexcept(is_nothrow_default_constructible<_T>::value)
        : __stream(nullptr), __value(), __ok(false) {}
    _HATCH_HD istream_iterator(istream_type&);
    _HATCH_HD istream_iterator(const istream_iterator&) noexcept(is_nothrow_copy_constructible<_T>::value);
    istream_iterator& operator=(const istream_iterator&) = default;
    _HATCH_HD const _T& operator*() const;
    _HATCH_HD const _T* operator->() const;

   private:
    istream_type* __stream;
    _T __value;
    bool __ok;
};
template <class _T, class _C = char, class _Traits = char_traits<_C>>
class ostream_iterator : public _HATCH_OUTPUT {
   public:
    _HATCH_WRITTEN(ostream_iterator);
    _HATCH_HD ostream_iterator(ostream_type&);
    _HATCH_HD ostream_iterator(const ostream_iterator&) noexcept;
    ostream_iterator& operator=(const ostream_iterator&) = default;
    _HATCH_HD ostream_iterator(ostream_type&, const _C*);
    _HATCH_HD ostream_iterator& operator=(const _T&);

   private:
    void* __held[2];
};
template <class _C, class _Traits>
class istreambuf_iterator : public iterator<input_iterator_tag, _C, typename _Traits::off_type, _C*, _C> {
   public:
    _HATCH_READ(istreambuf_iterator)
#if _HATCH_CPP20
    typedef void pointer;
#endif
    typedef basic_streambuf<_C, _Traits> streambuf_type;
    typedef typename _Traits::int_type int_type;
    _HATCH_HD constexpr istreambuf_iterator() noexcept : __buffer(), __next(_Traits::eof()) {}
    _HATCH_HD istreambuf_iterator(istream_type&) noexcept;
    _HATCH_HD istreambuf_iterator(streambuf_type*) noexcept;
    _HATCH_HD _C operator*() const;
    _HATCH_HD bool equal(const istreambuf_iterator&) const;

   private:
    streambuf_type* __buffer;
    int_type __next;
};
template <class _C, class _Traits>
class ostreambuf_iterator : public _HATCH_OUTPUT {
   public:
    _HATCH_WRITTEN(ostreambuf_iterator);
    typedef basic_streambuf<_C, _Traits> streambuf_type;
#if _HATCH_CPP20
    _HATCH_HD constexpr ostreambuf_iterator() noexcept : __buffer(), __failed(true) {}
#endif
    _HATCH_HD ostreambuf_iterator(ostream_type&) noexcept;
    _HATCH_HD ostreambuf_iterator(streambuf_type*) noexcept;
    _HATCH_HD ostreambuf_iterator& operator=(_C);
    _HATCH_HD bool failed() const noexcept;

   private:
    streambuf_type* __buffer;
    bool __failed;
};
#undef _HATCH_STEPS
#undef _HATCH_READ
#undef _HATCH_WRITTEN

}  // namespace std

#endif
