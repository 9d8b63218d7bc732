// What queues and stacks of the host's have in common.
#ifndef _HATCH_HOST_ADAPTERS_H
#define _HATCH_HOST_ADAPTERS_H

#include <hatch_cuda_kernels/host_containers.h>

#define _HATCH_ADAPTER(name)                                                 \
    typedef _C container_type;                                               \
    typedef typename _C::value_type value_type;                              \
    typedef typename _C::reference reference;                                \
    typedef typename _C::const_reference const_reference;                    \
    typedef typename _C::size_type size_type;                                \
    _HATCH_HD name();                                                        \
    _HATCH_COPIED(name);                                                     \
    _HATCH_HD name& operator=(name&&) noexcept;                              \
    _HATCH_HD bool empty() const;                                            \
    _HATCH_HD size_type size() const;                                        \
    _HATCH_HD void push(const value_type&);                                  \
    _HATCH_HD void push(value_type&&);                                       \
    template <class... _X>                                                   \
    _HATCH_HD conditional_t<_HATCH_CPP17, reference, void> emplace(_X&&...); \
    _HATCH_HD void pop();                                                    \
    _HATCH_HD void swap(name&) noexcept

#endif
