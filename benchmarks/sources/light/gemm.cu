// C = alpha * A * B + beta * C, row-major, every size a multiple of the tile; (TILE_M / ROWS) * (TILE_N / COLUMNS)
// threads a block, each of which keeps ROWS x COLUMNS of C in registers.
constexpr int THREADS = (TILE_M / ROWS) * (TILE_N / COLUMNS);

template <bool TRANSPOSED>
__device__ void gemm(T alpha, const T* __restrict__ a, const T* __restrict__ b, T beta, T* __restrict__ c, int n, int k) {
    __shared__ T tile_a[TILE_K][TILE_M + 1], tile_b[TILE_K][TILE_N + 1];
    const int row = blockIdx.y * TILE_M, column = blockIdx.x * TILE_N;
    const int y = threadIdx.x / (TILE_N / COLUMNS) * ROWS, x = threadIdx.x % (TILE_N / COLUMNS) * COLUMNS;
    T sum[ROWS][COLUMNS] = {};
    for (int at = 0; at < k; at += TILE_K) {
        for (int i = threadIdx.x; i < TILE_M * TILE_K; i += THREADS)
            tile_a[i % TILE_K][i / TILE_K] = a[static_cast<long long>(row + i / TILE_K) * k + at + i % TILE_K];
        for (int i = threadIdx.x; i < TILE_N * TILE_K; i += THREADS) {
            if (TRANSPOSED)
                tile_b[i % TILE_K][i / TILE_K] = b[static_cast<long long>(column + i / TILE_K) * k + at + i % TILE_K];
            else
                tile_b[i / TILE_N][i % TILE_N] = b[static_cast<long long>(at + i / TILE_N) * n + column + i % TILE_N];
        }
        __syncthreads();
#pragma unroll
        for (int inner = 0; inner < TILE_K; ++inner) {
            T left[ROWS], right[COLUMNS];
#pragma unroll
            for (int i = 0; i < ROWS; ++i) left[i] = tile_a[inner][y + i];
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) right[j] = tile_b[inner][x + j];
#pragma unroll
            for (int i = 0; i < ROWS; ++i)
#pragma unroll
                for (int j = 0; j < COLUMNS; ++j) sum[i][j] += left[i] * right[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < ROWS; ++i)
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
            T* out = c + static_cast<long long>(row + y + i) * n + column + x + j;
            *out = alpha * sum[i][j] + beta * *out;
        }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm_nn(T alpha, const T* a, const T* b, T beta, T* c, int n, int k) {
    gemm<false>(alpha, a, b, beta, c, n, k);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm_nt(T alpha, const T* a, const T* b, T beta, T* c, int n, int k) {
    gemm<true>(alpha, a, b, beta, c, n, k);
}
