#include "bench/grid.cuh"

// Counter-based random numbers (Philox 4x32, ROUNDS rounds): element i is a function of the seed and of i alone.
__device__ inline uint4 philox(unsigned long long counter, unsigned long long seed) {
    uint4 state = make_uint4(static_cast<unsigned>(counter), static_cast<unsigned>(counter >> 32), 0u, 0u);
    unsigned low = static_cast<unsigned>(seed), high = static_cast<unsigned>(seed >> 32);
#pragma unroll
    for (int round = 0; round < ROUNDS; ++round) {
        const unsigned h0 = __umulhi(0xD2511F53u, state.x), l0 = 0xD2511F53u * state.x;
        const unsigned h1 = __umulhi(0xCD9E8D57u, state.z), l1 = 0xCD9E8D57u * state.z;
        state = make_uint4(h1 ^ state.y ^ low, l1, h0 ^ state.w ^ high, l0);
        low += 0x9E3779B9u;
        high += 0xBB67AE85u;
    }
    return state;
}

__device__ inline T unit(unsigned bits) { return (static_cast<T>(bits) + T(0.5)) * T(2.3283064365386963e-10); }

extern "C" __global__ void uniform(T* __restrict__ out, long long n, unsigned long long seed) {
    for (long long i = bench::first(); i < (n + 3) / 4; i += bench::stride()) {
        const uint4 bits = philox(i, seed);
        const unsigned four[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
        for (int k = 0; k < 4; ++k)
            if (4 * i + k < n) out[4 * i + k] = unit(four[k]);
    }
}

extern "C" __global__ void normal(T* __restrict__ out, long long n, unsigned long long seed, T mean, T deviation) {
    for (long long i = bench::first(); i < (n + 1) / 2; i += bench::stride()) {
        const uint4 bits = philox(i, seed);
        const T radius = sqrt(T(-2) * log(unit(bits.x))) * deviation, angle = T(6.2831853071795865) * unit(bits.y);
        out[2 * i] = mean + radius * cos(angle);
        if (2 * i + 1 < n) out[2 * i + 1] = mean + radius * sin(angle);
    }
}
