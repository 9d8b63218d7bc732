// <memory>, the part about shared pointers, and what is asked of allocators.
#ifndef _HATCH_HOST_POINTERS_H
#define _HATCH_HOST_POINTERS_H

#include <exception>
#include <hatch_cuda_kernels/hash.h>
#include <hatch_cuda_kernels/host_allocator.h>
#if _HATCH_CPP20
#include <compare>
#endif

namespace std {

template <class _T, class _Delete>
class unique_ptr;
class bad_weak_ptr : public exception {
   public:
    _HATCH_HD const char* what() const noexcept override { return "bad_weak_ptr"; }
};

namespace __hatch {

// A pointer to _U can be shared as one to _T; an array is shared as one of the same items, of known size or not.
template <class _U, class _T>
struct __shares : is_convertible<_U*, _T*> {};
template <class _U, class _T>
struct __shares<_U, _T[]> : is_convertible<_U (*)[], _T (*)[]> {};
template <class _U, class _T>
struct __shares<_U[], _T[]> : is_convertible<_U (*)[], _T (*)[]> {};
template <class _U, class _T>
using __if_shared = enable_if_t<__shares<_U, _T>::value>;

}  // namespace __hatch

template <class _T>
class shared_ptr {
   public:
    typedef remove_extent_t<_T> element_type;
#if _HATCH_CPP17
    typedef weak_ptr<_T> weak_type;
#endif
    _HATCH_HD constexpr shared_ptr() noexcept : __held() {}
    _HATCH_HD constexpr shared_ptr(decltype(nullptr)) noexcept : __held() {}
    _HATCH_COPIED(shared_ptr, noexcept);
    _HATCH_HD shared_ptr& operator=(shared_ptr&&) noexcept;
    template <class _U, class = __hatch::__if_shared<_U, _T>>
    _HATCH_HD explicit shared_ptr(_U*);
    template <class _U, class _D, class = __hatch::__if_shared<_U, _T>>
    _HATCH_HD shared_ptr(_U*, _D);
    template <class _U, class _D, class _A, class = __hatch::__if_shared<_U, _T>>
    _HATCH_HD shared_ptr(_U*, _D, _A);
    template <class _D>
    _HATCH_HD shared_ptr(decltype(nullptr), _D);
    template <class _U>
    _HATCH_HD shared_ptr(const shared_ptr<_U>&, element_type*) noexcept;
    template <class _U, class = __hatch::__if_shared<_U, _T>>
    _HATCH_HD shared_ptr(const shared_ptr<_U>&) noexcept;
    template <class _U, class = __hatch::__if_shared<_U, _T>>
    _HATCH_HD shared_ptr(shared_ptr<_U>&&) noexcept;
    template <class _U, class = __hatch::__if_shared<_U, _T>>
    _HATCH_HD explicit shared_ptr(const weak_ptr<_U>&);
    template <class _U, class _D, class = __hatch::__if_shared<_U, _T>>
    _HATCH_HD shared_ptr(unique_ptr<_U, _D>&&);
    template <class _U, class = __hatch::__if_shared<_U, _T>>
    _HATCH_HD shared_ptr& operator=(const shared_ptr<_U>&) noexcept;
    template <class _U, class = __hatch::__if_shared<_U, _T>>
    _HATCH_HD shared_ptr& operator=(shared_ptr<_U>&&) noexcept;
    template <class _U, class _D, class = __hatch::__if_shared<_U, _T>>
    _HATCH_HD shared_ptr& operator=(unique_ptr<_U, _D>&&);
    _HATCH_HD void reset() noexcept;
    template <class _U, class = __hatch::__if_shared<_U, _T>>
    _HATCH_HD void reset(_U*);
    template <class _U, class _D, class = __hatch::__if_shared<_U, _T>>
    _HATCH_HD void reset(_U*, _D);
    _HATCH_HD void swap(shared_ptr&) noexcept;
    _HATCH_HD element_type* get() const noexcept;
    _HATCH_HD element_type* operator->() const noexcept;
    _HATCH_HD add_lvalue_reference_t<element_type> operator*() const noexcept;
    template <class _U = _T, class = enable_if_t<is_array<_U>::value>>
    _HATCH_HD add_lvalue_reference_t<element_type> operator[](ptrdiff_t) const;
    _HATCH_HD explicit operator bool() const noexcept;
    _HATCH_HD long use_count() const noexcept;
    _HATCH_HD bool unique() const noexcept;
    template <class _U>
    _HATCH_HD bool owner_before(const shared_ptr<_U>&) const noexcept;
    template <class _U>
    _HATCH_HD bool owner_before(const weak_ptr<_U>&) const noexcept;

