// std::allocator and what is asked of one: for the host's containers, and classes that take an allocator.
#ifndef _HATCH_HOST_ALLOCATOR_H
#define _HATCH_HOST_ALLOCATOR_H

#include <hatch_cuda_kernels/host_classes.h>
#include <type_traits>

namespace std {

template <class _T>
class allocator {
   public:
    typedef _T value_type;
    typedef size_t size_type;
    typedef ptrdiff_t difference_type;
    typedef true_type propagate_on_container_move_assignment;
    typedef true_type is_always_equal;
    _HATCH_HD allocator() noexcept;
    _HATCH_HD allocator(const allocator&) noexcept;
    template <class _U>
    _HATCH_HD allocator(const allocator<_U>&) noexcept;
    _HATCH_HD ~allocator();
    allocator& operator=(const allocator&) = default;
    _HATCH_HD _T* allocate(size_t);
    _HATCH_HD void deallocate(_T*, size_t);
#if !_HATCH_CPP20
    typedef _T* pointer;
    typedef const _T* const_pointer;
    typedef _T& reference;
    typedef const _T& const_reference;
    template <class _U>
    struct rebind {
        typedef allocator<_U> other;
    };
    _HATCH_HD _T* allocate(size_t, const void*);
    _HATCH_HD _T* address(_T&) const noexcept;
    _HATCH_HD const _T* address(const _T&) const noexcept;
    _HATCH_HD size_t max_size() const noexcept;
    template <class _U, class... _X>
    _HATCH_HD void construct(_U*, _X&&...);
    template <class _U>
    _HATCH_HD void destroy(_U*);
#endif
};
template <>
class allocator<void> {
   public:
    typedef void value_type;
    typedef size_t size_type;
    typedef ptrdiff_t difference_type;
    typedef true_type propagate_on_container_move_assignment;
    typedef true_type is_always_equal;
#if _HATCH_CPP20
    allocator() = default;
    template <class _U>
    _HATCH_HD constexpr allocator(const allocator<_U>&) noexcept {}
#else
    typedef void* pointer;
    typedef const void* const_pointer;
    template <class _U>
    struct rebind {
        typedef allocator<_U> other;
    };
#endif
};
template <class _A, class _B>
_HATCH_HD bool operator==(const allocator<_A>&, const allocator<_B>&) noexcept;
template <class _A, class _B>
_HATCH_HD bool operator!=(const allocator<_A>&, const allocator<_B>&) noexcept;

}  // namespace std

#endif
