// Through a padded tile, so that loads and stores both run along rows; TILE * 8 threads a block.
extern "C" __global__ void __launch_bounds__(TILE * 8)
    transpose(const T* __restrict__ in, T* __restrict__ out, int height, int width) {
    __shared__ T tile[TILE][TILE + 1];
    const int x = threadIdx.x % TILE, y = threadIdx.x / TILE;
    const int left = blockIdx.x * TILE, top = blockIdx.y * TILE;
#pragma unroll
    for (int row = y; row < TILE; row += 8)
        if (top + row < height && left + x < width) tile[row][x] = in[static_cast<long long>(top + row) * width + left + x];
    __syncthreads();
#pragma unroll
    for (int row = y; row < TILE; row += 8)
        if (left + row < width && top + x < height) out[static_cast<long long>(left + row) * height + top + x] = tile[x][row];
}
