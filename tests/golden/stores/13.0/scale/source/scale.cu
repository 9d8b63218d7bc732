#include "twice.h"

extern "C" __global__ void scale(float* x, float a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = a * TWICE(x[i]);
}

template <class T, int N>
__global__ void fill(T* y, T value) {
    if (threadIdx.x < N) y[threadIdx.x] = TWICE(value);
}
