#include "bench/grid.cuh"

// Special functions, element by element: each is a few hundred instructions of libdevice.
#define ELEMENTWISE(NAME, EXPRESSION)                                                                 \
    extern "C" __global__ void NAME(const T* __restrict__ in, T* __restrict__ out, long long n) {     \
        for (long long i = bench::first(); i < n; i += bench::stride()) {                             \
            const T x = in[i];                                                                        \
            out[i] = EXPRESSION;                                                                      \
        }                                                                                             \
    }

ELEMENTWISE(gelu, T(0.5) * x * (T(1) + erf(x * T(0.70710678118654752))))
ELEMENTWISE(gelu_tanh, T(0.5) * x * (T(1) + tanh(T(0.79788456080286536) * (x + T(0.044715) * x * x * x))))
ELEMENTWISE(gaussian, exp(T(-0.5) * x * x) * rsqrt(T(6.2831853071795865)))
ELEMENTWISE(wave, sin(x) + cos(x * T(2)))
ELEMENTWISE(power, pow(fabs(x), T(1.7)))
