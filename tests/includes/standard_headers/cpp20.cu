#include <bit>
#include <cmath>
#include <compare>
#include <complex>
#include <concepts>
#include <functional>
#include <iterator>
#include <limits>
#include <numbers>
#include <numeric>
#include <source_location>
#include <span>
#include <tuple>

#if __cplusplus >= 202002L
static_assert(std::bit_cast<unsigned>(1.f) == 0x3f800000u && std::popcount(7u) == 3 && std::countl_zero(1u) == 31);
static_assert(std::countr_zero(8u) == 3 && std::bit_ceil(5u) == 8 && std::bit_floor(5u) == 4 && std::bit_width(5u) == 3);
static_assert(std::rotl(0x80000001u, 1) == 3 && std::rotr(3u, 1) == 0x80000001u && std::has_single_bit(4u));
static_assert(std::countl_zero(static_cast<unsigned char>(1)) == 7 && std::countr_zero(static_cast<unsigned short>(0)) == 16);
template <class T>
concept Counted = requires(T x) { std::popcount(x); std::bit_width(x); std::rotl(x, 1); };
template <class T>
concept Halved = requires(T x) { std::midpoint(x, x); };
static_assert(Counted<unsigned char> && !Counted<char16_t> && !Counted<char8_t> && !Counted<char32_t> && !Counted<bool>);
static_assert(Halved<char16_t> && !Halved<bool> && std::midpoint(0u, 0xffffffffu) == 0x7fffffff && std::midpoint(-3, 4) == 0);
static_assert(std::midpoint(3e38f, 3e38f) == 3e38f && std::midpoint(5e-324, 5e-324) == 5e-324 && std::midpoint(1.f, 2.f) == 1.5f);
static_assert(std::is_same_v<decltype(std::lerp(1, 2, 3)), double> && std::lerp(1, 2, 0.5f) == 1.5);
static_assert(std::is_same_v<decltype(std::lerp(1.f, 2.f, 3.f)), float> && std::lerp(3.f, 7.f, 1.f) == 7 && std::lerp(-1.0, 1.0, 0.25) == -0.5);
static_assert(std::endian::native == std::endian::little);
static_assert(std::numbers::pi > 3.14 && std::numbers::pi_v<float> < 3.15f);
static_assert(std::same_as<int, int> && !std::integral<float> && std::floating_point<double> && std::regular<int>);
static_assert(std::invocable<int (*)(int), int> && std::convertible_to<int, float> && !std::derived_from<int, float>);

static_assert(std::source_location::current().line() == __LINE__);

struct Version {
    int major, minor;
    auto operator<=>(const Version&) const = default;
};
static_assert(Version{1, 2} < Version{1, 3} && Version{2, 0} >= Version{1, 9} && Version{1, 2} == Version{1, 2});
struct Place {
    std::array<int, 2> at;
    std::pair<int, unsigned> of;
    auto operator<=>(const Place&) const = default;
};
static_assert(Place{{1, 2}, {3, 4}} > Place{{1, 2}, {2, 9}} && Place{{1, 2}, {3, 4}} < Place{{1, 3}, {0, 0}});
static_assert(std::is_same_v<decltype(Place{} <=> Place{}), std::strong_ordering>);
static_assert(std::is_same_v<decltype(std::pair(1, 2.f) <=> std::pair(1, 2.f)), std::partial_ordering>);
static_assert((std::tuple(1, 2) <=> std::tuple(1, 3)) < 0 && std::tuple(2, 1) >= std::tuple(1, 9));
static_assert(std::is_same_v<std::common_comparison_category_t<std::strong_ordering, std::weak_ordering>, std::weak_ordering>);
static_assert(!(std::unreachable_sentinel == 1) && sizeof(std::default_sentinel_t) == 1);
static_assert((1 <=> 2) < 0 && std::is_lt(1.0 <=> 2.0) && 0 < (2 <=> 1));

static_assert(std::span<const int>().empty() && std::span<int, 4>::extent == 4 && sizeof(std::span<int, 4>) == 8);

