// Thrust's pointer into device memory, as device code uses it, and its containers, which are the host's: a class that has
// one as a member, or as its base, compiles. Thrust's own headers bring what launches kernels. Sizes are Thrust's.
#ifndef _HATCH_THRUST_CLASSES_H
#define _HATCH_THRUST_CLASSES_H

#include <hatch_cuda_kernels/host_classes.h>
#include <iterator>
#include <type_traits>

#if __has_include(<thrust/detail/config.h>)
#include <thrust/detail/config.h>
#endif
#ifndef THRUST_NAMESPACE_BEGIN
#define THRUST_NAMESPACE_BEGIN namespace thrust {
#define THRUST_NAMESPACE_END }
#endif

THRUST_NAMESPACE_BEGIN

template <class _T>
class device_ptr;

// What a device_ptr points to: in device code, the object itself.
template <class _T>
class device_reference {
    typedef std::remove_cv_t<_T> _Value;
    _T* _p;

   public:
    typedef _Value value_type;
    typedef device_ptr<_T> pointer;
    _HATCH_HD explicit device_reference(const pointer& p) : _p(p.get()) {}
    device_reference(const device_reference&) = default;
    template <class _U, class = std::enable_if_t<std::is_convertible<_U*, _T*>::value>>
    _HATCH_HD device_reference(const device_reference<_U>& other) : _p((&other).get()) {}
    _HATCH_HD pointer operator&() const { return pointer(_p); }
    _HATCH_HD operator _Value() const { return *_p; }
    _HATCH_HD device_reference& operator=(const device_reference& other) { return *this = _Value(other); }
    template <class _U>
    _HATCH_HD device_reference& operator=(const device_reference<_U>& other) {
        return *this = _Value(other);
    }
    _HATCH_HD device_reference& operator=(const _Value& value) {
        *_p = value;
        return *this;
    }
    _HATCH_HD device_reference& operator++() {
        ++*_p;
        return *this;
    }
    _HATCH_HD _Value operator++(int) { return (*_p)++; }
    _HATCH_HD device_reference& operator--() {
        --*_p;
        return *this;
    }
    _HATCH_HD _Value operator--(int) { return (*_p)--; }
#define _HATCH_ASSIGN(op)                                          \
    _HATCH_HD device_reference& operator op(const _Value& value) { \
        *_p op value;                                              \
        return *this;                                              \
    }
    _HATCH_ASSIGN(+=)
    _HATCH_ASSIGN(-=)
    _HATCH_ASSIGN(*=)
    _HATCH_ASSIGN(/=)
    _HATCH_ASSIGN(%=)
    _HATCH_ASSIGN(<<=)
    _HATCH_ASSIGN(>>=)
    _HATCH_ASSIGN(&=)
    _HATCH_ASSIGN(|=)
    _HATCH_ASSIGN(^=)
#undef _HATCH_ASSIGN
};

template <class _T>
class device_ptr {
    _T* _p;

   public:
    typedef _T element_type;
    typedef std::remove_cv_t<_T> value_type;
    typedef std::ptrdiff_t difference_type;
    typedef std::conditional_t<std::is_void<_T>::value, void, device_reference<_T>> reference;
    typedef device_ptr pointer;
    typedef _T* raw_pointer;
    typedef std::random_access_iterator_tag iterator_category;
    device_ptr() = default;
    _HATCH_HD device_ptr(std::nullptr_t) : _p(nullptr) {}
    template <class _U>
    _HATCH_HD explicit device_ptr(_U* p) : _p(p) {}
    template <class _U, class = std::enable_if_t<std::is_convertible<_U*, _T*>::value>>
    _HATCH_HD device_ptr(const device_ptr<_U>& other) : _p(other.get()) {}
    _HATCH_HD _T* get() const { return _p; }
    _HATCH_HD _T* operator->() const { return _p; }
    _HATCH_HD explicit operator bool() const { return _p != nullptr; }
    _HATCH_HD reference operator*() const { return reference(*this); }
    _HATCH_HD reference operator[](difference_type n) const { return *(*this + n); }
    _HATCH_HD device_ptr& operator+=(difference_type n) {
        _p += n;
        return *this;
    }
    _HATCH_HD device_ptr& operator-=(difference_type n) { return *this += -n; }
    _HATCH_HD device_ptr& operator++() { return *this += 1; }
    _HATCH_HD device_ptr& operator--() { return *this += -1; }
    _HATCH_HD device_ptr operator++(int) { return device_ptr(_p++); }
    _HATCH_HD device_ptr operator--(int) { return device_ptr(_p--); }
    _HATCH_HD device_ptr operator+(difference_type n) const { return device_ptr(_p + n); }
    _HATCH_HD device_ptr operator-(difference_type n) const { return device_ptr(_p - n); }
    friend _HATCH_HD device_ptr operator+(difference_type n, const device_ptr& p) { return p + n; }
};

