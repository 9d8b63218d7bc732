#ifndef FILTER_MAX_RADIUS
#error "FILTER_MAX_RADIUS is a define of kernels.yaml"
#endif

// All threads of a warp read the same weight at the same time, which is what constant memory is fast at. The host fills
// it, row by row without gaps, through kernel.get_global("d_filter"); kernels.yaml lists it under `globals`.
__constant__ float d_filter[(2 * FILTER_MAX_RADIUS + 1) * (2 * FILTER_MAX_RADIUS + 1)];

// out[r, c] = sum over dy, dx of d_filter[dy, dx] * in[r + dy - RADIUS, c + dx - RADIUS] (a correlation: the weights
// are not flipped); pixels outside the image take the value of the nearest pixel inside. A block of TILE_W * TILE_H
// threads makes a tile of as many pixels. `out` must not overlap `in`.
template <int RADIUS, int TILE_W, int TILE_H>
__global__ void __launch_bounds__(TILE_W* TILE_H)
    filter2d(const float* __restrict__ in, float* __restrict__ out, long long height, long long width) {
    static_assert(RADIUS <= FILTER_MAX_RADIUS, "d_filter is too small");
    constexpr int kSide = 2 * RADIUS + 1;
    constexpr int kPatchW = TILE_W + 2 * RADIUS;
    constexpr int kPatchH = TILE_H + 2 * RADIUS;
    __shared__ float patch[kPatchH][kPatchW];

    const long long tiles_across = (width + TILE_W - 1) / TILE_W;
    const long long tiles = tiles_across * ((height + TILE_H - 1) / TILE_H);
    const int x = threadIdx.x % TILE_W;
    const int y = threadIdx.x / TILE_W;
    // One grid dimension over all tiles: gridDim.y would end at 65535, and a tall image does not.
    for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const long long left = tile % tiles_across * TILE_W;
        const long long top = tile / tiles_across * TILE_H;
        for (int i = threadIdx.x; i < kPatchW * kPatchH; i += TILE_W * TILE_H) {
            const long long row = max(0LL, min(top + i / kPatchW - RADIUS, height - 1));
            const long long column = max(0LL, min(left + i % kPatchW - RADIUS, width - 1));
            patch[i / kPatchW][i % kPatchW] = in[row * width + column];
        }
        __syncthreads();
        if (top + y < height && left + x < width) {
            float sum = 0.0f;
#pragma unroll
            for (int dy = 0; dy < kSide; ++dy) {
#pragma unroll
                for (int dx = 0; dx < kSide; ++dx) sum += d_filter[dy * kSide + dx] * patch[y + dy][x + dx];
            }
            out[(top + y) * width + left + x] = sum;
        }
        __syncthreads();  // before the next tile overwrites `patch`
    }
}
