// Torch's atomic functions, for the numbers that CUDA's are not for, too. Like Torch's own header, it gives atomicAdd
// these overloads. What is shorter than a word is changed within the word that it lies in.
#ifndef _HATCH_TORCH_ATOMICS_H
#define _HATCH_TORCH_ATOMICS_H

#include <hatch_cuda_kernels/torch_numerics.h>

namespace _hatch_torch {

// In Torch's order, which tells zeros of two signs apart. Of larger and smaller, NaN is both.
struct _sum {
    template <class _T>
    __device__ auto operator()(_T __a, _T __b) const { return __a + __b; }
    __device__ bool operator()(bool __a, bool __b) const { return __a || __b; }
};
struct _product {
    template <class _T>
    __device__ auto operator()(_T __a, _T __b) const { return __a * __b; }
};
struct _larger {
    template <class _T>
    __device__ _T operator()(_T __a, _T __b) const { return at::_isnan(__b) ? __b : __a < __b ? __b : __a; }
};
struct _smaller {
    template <class _T>
    __device__ _T operator()(_T __a, _T __b) const { return at::_isnan(__b) ? __b : __b < __a ? __b : __a; }
};

// The word that a number of some bytes lies in, and how it is read from it and put into it.
template <class _T, int _bytes = sizeof(_T)>
struct _word {
    typedef uint32_t type;
    size_t offset;
    uint32_t* at;
    uint32_t shift;
    explicit __device__ _word(_T* __p)
        : offset((size_t)__p & 3), at((uint32_t*)((char*)__p - offset)), shift(offset * 8) {}
    __device__ _T read(uint32_t __held) const { return static_cast<_T>((__held >> shift) & 0xff); }
    __device__ uint32_t with(uint32_t __held, _T __value) const {
        return (__held & ~(0x000000ffu << shift)) | (uint32_t(static_cast<uint8_t>(__value)) << shift);
    }
};
template <class _T>
struct _word<_T, 2> {
    typedef uint32_t type;
    size_t offset;
    uint32_t* at;
    explicit __device__ _word(_T* __p)
        : offset((size_t)__p & 2), at((uint32_t*)((char*)__p - offset)) {}
    __device__ _T read(uint32_t __held) const { return _of(offset ? __held >> 16 : __held & 0xffff, (_T*)nullptr); }
    template <class _V>
    __device__ uint32_t with(uint32_t __held, _V __value) const {
        const uint32_t __new = _bits(__value);
        return offset ? (__held & 0xffff) | (__new << 16) : (__held & 0xffff0000) | __new;
    }

   private:
    static __device__ int16_t _of(uint32_t __bits, int16_t*) { return static_cast<int16_t>(__bits); }
    template <class _N>
    static __device__ _N _of(uint32_t __bits, _N*) { return _N(static_cast<unsigned short>(__bits), _N::from_bits()); }
    static __device__ uint32_t _bits(int __value) { return static_cast<uint16_t>(__value); }
    static __device__ uint32_t _bits(at::Half __value) { return __value.x; }
    static __device__ uint32_t _bits(at::BFloat16 __value) { return __value.x; }
};
template <class _T>
struct _word<_T, 4> {
    typedef uint32_t type;
    uint32_t* at;
    explicit __device__ _word(_T* __p) : at((uint32_t*)__p) {}
    __device__ _T read(uint32_t __held) const { return _of(__held, (_T*)nullptr); }
    __device__ uint32_t with(uint32_t, _T __value) const { return _bits(__value); }

   private:
    static __device__ int32_t _of(uint32_t __bits, int32_t*) { return static_cast<int32_t>(__bits); }
    static __device__ float _of(uint32_t __bits, float*) { return __int_as_float(__bits); }
    static __device__ uint32_t _bits(int32_t __value) { return static_cast<uint32_t>(__value); }
    static __device__ uint32_t _bits(float __value) { return __float_as_int(__value); }
};
template <class _T>
struct _word<_T, 8> {
    typedef unsigned long long type;
    unsigned long long* at;
    explicit __device__ _word(_T* __p) : at((unsigned long long*)__p) {}
    __device__ _T read(unsigned long long __held) const { return _of(__held, (_T*)nullptr); }
    __device__ unsigned long long with(unsigned long long, _T __value) const { return _bits(__value); }

   private:
    static __device__ double _of(unsigned long long __bits, double*) { return __longlong_as_double(__bits); }
    template <class _N>
    static __device__ _N _of(unsigned long long __bits, _N*) { return static_cast<_N>(__bits); }
    static __device__ unsigned long long _bits(double __value) { return __double_as_longlong(__value); }
    template <class _N>
    static __device__ unsigned long long _bits(_N __value) { return static_cast<unsigned long long>(__value); }
};

// What is compared are bits: NaN is unlike itself.
template <bool _held_first, class _T, class _Op>
inline __device__ _T _change(_T* __p, _T __value, _Op __op) {
    const _word<_T> __word(__p);
    typename _word<_T>::type __held = *__word.at, __assumed;
    do {
        __assumed = __held;
        const _T __old = __word.read(__held);
        const auto __new = _held_first ? __op(__old, __value) : __op(__value, __old);
        __held = atomicCAS(__word.at, __assumed, __word.with(__held, __new));
    } while (__assumed != __held);
    return __word.read(__held);
}

}  // namespace _hatch_torch

#define _HATCH_CHANGES(name, T, op) \
    inline __device__ void name(T* __p, T __value) { _hatch_torch::_change<false>(__p, __value, _hatch_torch::op()); }
