#include <atomic>
#include <barrier>
#include <bitset>
#include <expected>
#include <latch>
#include <mdspan>
#include <ranges>
#include <semaphore>
#include <source_location>
#include <variant>

static_assert(std::bitset<9>(5).count() == 2);
static_assert(std::holds_alternative<int>(std::variant<float, int>(3)) && std::get<1>(std::variant<float, int>(3)) == 3);
static_assert(std::extents<int, 2, 3>::rank() == 2);

struct Twice {
    __device__ int operator()(int x) const { return 2 * x; }
    __device__ int operator()(float x) const { return static_cast<int>(2 * x); }
};
extern "C" __global__ void kernel(int* x, unsigned* n) {
    std::atomic<int> counter(0);
    counter.fetch_add(1, std::memory_order_relaxed);
    std::variant<int, float> either = 2.f;
    std::expected<int, float> result = 3;
    std::mdspan<int, std::dextents<int, 2>> view(x, 2, 3);
    *x = counter.load() + std::visit(Twice(), either) + *std::get_if<1>(&either) + *result + view.extent(1) +
         int(std::source_location::current().line());
}
