// extern "C": the symbol is plain `saxpy`, so the build finds it by itself and kernels.yaml need not name it.
//
// n is 64-bit: an int index overflows at 2^31 elements, which is 8 GiB of float, an ordinary array on today's devices.
extern "C" __global__ void saxpy(float a, const float* __restrict__ x, float* __restrict__ y, long long n) {
    // A grid-stride loop is right for any grid, so the caller picks one that fills the device, not one that covers n.
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
        y[i] = a * x[i] + y[i];
    }
}
