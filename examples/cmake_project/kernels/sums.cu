__constant__ double d_scale;

// Adds up the elements that a block gets, BLOCK of them, and scales the sum.
template <typename T, int BLOCK>
__global__ void block_sum(T* sums, const T* x, int n) {
    __shared__ T partial[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    partial[threadIdx.x] = i < n ? x[i] : T(0);
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = T(d_scale) * partial[0];
}
