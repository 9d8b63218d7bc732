// Torch's accessors of tensors, as they lie in memory: a pointer, the sizes, the strides. What makes one is the host's.
#ifndef _HATCH_TORCH_ACCESSORS_H
#define _HATCH_TORCH_ACCESSORS_H

#include <hatch_cuda_kernels/torch_namespaces.h>

namespace at {

template <class _T>
struct DefaultPtrTraits {
    typedef _T* PtrType;
};
template <class _T>
struct RestrictPtrTraits {
    typedef _T* __restrict__ PtrType;
};

// Of one part of a tensor: the sizes and strides are the whole tensor's.
template <class _T, size_t _N, template <class> class _Traits = DefaultPtrTraits, class _I = int64_t>
class TensorAccessorBase {
   public:
    typedef typename _Traits<_T>::PtrType PtrType;

    _HATCH_HD TensorAccessorBase(PtrType __data, const _I* __sizes, const _I* __strides)
        : data_(__data), sizes_(__sizes), strides_(__strides) {}
    _HATCH_HD _I size(_I __i) const { return sizes_[__i]; }
    _HATCH_HD _I stride(_I __i) const { return strides_[__i]; }
    _HATCH_HD PtrType data() { return data_; }
    _HATCH_HD const PtrType data() const { return data_; }

   protected:
    PtrType data_;
    const _I* sizes_;
    const _I* strides_;
};

template <class _T, size_t _N, template <class> class _Traits = DefaultPtrTraits, class _I = int64_t>
class TensorAccessor : public TensorAccessorBase<_T, _N, _Traits, _I> {
    typedef TensorAccessor<_T, _N - 1, _Traits, _I> _Row;

   public:
    typedef typename _Traits<_T>::PtrType PtrType;

    _HATCH_HD TensorAccessor(PtrType __data, const _I* __sizes, const _I* __strides)
        : TensorAccessorBase<_T, _N, _Traits, _I>(__data, __sizes, __strides) {}
    _HATCH_HD _Row operator[](_I __i) {
        return _Row(this->data_ + this->strides_[0] * __i, this->sizes_ + 1, this->strides_ + 1);
    }
    _HATCH_HD const _Row operator[](_I __i) const {
        return _Row(this->data_ + this->strides_[0] * __i, this->sizes_ + 1, this->strides_ + 1);
    }
};
template <class _T, template <class> class _Traits, class _I>
class TensorAccessor<_T, 1, _Traits, _I> : public TensorAccessorBase<_T, 1, _Traits, _I> {
   public:
    typedef typename _Traits<_T>::PtrType PtrType;

    _HATCH_HD TensorAccessor(PtrType __data, const _I* __sizes, const _I* __strides)
        : TensorAccessorBase<_T, 1, _Traits, _I>(__data, __sizes, __strides) {}
    _HATCH_HD _T& operator[](_I __i) { return this->data_[this->strides_[0] * __i]; }
    _HATCH_HD const _T& operator[](_I __i) const { return this->data_[this->strides_[0] * __i]; }
};

// Of a whole tensor, as a kernel takes it.
template <class _T, size_t _N, template <class> class _Traits = DefaultPtrTraits, class _I = int64_t>
class GenericPackedTensorAccessorBase {
   public:
    typedef typename _Traits<_T>::PtrType PtrType;

    _HATCH_HD GenericPackedTensorAccessorBase(PtrType __data, const _I* __sizes, const _I* __strides);
    _HATCH_HD _I size(_I __i) const { return sizes_[__i]; }
    _HATCH_HD _I stride(_I __i) const { return strides_[__i]; }
    _HATCH_HD PtrType data() { return data_; }
    _HATCH_HD const PtrType data() const { return data_; }

   protected:
    PtrType data_;
    _I sizes_[_N];
    _I strides_[_N];
    _HATCH_HD void bounds_check_(_I __i) const;
};

template <class _T, size_t _N, template <class> class _Traits = DefaultPtrTraits, class _I = int64_t>
class GenericPackedTensorAccessor : public GenericPackedTensorAccessorBase<_T, _N, _Traits, _I> {
    typedef TensorAccessor<_T, _N - 1, _Traits, _I> _Row;

   public:
    typedef typename _Traits<_T>::PtrType PtrType;

    _HATCH_HD GenericPackedTensorAccessor(PtrType __data, const _I* __sizes, const _I* __strides);
    __device__ _Row operator[](_I __i) {
        return _Row(this->data_ + this->strides_[0] * __i, this->sizes_ + 1, this->strides_ + 1);
    }
    __device__ const _Row operator[](_I __i) const {
        return _Row(this->data_ + this->strides_[0] * __i, this->sizes_ + 1, this->strides_ + 1);
    }
    _HATCH_HD GenericPackedTensorAccessor transpose(_I, _I) const;
};
template <class _T, template <class> class _Traits, class _I>
class GenericPackedTensorAccessor<_T, 1, _Traits, _I> : public GenericPackedTensorAccessorBase<_T, 1, _Traits, _I> {
   public:
    typedef typename _Traits<_T>::PtrType PtrType;

    _HATCH_HD GenericPackedTensorAccessor(PtrType __data, const _I* __sizes, const _I* __strides);
    __device__ _T& operator[](_I __i) { return this->data_[this->strides_[0] * __i]; }
    __device__ const _T& operator[](_I __i) const { return this->data_[this->strides_[0] * __i]; }
    _HATCH_HD GenericPackedTensorAccessor transpose(_I, _I) const;
};

template <class _T, size_t _N, template <class> class _Traits = DefaultPtrTraits, class _I = int64_t>
using PackedTensorAccessor = GenericPackedTensorAccessor<_T, _N, _Traits, _I>;
template <class _T, size_t _N, template <class> class _Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<_T, _N, _Traits, int32_t>;
template <class _T, size_t _N, template <class> class _Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<_T, _N, _Traits, int64_t>;

}  // namespace at

#endif
