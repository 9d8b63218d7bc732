#include <chrono>
#include <filesystem>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <typeindex>
#include <vector>
#if __cplusplus >= 202002L
#include <compare>
#include <ranges>
#include <span>
#include <variant>
struct Nothing {};
template <class T>
constexpr int order = std::three_way_comparable<T, std::strong_ordering>  ? 3
                      : std::three_way_comparable<T, std::weak_ordering> ? 2
                      : std::three_way_comparable<T>                     ? 1
                                                                         : 0;
static_assert(order<std::string> == 3 && order<std::string_view> == 3 && order<std::wstring> == 3);
static_assert(order<std::vector<int>> == 3 && order<std::vector<float>> == 1 && order<std::vector<Nothing>> == 0);
static_assert(order<std::map<int, std::string>> == 3 && order<std::map<int, Nothing>> == 0 && order<std::queue<int>> == 3);
static_assert(order<std::variant<int, long>> == 3 && order<std::variant<int, float>> == 1 && order<std::monostate> == 3);
static_assert(order<std::variant<int, Nothing>> == 0 && !std::totally_ordered<std::vector<Nothing>>);
static_assert(order<std::unique_ptr<int>> == 3 && order<std::shared_ptr<void>> == 3 && order<std::weak_ptr<int>> == 0);
static_assert(order<std::chrono::seconds> == 3 && order<std::chrono::duration<float>> == 1);
static_assert(order<std::chrono::time_point<std::chrono::system_clock>> == 3 && order<std::thread::id> == 3);
static_assert(order<std::reverse_iterator<int*>> == 3 && order<std::move_iterator<std::vector<int>::iterator>> == 3);
static_assert(order<std::vector<int>::iterator> == 3 && order<std::list<int>::iterator> == 0);
static_assert(!std::totally_ordered<std::list<int>::iterator> && std::equality_comparable<std::list<int>::iterator>);
static_assert(!std::totally_ordered<std::move_iterator<std::list<int>::iterator>>);
static_assert(order<std::error_code> == 3 && order<std::type_index> == 3 && order<std::filesystem::path> == 3);
static_assert(std::ranges::view<std::span<int>> && std::ranges::borrowed_range<std::span<int>>);
static_assert(std::ranges::view<std::string_view> && std::ranges::borrowed_range<std::string_view>);
static_assert((std::string_view("a") <=> std::string_view("b")) < 0 && std::string_view("b") > "a");
static_assert((std::chrono::seconds(1) <=> std::chrono::milliseconds(999)) > 0 && std::chrono::seconds(61) > std::chrono::minutes(1));
using Either = std::variant<int, long>;
struct Version {
    int number;
    __host__ __device__ constexpr std::strong_ordering operator<=>(const Version& other) const { return number <=> other.number; }
    __host__ __device__ constexpr bool operator==(const Version& other) const { return number == other.number; }
    static constexpr bool ordered = std::three_way_comparable<Version> && std::totally_ordered_with<Version, Version>;
};
static_assert(Version::ordered);
#endif
struct Step {
    using value_type = int;
    using difference_type = long;
    using pointer = const int*;
    using reference = int;
    using iterator_category = std::bidirectional_iterator_tag;
    int at;
    __host__ __device__ constexpr int operator*() const { return at; }
    __host__ __device__ constexpr bool operator==(const Step& other) const { return at == other.at; }
    __host__ __device__ constexpr bool operator<(const Step& other) const { return at < other.at; }
};
#if __cplusplus >= 201703L
constexpr std::move_iterator<Step> first(Step{1}), second(Step{2});
static_assert(first < second && second > first && first <= second && second >= first && first == first && first != second);
constexpr std::reverse_iterator<Step> late(Step{2}), early(Step{1});
static_assert(early > late && late == late && late != early);
#if __cplusplus < 202002L
static_assert(late < early && late <= early && early >= late);
#endif
#endif
extern "C" __global__ void kernel(int* p) { *p = std::chrono::seconds(*p) > std::chrono::minutes(2); }
