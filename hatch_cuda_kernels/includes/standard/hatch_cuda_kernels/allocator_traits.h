// What is asked of a class that allocates, or points.
#ifndef _HATCH_ALLOCATOR_TRAITS_H
#define _HATCH_ALLOCATOR_TRAITS_H

#include <hatch_cuda_kernels/host_allocator.h>

namespace std {

namespace __hatch {

template <class _P>
struct __pointed;
template <template <class, class...> class _P, class _T, class... _X>
struct __pointed<_P<_T, _X...>> {
    typedef _T type;
    template <class _U>
    using __to = _P<_U, _X...>;
};
// The member of that name, or what stands in for it.
#define _HATCH_MEMBER(name)                                                \
    template <class _A, class _Or, class = void>                           \
    struct __own_##name {                                                      \
        typedef _Or type;                                                  \
    };                                                                     \
    template <class _A, class _Or>                                         \
    struct __own_##name<_A, _Or, __hatch_void_t<typename _A::name>> {          \
        typedef typename _A::name type;                                    \
    };
_HATCH_MEMBER(pointer)
_HATCH_MEMBER(const_pointer)
_HATCH_MEMBER(void_pointer)
_HATCH_MEMBER(const_void_pointer)
_HATCH_MEMBER(size_type)
_HATCH_MEMBER(difference_type)
_HATCH_MEMBER(is_always_equal)
_HATCH_MEMBER(propagate_on_container_copy_assignment)
_HATCH_MEMBER(propagate_on_container_move_assignment)
_HATCH_MEMBER(propagate_on_container_swap)
#undef _HATCH_MEMBER
template <class _A, class _U, class = void>
struct __rebound {
    typedef typename __pointed<_A>::template __to<_U> type;
};
template <class _A, class _U>
struct __rebound<_A, _U, __hatch_void_t<typename _A::template rebind<_U>::other>> {
    typedef typename _A::template rebind<_U>::other type;
};

}  // namespace __hatch

template <class _P>
struct pointer_traits {
    typedef _P pointer;
    typedef typename __hatch::__pointed<_P>::type element_type;
    typedef typename __hatch::__own_difference_type<_P, ptrdiff_t>::type difference_type;
    template <class _U>
    using rebind = typename __hatch::__pointed<_P>::template __to<_U>;
    template <class _U>
    _HATCH_HD static _P pointer_to(_U&);
};
template <class _T>
struct pointer_traits<_T*> {
    typedef _T* pointer;
    typedef _T element_type;
    typedef ptrdiff_t difference_type;
    template <class _U>
    using rebind = _U*;
    template <class _U>
    _HATCH_HD static constexpr _T* pointer_to(_U& __x) noexcept {
        return __builtin_addressof(__x);
    }
};

template <class _A>
struct allocator_traits {
    typedef _A allocator_type;
    typedef typename _A::value_type value_type;
#define _HATCH_TYPE(name, ...) typedef typename __hatch::__own_##name<_A, __VA_ARGS__>::type name
    _HATCH_TYPE(pointer, value_type*);
    _HATCH_TYPE(const_pointer, const value_type*);
    _HATCH_TYPE(void_pointer, void*);
    _HATCH_TYPE(const_void_pointer, const void*);
    _HATCH_TYPE(difference_type, ptrdiff_t);
    _HATCH_TYPE(size_type, make_unsigned_t<difference_type>);
    _HATCH_TYPE(is_always_equal, integral_constant<bool, __is_empty(_A)>);
    _HATCH_TYPE(propagate_on_container_copy_assignment, false_type);
    _HATCH_TYPE(propagate_on_container_move_assignment, false_type);
    _HATCH_TYPE(propagate_on_container_swap, false_type);
#undef _HATCH_TYPE
    template <class _U>
    using rebind_alloc = typename __hatch::__rebound<_A, _U>::type;
    template <class _U>
    using rebind_traits = allocator_traits<rebind_alloc<_U>>;
    _HATCH_HD static pointer allocate(_A&, size_type);
    _HATCH_HD static pointer allocate(_A&, size_type, const_void_pointer);
    _HATCH_HD static void deallocate(_A&, pointer, size_type);
    template <class _U, class... _X>
    _HATCH_HD static void construct(_A&, _U*, _X&&...);
    template <class _U>
    _HATCH_HD static void destroy(_A&, _U*);
    _HATCH_HD static size_type max_size(const _A&) noexcept;
    _HATCH_HD static _A select_on_container_copy_construction(const _A&);
};
struct allocator_arg_t {
    explicit allocator_arg_t() = default;
};
extern __shared__ const allocator_arg_t allocator_arg;
template <class _T, class _A, class = void>
struct uses_allocator : false_type {};
template <class _T, class _A>
struct uses_allocator<_T, _A, enable_if_t<is_convertible<_A, typename _T::allocator_type>::value>> : true_type {};
#if _HATCH_CPP17
template <class _T, class _A>
inline constexpr bool uses_allocator_v = uses_allocator<_T, _A>::value;
#endif

}  // namespace std

#endif