   private:
    void* __held[2];
};
template <class _T>
class weak_ptr {
   public:
    typedef remove_extent_t<_T> element_type;
    _HATCH_HD constexpr weak_ptr() noexcept : __held() {}
    _HATCH_COPIED(weak_ptr, noexcept);
    _HATCH_HD weak_ptr& operator=(weak_ptr&&) noexcept;
    template <class _U, class = __hatch::__if_shared<_U, _T>>
    _HATCH_HD weak_ptr(const shared_ptr<_U>&) noexcept;
    template <class _U, class = __hatch::__if_shared<_U, _T>>
    _HATCH_HD weak_ptr(const weak_ptr<_U>&) noexcept;
    template <class _U, class = __hatch::__if_shared<_U, _T>>
    _HATCH_HD weak_ptr& operator=(const weak_ptr<_U>&) noexcept;
    template <class _U, class = __hatch::__if_shared<_U, _T>>
    _HATCH_HD weak_ptr& operator=(const shared_ptr<_U>&) noexcept;
    _HATCH_HD shared_ptr<_T> lock() const noexcept;
    _HATCH_HD bool expired() const noexcept;
    _HATCH_HD long use_count() const noexcept;
    _HATCH_HD void reset() noexcept;
    _HATCH_HD void swap(weak_ptr&) noexcept;
    template <class _U>
    _HATCH_HD bool owner_before(const shared_ptr<_U>&) const noexcept;
    template <class _U>
    _HATCH_HD bool owner_before(const weak_ptr<_U>&) const noexcept;

   private:
    void* __held[2];
};
template <class _T>
class enable_shared_from_this {
   protected:
    _HATCH_HD constexpr enable_shared_from_this() noexcept {}
    _HATCH_HD enable_shared_from_this(const enable_shared_from_this&) noexcept {}
    _HATCH_HD enable_shared_from_this& operator=(const enable_shared_from_this&) noexcept { return *this; }
    _HATCH_HD ~enable_shared_from_this() {}

   public:
    _HATCH_HD shared_ptr<_T> shared_from_this();
    _HATCH_HD shared_ptr<const _T> shared_from_this() const;
#if _HATCH_CPP17
    _HATCH_HD weak_ptr<_T> weak_from_this() noexcept;
    _HATCH_HD weak_ptr<const _T> weak_from_this() const noexcept;
#endif

   private:
    mutable weak_ptr<_T> __self;
};

#define _HATCH_COMPARED(op)                                                                         \
    template <class _T, class _U>                                                                   \
    _HATCH_HD bool operator op(const shared_ptr<_T>&, const shared_ptr<_U>&) noexcept;              \
    template <class _T>                                                                             \
    _HATCH_HD bool operator op(const shared_ptr<_T>&, decltype(nullptr)) noexcept;                  \
    template <class _T>                                                                             \
    _HATCH_HD bool operator op(decltype(nullptr), const shared_ptr<_T>&) noexcept;
_HATCH_COMPARED(==)
_HATCH_COMPARED(!=)
_HATCH_COMPARED(<)
_HATCH_COMPARED(>)
_HATCH_COMPARED(<=)
_HATCH_COMPARED(>=)
#undef _HATCH_COMPARED
#if _HATCH_CPP20
template <class _T, class _U>
_HATCH_HD strong_ordering operator<=>(const shared_ptr<_T>&, const shared_ptr<_U>&) noexcept;
template <class _T>
_HATCH_HD strong_ordering operator<=>(const shared_ptr<_T>&, decltype(nullptr)) noexcept;
#endif
template <class _C, class _X, class _T>
_HATCH_HD basic_ostream<_C, _X>& operator<<(basic_ostream<_C, _X>&, const shared_ptr<_T>&);

template <class _T, class... _X>
_HATCH_HD shared_ptr<_T> make_shared(_X&&...);
template <class _T, class _A, class... _X>
_HATCH_HD shared_ptr<_T> allocate_shared(const _A&, _X&&...);
#define _HATCH_CAST(name)                                             \
    template <class _T, class _U>                                     \
    _HATCH_HD shared_ptr<_T> name(const shared_ptr<_U>&) noexcept;
_HATCH_CAST(static_pointer_cast)
_HATCH_CAST(dynamic_pointer_cast)
_HATCH_CAST(const_pointer_cast)
_HATCH_CAST(reinterpret_pointer_cast)
#undef _HATCH_CAST
template <class _D, class _T>
_HATCH_HD _D* get_deleter(const shared_ptr<_T>&) noexcept;
template <class _T = void>
struct owner_less {
    template <class _U, class _V>
    _HATCH_HD bool operator()(const _U&, const _V&) const noexcept;
};
template <>
struct owner_less<void> {
    template <class _U, class _V>
    _HATCH_HD bool operator()(const _U&, const _V&) const noexcept;
    typedef void is_transparent;
};
template <class _T>
struct hash<shared_ptr<_T>> {
    _HATCH_HD size_t operator()(const shared_ptr<_T>&) const noexcept;
};
template <class _T, class _D>
struct hash<unique_ptr<_T, _D>> {
    _HATCH_HD size_t operator()(const unique_ptr<_T, _D>&) const noexcept;
};
#if _HATCH_CPP17
template <class _T>
shared_ptr(weak_ptr<_T>) -> shared_ptr<_T>;
template <class _T, class _D>
shared_ptr(unique_ptr<_T, _D>) -> shared_ptr<_T>;
template <class _T>
weak_ptr(shared_ptr<_T>) -> weak_ptr<_T>;
#endif

}  // namespace std

#endif
