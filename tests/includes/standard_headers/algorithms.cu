#include <algorithm>
#include <functional>
#include <numeric>

#define CHECK(...) static_assert((__VA_ARGS__), "")
#define EVALUATED __host__ __device__ constexpr int

CHECK(std::max(1, 2) == 2 && std::min({3, 1, 2}) == 1 && std::minmax({3, 1, 2}).second == 3);
CHECK(std::max(1, 2, std::greater<int>()) == 1);
CHECK(std::plus<int>()(1, 2) == 3 && std::plus<>()(1, 2.5) == 3.5 && std::greater<int>()(2, 1) && std::hash<int>()(7) == 7);
CHECK(std::logical_not<bool>()(false) && std::bit_xor<>()(6, 3) == 5 && std::negate<>()(2) == -2);

EVALUATED sorted(int i) {
    int a[7] = {5, 3, 1, 4, 2, 9, 8};
    std::sort(a, a + 7);
    return a[i];
}
CHECK(sorted(0) == 1 && sorted(1) == 2 && sorted(3) == 4 && sorted(5) == 8 && sorted(6) == 9);
EVALUATED stable(int i) {
    int a[5] = {51, 32, 53, 34, 15};
    std::stable_sort(a, a + 5, [](int x, int y) { return x / 10 < y / 10; });
    return a[i];
}
#if __cplusplus >= 201703L
CHECK(stable(0) == 15 && stable(1) == 32 && stable(2) == 34 && stable(3) == 51 && stable(4) == 53);
#endif
EVALUATED below(int x) {
    int a[5] = {1, 3, 5, 7, 9};
    return int(std::lower_bound(a, a + 5, x) - a) * 10 + int(std::upper_bound(a, a + 5, x) - a);
}
CHECK(below(0) == 0 && below(3) == 12 && below(4) == 22 && below(10) == 55);
EVALUATED turned() {
    int a[5] = {1, 3, 5, 7, 9};
    std::reverse(a, a + 5);
    std::rotate(a, a + 1, a + 5);
    return std::accumulate(a, a + 5, 0) * 100 + a[4] * 10 + int(std::find(a, a + 5, 1) - a);
}
CHECK(turned() == 2593);
EVALUATED middle() {
    int a[5] = {9, 1, 8, 2, 7};
    std::nth_element(a, a + 2, a + 5);
    return a[2];
}
CHECK(middle() == 7);
EVALUATED permutations() {
    int a[3] = {1, 2, 3}, n = 1;
    while (std::next_permutation(a, a + 3)) {
        ++n;
    }
    return n;
}
CHECK(permutations() == 6);
EVALUATED cleaned() {
    int a[7] = {1, 1, 2, 3, 3, 3, 4};
    int* end = std::remove(a, std::unique(a, a + 7), 3);
    return int(end - a) * 100 + a[2] * 10 + int(std::count(a, end, 2));
}
CHECK(cleaned() == 341);
EVALUATED merged(int i) {
    int a[3] = {1, 4, 6}, b[3] = {2, 3, 9}, c[6] = {};
    std::merge(a, a + 3, b, b + 3, c);
    return c[i];
}
CHECK(merged(1) == 2 && merged(3) == 4 && merged(5) == 9);
EVALUATED summed() {
    int a[3] = {1, 2, 3}, b[3] = {};
    std::partial_sum(a, a + 3, b);
    std::adjacent_difference(b, b + 3, b);
    return std::inner_product(a, a + 3, b, 0) + int(std::equal(a, a + 3, b));
}
CHECK(summed() == 15);
#if __cplusplus >= 201703L
CHECK(std::clamp(5, 1, 3) == 3 && std::gcd(12, 18) == 6 && std::gcd(-4, 6u) == 2 && std::lcm(4, 6) == 12);
CHECK(noexcept(std::gcd(12, 18)) && noexcept(std::lcm(4L, 6u)));
EVALUATED scanned() {
    int a[3] = {1, 2, 3}, b[3] = {};
    std::exclusive_scan(a, a + 3, b, 0);
    return b[2] * 10 + std::reduce(a, a + 3);
}
CHECK(scanned() == 36);
#endif
#if __cplusplus >= 202002L
CHECK(std::midpoint(1, 4) == 2 && std::midpoint(2147483647, 2147483645) == 2147483646 && std::identity()(3) == 3);
#endif

struct Item {
    int key;
    __device__ int plus(int x) const { return key + x; }
};
template <>
struct std::hash<Item> {
    __device__ size_t operator()(const Item& item) const { return item.key; }
};

__device__ int used(int* a, int n) {
    auto reference = std::ref(n);
    reference.get() += 1;
    int sum = std::mem_fn(&Item::plus)(Item{3}, 2) + int(std::hash<Item>()(Item{4}) + std::hash<float>()(2.f));
    std::sort(a, a + n, [](int x, int y) { return x > y; });
    std::for_each(a, a + n, [&](int x) { sum += x; });
    std::transform(a, a + n, a, std::negate<int>());
    std::fill(a, a + n, 3);
    std::iota(a, a + n, 2);
    std::swap(a[0], a[1]);
    return sum + *std::max_element(a, a + n) + int(std::max(2.f, 3.f)) + std::all_of(a, a + n, [](int x) { return x > 0; });
}

using namespace std;  // as .cu files do: NVRTC's own min and max go on being found

extern "C" __global__ void kernel(int* x) { *x = used(x, 2) + min(*x, 3) + max(*x, 4); }