struct Kept {
    Kept() = default;
    Kept(const Kept&) = delete;
};
struct Throwing {
    __device__ Throwing(Throwing&&);
    __device__ Throwing& operator=(Throwing&&);
    __device__ ~Throwing() noexcept(false);
};
struct Swapped {
    Swapped(const Swapped&) = delete;
    friend __device__ void swap(Swapped&, Swapped&);
};
struct Loaded {
    __device__ Loaded(int);
    Loaded(const Loaded&) = delete;
    __device__ operator int() const;
};
struct Base {};
struct Derived : Base {};
using Wrapped = std::reference_wrapper<int>;
static_assert(std::is_convertible_v<int[], bool> && std::is_nothrow_convertible_v<int[3], const int*>);
static_assert(std::is_nothrow_convertible_v<int, double> && !std::is_nothrow_convertible_v<Throwing, Throwing>);
static_assert(std::is_nothrow_convertible_v<void, void> && !std::is_nothrow_convertible_v<int, void>);
template <class A, class B, class C>
constexpr bool is_common = std::is_same_v<std::common_reference_t<A, B>, C>;
static_assert(is_common<int&, const int&, const int&> && is_common<int&, int&&, const int&> && is_common<int&&, int&&, int&&>);
static_assert(is_common<Derived&, Base&, Base&> && is_common<const Derived&&, Base&&, const Base&&>);
static_assert(is_common<volatile int&, const int&, const volatile int&> && is_common<int&, double&, double>);
static_assert(is_common<Wrapped, double, double> && is_common<void, void, void> && is_common<int, short&, int>);
static_assert(std::is_same_v<std::common_reference_t<int&, const int&, short>, int>);
static_assert(std::is_same_v<std::common_reference_t<int&&>, int&&> && !std::common_reference_with<Base, int>);
static_assert(std::common_with<int, float> && !std::common_with<Kept, Kept> && std::common_with<Wrapped, double>);
static_assert(!std::assignable_from<int&, Loaded> && std::assignable_from<int&, float>);
static_assert(!std::swappable<Throwing> && std::swappable<Swapped> && std::swappable<Swapped[2]> && !std::swappable<Kept>);
static_assert(std::swappable_with<int&, int&> && !std::swappable_with<int&, long&> && !std::swappable<const int>);
static_assert(std::equality_comparable_with<int, long> && !std::equality_comparable_with<int*, long>);
static_assert(std::totally_ordered<std::move_iterator<int*>> && std::totally_ordered_with<int, float>);
static_assert(!std::equality_comparable<Base> && std::equivalence_relation<std::equal_to<>, int, long>);
static_assert(std::three_way_comparable<float> && !std::three_way_comparable<float, std::weak_ordering>);
static_assert(std::three_way_comparable_with<int, long, std::strong_ordering> && !std::three_way_comparable<std::tuple<Base>>);
static_assert(!std::equality_comparable<std::unreachable_sentinel_t> && !std::totally_ordered<std::pair<Base, int>>);
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
static_assert(!(std::pair(not_a_number, 1) < std::pair(1.f, 2)) && !(std::tuple(not_a_number, 1) < std::tuple(1.f, 2)));
static_assert(!(std::array{not_a_number, 1.f} <= std::array{1.f, 2.f}) && std::pair(1.f, 1) != std::pair(1.f, 2));
static_assert(!std::totally_ordered<std::tuple<Base>> && !std::is_invocable_v<std::compare_three_way, Base, Base>);

template <std::integral T>
__device__ T doubled(T x) {
    return x + x;
}
// As libstdc++ 12 has them.
static_assert(sizeof(std::bit_width(1ull)) == 8 && std::bit_width(1ull << 40) == 41);
static_assert(int(std::endian::native) == 1234 && int(std::endian::big) == 4321);
static_assert(std::norm(100000) == 1e10);
extern "C" __global__ void kernel(int* p, unsigned n) {
    std::span<int> all(p, n);
    int fixed[4] = {1, 2, 3, 4}, sum = 0;
    std::span deduced(fixed);
    std::array<int, 2> array{1, 2};
    std::span<const int> view = array, converted = all;
    for (int x : all.subspan(1)) {
        sum += x;
    }
    for (int x : deduced.first<2>()) {
        sum += x;
    }
    *p = doubled(sum) + view[1] + int(converted.size() + deduced.size_bytes()) + all.last(1)[0] + std::popcount(n) +
         std::countl_zero(n) + std::bit_cast<int>(2.f);
}
#else
extern "C" __global__ void kernel(int* p) { *p = 0; }
#endif
