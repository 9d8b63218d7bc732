#include <bitset>

__device__ constexpr std::bitset<70> filled(unsigned long long x, int by) {
    std::bitset<70> bits(x);
    bits <<= by;
    return bits;
}
static_assert(std::bitset<9>(5).count() == 2 && std::bitset<3>(0xff).count() == 3 && std::bitset<3>(7).all(), "");
static_assert(filled(3, 66).count() == 2 && filled(3, 69).count() == 1 && filled(3, 70).none(), "");
static_assert((filled(3, 66) >> 66).to_ulong() == 3 && (filled(~0ull, 3) >> 64).to_ullong() == 7, "");
static_assert((~std::bitset<70>()).count() == 70 && (filled(6, 0) & filled(3, 0)) == filled(2, 0), "");
static_assert((filled(6, 0) | filled(3, 0)) == filled(7, 0) && (filled(6, 0) ^ filled(3, 0)) == filled(5, 0), "");
static_assert(std::bitset<8>("0110").to_ulong() == 6 && std::bitset<8>("0110", 3).to_ulong() == 3, "");
static_assert(std::bitset<4>("xyyx", 4, 'x', 'y').to_ulong() == 6 && std::bitset<2>("1011").to_ulong() == 2, "");
static_assert(filled(1, 64)[64] && !filled(1, 64)[63] && filled(1, 64).test(64) && filled(1, 64) != filled(1, 63), "");
static_assert(std::bitset<0>().none() && std::bitset<0>().all() && std::bitset<0>(5).size() == 0, "");

extern "C" __global__ void kernel(int* x, unsigned* n) {
    std::bitset<100> bits(*n);
    bits.set(99).flip(98).reset(0);
    bits[5] = bits[4];
    bits[6].flip();
    *x = bits.count() + bits.any() + ~bits[7];
}
