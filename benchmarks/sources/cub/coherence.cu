#include <cub/block/block_reduce.cuh>
#include <cuda/std/complex>

// |sum of exp(i * x)| of each block's values: how much their phases agree.
template <class T, int BLOCK, int ITEMS>
__global__ void __launch_bounds__(BLOCK) coherence(const T* in, T* out, int n) {
    using Complex = cuda::std::complex<T>;
    using Reduce = cub::BlockReduce<Complex, BLOCK>;
    __shared__ typename Reduce::TempStorage storage;
    Complex sum(T(0), T(0));
    for (int item = 0; item < ITEMS; ++item) {
        const int i = (blockIdx.x * ITEMS + item) * BLOCK + threadIdx.x;
        if (i < n) sum += cuda::std::polar(T(1), in[i]);
    }
    sum = Reduce(storage).Sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = cuda::std::abs(sum);
}
