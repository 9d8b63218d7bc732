#include <array>
#include <iterator>
#include <tuple>
#include <utility>

#define CHECK(...) static_assert((__VA_ARGS__), "")

CHECK(std::is_same<std::make_index_sequence<3>, std::index_sequence<0, 1, 2>>::value);
CHECK(std::is_same<std::index_sequence_for<int, float>, std::index_sequence<0, 1>>::value);
CHECK(std::make_integer_sequence<int, 100>::size() == 100);

constexpr std::pair<int, float> pair{1, 2.f};
CHECK(pair.first == 1 && std::get<1>(pair) == 2.f && std::get<int>(pair) == 1);
CHECK(std::make_pair(1, 2) < std::make_pair(2, 1) && std::make_pair(1, 2) == std::make_pair(1, 2));
constexpr std::tuple<int, double> tuple(3, 4.0);
CHECK(std::get<0>(tuple) == 3 && std::get<double>(tuple) == 4.0);
CHECK(std::make_tuple(1, 2) < std::make_tuple(1, 3) && std::make_tuple(1, 2) == std::tuple<int, long>(1, 2));
CHECK(std::get<3>(std::tuple_cat(std::make_tuple(1, 2), std::make_tuple(3, 4))) == 4);
constexpr std::array<int, 3> array{1, 2, 3};
CHECK(array[1] == 2 && array.size() == 3 && std::get<2>(array) == 3 && *array.rbegin() == 3 && array.back() == 3);
CHECK(std::is_same<std::tuple_element_t<1, std::tuple<int, float>>, float>::value);
CHECK(std::tuple_size<std::pair<int, int>>::value == 2 && std::tuple_size<const std::array<int, 7>>::value == 7);
CHECK(sizeof(std::tuple<char, double, int>) == 24 && sizeof(std::array<float, 3>) == 12);
CHECK(std::is_same<std::iterator_traits<const int*>::value_type, int>::value);

struct Moved {  // can be moved and not copied
    int value;
    __device__ Moved(int x) : value(x) {}
    __device__ Moved(Moved&& other) : value(other.value) { other.value = 0; }
    Moved(const Moved&) = delete;
    __device__ Moved& operator=(Moved&& other) {
        value = other.value;
        return *this;
    }
};

__device__ int move_only() {
    std::pair<Moved, int> first(Moved(3), 4), second(std::move(first));
    second = std::pair<Moved, int>(Moved(1), 2);
    std::tuple<Moved, int> third(Moved(2), 3), fourth(std::move(third));
    std::pair<Moved, int> pieces(std::piecewise_construct, std::forward_as_tuple(3), std::make_tuple(5));
    return second.second + std::get<1>(fourth) + pieces.first.value + std::get<0>(std::move(fourth)).value;
}
__device__ int assigned(int x, int y) {
    int q, r;
    std::tie(q, r) = std::make_tuple(x, y);
    std::tie(q, r) = std::tie(r, q);
    std::swap(q, r);
    std::tie(q, std::ignore) = std::make_pair(3, 4);
    return q + std::exchange(q, 9) + r;
}
__device__ int iterated() {
    int numbers[3] = {1, 2, 3}, sum = 0;
    for (auto it = std::begin(numbers); it != std::end(numbers); ++it) {
        sum += *it;
    }
    for (int number : {1, 2, 3}) {
        sum += number;
    }
    std::array<int, 3> twos{};
    twos.fill(2);
    for (int number : twos) {
        sum += number;
    }
    std::swap(twos, twos);
    return sum + int(std::distance(twos.begin(), twos.end())) + *std::next(twos.begin()) + (twos == twos);
}
#if __cplusplus >= 201703L
__device__ int bound(const std::array<int, 3>& a) {
    auto [u, v] = std::make_pair(1, 2.f);
    const auto [c, d, e] = std::make_tuple(1, 2, 3);
    const auto [h, i, j] = a;
    auto add = [](int x, int y) { return x + y; };
    std::tuple deduced(1, 2.f);
    std::pair deduced_pair(1, 2);
    std::array deduced_array{1, 2};
    return u + int(v) + c + d + e + h + i + j + std::apply(add, std::make_pair(1, 2)) + std::get<0>(deduced) +
           deduced_pair.first + deduced_array[1] + std::make_from_tuple<Moved>(std::make_tuple(3)).value + int(std::size(a));
}
#endif
#if __cplusplus >= 202002L
static_assert(std::cmp_less(-1, 1u) && std::in_range<unsigned>(3) && !std::in_range<short>(70000));
static_assert(std::to_array({1, 2, 3})[2] == 3 && std::ssize(array) == 3);
#endif

extern "C" __global__ void kernel(int* x) { *x = move_only() + assigned(*x, 2) + iterated(); }
