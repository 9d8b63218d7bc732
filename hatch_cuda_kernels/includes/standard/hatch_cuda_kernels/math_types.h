// What the functions of <math.h> give for integers, for long double and for mixed types.
#ifndef _HATCH_MATH_TYPES_H
#define _HATCH_MATH_TYPES_H

#include <hatch_cuda_kernels/scalars.h>

namespace std {

namespace __hatch {

template <class _T>
struct __single : __told<false> {};
template <>
struct __single<float> : __told<true> {};
template <class _T>
struct __extended : __told<__floating<_T>::value && (sizeof(_T) > sizeof(double))> {};

// NVRTC has functions of float and of double. All else is computed in double; the type is double for an integer, and
// long double where there is one.
template <class _T, class _R = typename conditional<__extended<_T>::value, _T, double>::type>
using __promote = typename enable_if<__integral<_T>::value || __extended<_T>::value, _R>::type;
// Of several types; none where all of them are float.
template <class _T, class _U, class _V = _T>
using __promoted = typename enable_if<
    __arithmetic<_T>::value && __arithmetic<_U>::value && __arithmetic<_V>::value &&
        !(__single<_T>::value && __single<_U>::value && __single<_V>::value),
    typename conditional<__extended<_T>::value || __extended<_U>::value || __extended<_V>::value, long double,
                         double>::type>::type;
template <class _T, class _R>
using __if_arithmetic = typename enable_if<__arithmetic<_T>::value, _R>::type;

}  // namespace __hatch

}  // namespace std

#endif
