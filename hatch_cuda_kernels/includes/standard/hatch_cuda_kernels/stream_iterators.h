// Iterators that read and write streams, which are the host's.
#ifndef _HATCH_STREAM_ITERATORS_H
#define _HATCH_STREAM_ITERATORS_H

#include <hatch_cuda_kernels/iterator_traits.h>
#include <iosfwd>

namespace std {

#define _HATCH_STEPS(name)                                     \
    _HATCH_HD name& operator++();                              \
    _HATCH_HD name operator++(int)
#define _HATCH_READ(name, item)                                \
    typedef input_iterator_tag iterator_category;              \
    typedef item value_type;                                   \
    typedef _Traits traits_type;                               \
    typedef _C char_type;                                      \
    typedef basic_istream<_C, _Traits> istream_type;           \
    _HATCH_STEPS(name);                                        \
    _HATCH_HD bool operator==(const name&) const;              \
    _HATCH_HD bool operator!=(const name&) const;
#define _HATCH_WRITTEN(name)                                   \
    typedef output_iterator_tag iterator_category;             \
    typedef void value_type;                                   \
    typedef ptrdiff_t difference_type;                         \
    typedef void pointer;                                      \
    typedef void reference;                                    \
    typedef _Traits traits_type;                               \
    typedef _C char_type;                                      \
    typedef basic_ostream<_C, _Traits> ostream_type;           \
    _HATCH_HD name& operator*();                               \
    _HATCH_STEPS(name)

template <class _T, class _C = char, class _Traits = char_traits<_C>, class _Distance = ptrdiff_t>
class istream_iterator {
   public:
    _HATCH_READ(istream_iterator, _T)
    typedef _Distance difference_type;
    typedef const _T* pointer;
    typedef const _T& reference;
    _HATCH_HD istream_iterator() noexcept;
    _HATCH_HD istream_iterator(istream_type&);
    _HATCH_HD istream_iterator(const istream_iterator&);
    istream_iterator& operator=(const istream_iterator&) = default;
    _HATCH_HD const _T& operator*() const;
    _HATCH_HD const _T* operator->() const;

   private:
    istream_type* __stream;
    _T __value;
    bool __ok;
};
template <class _T, class _C = char, class _Traits = char_traits<_C>>
class ostream_iterator {
   public:
    _HATCH_WRITTEN(ostream_iterator);
    _HATCH_HD ostream_iterator(ostream_type&);
    _HATCH_HD ostream_iterator(const ostream_iterator&);
    ostream_iterator& operator=(const ostream_iterator&) = default;
    _HATCH_HD ostream_iterator(ostream_type&, const _C*);
    _HATCH_HD ostream_iterator& operator=(const _T&);

   private:
    void* __held[2];
};
template <class _C, class _Traits>
class istreambuf_iterator {
   public:
    _HATCH_READ(istreambuf_iterator, _C)
    typedef typename _Traits::off_type difference_type;
    typedef _C* pointer;
    typedef _C reference;
    typedef basic_streambuf<_C, _Traits> streambuf_type;
    typedef typename _Traits::int_type int_type;
    _HATCH_HD constexpr istreambuf_iterator() noexcept : __held() {}
    _HATCH_HD istreambuf_iterator(istream_type&) noexcept;
    _HATCH_HD istreambuf_iterator(streambuf_type*) noexcept;
    _HATCH_HD _C operator*() const;
    _HATCH_HD bool equal(const istreambuf_iterator&) const;

   private:
    void* __held[2];
};
template <class _C, class _Traits>
class ostreambuf_iterator {
   public:
    _HATCH_WRITTEN(ostreambuf_iterator);
    typedef basic_streambuf<_C, _Traits> streambuf_type;
    _HATCH_HD ostreambuf_iterator(ostream_type&) noexcept;
    _HATCH_HD ostreambuf_iterator(streambuf_type*) noexcept;
    _HATCH_HD ostreambuf_iterator& operator=(_C);
    _HATCH_HD bool failed() const noexcept;

   private:
    void* __held[2];
};
#undef _HATCH_STEPS
#undef _HATCH_READ
#undef _HATCH_WRITTEN

}  // namespace std

#endif
