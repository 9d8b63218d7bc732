// One step of a 2-D stencil of radius RADIUS over shared memory, and of a 3-D star; borders are left as they are.
// SIDE * SIDE threads a block.
extern "C" __global__ void __launch_bounds__(SIDE* SIDE)
    box(const T* __restrict__ in, T* __restrict__ out, int height, int width, T weight) {
    constexpr int PATCH = SIDE + 2 * RADIUS;
    __shared__ T patch[PATCH][PATCH + 1];
    const int left = blockIdx.x * SIDE - RADIUS, top = blockIdx.y * SIDE - RADIUS;
    for (int i = threadIdx.x; i < PATCH * PATCH; i += SIDE * SIDE) {
        const int row = min(max(top + i / PATCH, 0), height - 1), column = min(max(left + i % PATCH, 0), width - 1);
        patch[i / PATCH][i % PATCH] = in[static_cast<long long>(row) * width + column];
    }
    __syncthreads();
    const int x = threadIdx.x % SIDE, y = threadIdx.x / SIDE;
    T sum = 0;
#pragma unroll
    for (int dy = 0; dy <= 2 * RADIUS; ++dy)
#pragma unroll
        for (int dx = 0; dx <= 2 * RADIUS; ++dx) sum += patch[y + dy][x + dx];
    const int row = top + RADIUS + y, column = left + RADIUS + x;
    if (row >= RADIUS && row < height - RADIUS && column >= RADIUS && column < width - RADIUS)
        out[static_cast<long long>(row) * width + column] = weight * sum;
}

extern "C" __global__ void star(const T* __restrict__ in, T* __restrict__ out, int depth, int height, int width, T a, T b) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < RADIUS || x >= width - RADIUS || y < RADIUS || y >= height - RADIUS) return;
    const long long plane = static_cast<long long>(height) * width;
    for (int z = RADIUS; z < depth - RADIUS; ++z) {
        const long long at = z * plane + static_cast<long long>(y) * width + x;
        T sum = a * in[at];
#pragma unroll
        for (int r = 1; r <= RADIUS; ++r)
            sum += b / r * (in[at - r] + in[at + r] + in[at - r * width] + in[at + r * width] + in[at - r * plane] + in[at + r * plane]);
        out[at] = sum;
    }
}