#define _HATCH_RETURNS(name, T, op, held_first)                                       \
    inline __device__ T name(T* __p, T __value) {                                     \
        return _hatch_torch::_change<held_first>(__p, __value, _hatch_torch::op()); \
    }
// Torch returns the bits of a BFloat16 as a number.
#define _HATCH_ALL(name, op)                                                                                    \
    _HATCH_CHANGES(name, uint8_t, op)                                                                           \
    _HATCH_CHANGES(name, int8_t, op)                                                                            \
    _HATCH_CHANGES(name, int16_t, op)                                                                           \
    _HATCH_CHANGES(name, int32_t, op)                                                                           \
    _HATCH_CHANGES(name, long long, op)                                                                         \
    _HATCH_CHANGES(name, long, op)                                                                              \
    _HATCH_RETURNS(name, at::Half, op, true)                                                                    \
    _HATCH_RETURNS(name, float, op, false)                                                                      \
    _HATCH_RETURNS(name, double, op, false)                                                                     \
    inline __device__ at::BFloat16 name(at::BFloat16* __p, at::BFloat16 __value) {                              \
        return static_cast<float>(_hatch_torch::_change<true>(__p, __value, _hatch_torch::op()).x);             \
    }
_HATCH_ALL(gpuAtomicMul, _product)
_HATCH_ALL(gpuAtomicMax, _larger)
_HATCH_ALL(gpuAtomicMin, _smaller)
#undef _HATCH_ALL

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 600
_HATCH_RETURNS(atomicAdd, double, _sum, false)
#endif

_HATCH_CHANGES(gpuAtomicAdd, bool, _sum)
_HATCH_CHANGES(gpuAtomicAdd, uint8_t, _sum)
_HATCH_CHANGES(gpuAtomicAdd, int8_t, _sum)
_HATCH_CHANGES(gpuAtomicAdd, int16_t, _sum)
inline __device__ int32_t gpuAtomicAdd(int32_t* __p, int32_t __value) { return atomicAdd(__p, __value); }
inline __device__ float gpuAtomicAdd(float* __p, float __value) { return atomicAdd(__p, __value); }
inline __device__ double gpuAtomicAdd(double* __p, double __value) { return atomicAdd(__p, __value); }
#define _HATCH_OF_64_BITS(T)                                                                    \
    inline __device__ void gpuAtomicAdd(T* __p, T __value) {                                    \
        atomicAdd((unsigned long long*)__p, static_cast<unsigned long long>(__value)); \
    }
_HATCH_OF_64_BITS(long long)
_HATCH_OF_64_BITS(long)
#undef _HATCH_OF_64_BITS
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
_HATCH_RETURNS(gpuAtomicAdd, at::Half, _sum, true)
#else
inline __device__ at::Half gpuAtomicAdd(at::Half* __p, at::Half __value) {
    return atomicAdd((__half*)__p, __ushort_as_half(__value.x));
}
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
inline __device__ at::BFloat16 gpuAtomicAdd(at::BFloat16* __p, at::BFloat16 __value) {
    return static_cast<float>(_hatch_torch::_change<true>(__p, __value, _hatch_torch::_sum()).x);
}
#else
inline __device__ at::BFloat16 gpuAtomicAdd(at::BFloat16* __p, at::BFloat16 __value) {
    return atomicAdd((__nv_bfloat16*)__p, __ushort_as_bfloat16(__value.x));
}
#endif
template <class _T>
inline __device__ void gpuAtomicAdd(c10::complex<_T>* __p, c10::complex<_T> __value) {
    gpuAtomicAdd(&__p->real_, __value.real_);
    gpuAtomicAdd(&__p->imag_, __value.imag_);
}

#define _HATCH_ADDS(T) \
    inline __device__ void atomicAdd(T* __p, T __value) { gpuAtomicAdd(__p, __value); }
#define _HATCH_ADDS_ONLY(T) \
    inline __device__ void gpuAtomicAddNoReturn(T* __p, T __value) { gpuAtomicAdd(__p, __value); }
#define _HATCH_ADDS_BOTH(T) _HATCH_ADDS(T) _HATCH_ADDS_ONLY(T)
inline __device__ at::Half atomicAdd(at::Half* __p, at::Half __value) { return gpuAtomicAdd(__p, __value); }
inline __device__ at::BFloat16 atomicAdd(at::BFloat16* __p, at::BFloat16 __value) { return gpuAtomicAdd(__p, __value); }
_HATCH_ADDS_BOTH(bool)
_HATCH_ADDS_BOTH(uint8_t)
_HATCH_ADDS_BOTH(int8_t)
_HATCH_ADDS_BOTH(int16_t)
_HATCH_ADDS_BOTH(long long)
_HATCH_ADDS_BOTH(long)
_HATCH_ADDS_ONLY(int32_t)
_HATCH_ADDS_ONLY(float)
_HATCH_ADDS_ONLY(double)
_HATCH_ADDS_ONLY(at::Half)
_HATCH_ADDS_ONLY(at::BFloat16)
template <class _T>
inline __device__ void gpuAtomicAddNoReturn(c10::complex<_T>* __p, c10::complex<_T> __value) {
    gpuAtomicAdd(__p, __value);
}
#undef _HATCH_ADDS_BOTH
#undef _HATCH_ADDS_ONLY
#undef _HATCH_ADDS
#undef _HATCH_RETURNS
#undef _HATCH_CHANGES

#endif