template <class _T, class _U>
_HATCH_HD std::ptrdiff_t operator-(const device_ptr<_T>& a, const device_ptr<_U>& b) {
    return a.get() - b.get();
}
#define _HATCH_COMPARE_BY(op)                                                        \
    template <class _T, class _U>                                                 \
    _HATCH_HD bool operator op(const device_ptr<_T>& a, const device_ptr<_U>& b) { \
        return a.get() op b.get();                                                \
    }
_HATCH_COMPARE_BY(==)
_HATCH_COMPARE_BY(!=)
_HATCH_COMPARE_BY(<)
_HATCH_COMPARE_BY(>)
_HATCH_COMPARE_BY(<=)
_HATCH_COMPARE_BY(>=)
#undef _HATCH_COMPARE_BY
template <class _T>
_HATCH_HD bool operator==(const device_ptr<_T>& a, std::nullptr_t) {
    return !a;
}
template <class _T>
_HATCH_HD bool operator!=(const device_ptr<_T>& a, std::nullptr_t) {
    return bool(a);
}
template <class _T>
_HATCH_HD device_ptr<_T> device_pointer_cast(_T* p) {
    return device_ptr<_T>(p);
}
template <class _T>
_HATCH_HD device_ptr<_T> device_pointer_cast(const device_ptr<_T>& p) {
    return p;
}
template <class _T>
_HATCH_HD _T* raw_pointer_cast(const device_ptr<_T>& p) {
    return p.get();
}template <class _T>
_HATCH_HD _T* raw_pointer_cast(_T* p) {
    return p;
}
template <class _T>
_HATCH_HD _T& raw_reference_cast(_T& object) {
    return object;
}
template <class _T>
_HATCH_HD const _T& raw_reference_cast(const _T& object) {
    return object;
}
template <class _T>
_HATCH_HD _T& raw_reference_cast(device_reference<_T>& object) {
    return *(&object).get();
}
template <class _T>
_HATCH_HD _T& raw_reference_cast(const device_reference<_T>& object) {
    return *(&object).get();
}

template <class _T>
struct _HatchAllocatorTypes {
    typedef _T value_type;
    typedef device_ptr<_T> pointer;
    typedef device_ptr<const _T> const_pointer;
    typedef size_t size_type;
    typedef std::ptrdiff_t difference_type;
};
template <class _T>
class device_allocator : public _HatchAllocatorTypes<_T> {
   public:
    _HATCH_HELD(device_allocator, 8);
};
template <class _T>
class device_malloc_allocator : public _HatchAllocatorTypes<_T> {
   public:
    _HATCH_HD device_malloc_allocator();
};
template <class _T>
class universal_allocator : public device_allocator<_T> {};

// A container holds its allocator, where its memory begins, the memory's size and its own.
template <class _A>
struct _HatchVectorBytes {
    static constexpr unsigned long long value = 24 + (sizeof(_A) + 7) / 8 * 8;
};
template <class _T>
struct _HatchVectorBytes<std::allocator<_T>> {
    static constexpr unsigned long long value = 32;
};
#define _HATCH_THRUST_VECTOR(name, given, at)                 \
    template <class _T, class _A = given<_T>>          \
    class name {                                       \
       public:                                         \
        typedef _T value_type;                         \
        typedef _A allocator_type;                     \
        typedef at pointer;                            \
        typedef at iterator;                           \
        typedef size_t size_type;                      \
        typedef std::ptrdiff_t difference_type;        \
        _HATCH_HELD(name, _HatchVectorBytes<_A>::value); \
    };
_HATCH_THRUST_VECTOR(device_vector, device_allocator, device_ptr<_T>)
_HATCH_THRUST_VECTOR(host_vector, std::allocator, _T*)
_HATCH_THRUST_VECTOR(universal_vector, universal_allocator, _T*)
namespace detail {
_HATCH_THRUST_VECTOR(vector_base, device_allocator, typename _A::pointer)
}
#undef _HATCH_THRUST_VECTOR

THRUST_NAMESPACE_END

#endif
