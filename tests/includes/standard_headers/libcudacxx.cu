#include <atomic>
#include <expected>
#include <mdspan>
#include <ranges>
#include <variant>

static_assert(std::holds_alternative<int>(std::variant<float, int>(3)) && std::get<1>(std::variant<float, int>(3)) == 3);
static_assert(std::extents<int, 2, 3>::rank() == 2);

struct Twice {
    __device__ int operator()(int x) const { return 2 * x; }
    __device__ int operator()(float x) const { return static_cast<int>(2 * x); }
};
extern "C" __global__ void kernel(int* x, unsigned* n) {
    std::atomic<int> counter(0);
    counter.fetch_add(1, std::memory_order_relaxed);
    std::atomic_char small(1);
    ++small;
    char expected = 2;
    std::atomic_compare_exchange_strong(&small, &expected, char(3));
    volatile std::atomic<double> sum(1.);
    sum += 2;
    std::atomic<int*> at(x);
    std::atomic_store_explicit(&at, x + 1, std::memory_order_release);
    *at++ = int(sum.load()) + small;
    std::atomic_flag once = ATOMIC_FLAG_INIT;
    *n = once.test_and_set() ? std::atomic_load(&counter) : atomic_fetch_add(&counter, 3);
    std::variant<int, float> either = 2.f;
    std::expected<int, float> result = 3;
    std::mdspan<int, std::dextents<int, 2>> view(x, 2, 3);
    *x = counter.load() + std::visit(Twice(), either) + *std::get_if<1>(&either) + *result + view.extent(1);
}
