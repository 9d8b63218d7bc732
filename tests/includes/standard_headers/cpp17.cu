#include <optional>

#if __cplusplus >= 201703L
static_assert(std::is_trivially_copyable_v<std::optional<int>> && sizeof(std::optional<int>) == 8);
static_assert(!std::optional<int>() && *std::optional<int>(3) == 3 && std::optional(4).value_or(1) == 4);
static_assert(std::optional<int>() == std::nullopt && std::optional<int>(3) == 3 && std::optional(3) == std::optional(3L));

struct Owner {
    int value;
    __device__ Owner(int x) : value(x) {}
    __device__ Owner(Owner&& other) : value(other.value) { other.value = 0; }
    __device__ ~Owner() { value = -1; }
};
extern "C" __global__ void kernel(int* x) {
    std::optional<Owner> first(3), second(std::move(first));
    second.emplace(4);
    std::optional<float> number = *x > 2 ? std::make_optional(2.f) : std::nullopt;
    std::optional<double> wide = number;
    wide = std::nullopt;
    wide = 3.0;
    if (second) {
        *x = second->value + int(number.value_or(1) + wide.value());
    }
}
#else
extern "C" __global__ void kernel(int* x) { *x = 0; }
#endif
