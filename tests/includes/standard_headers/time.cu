#include <chrono>
#include <ratio>

#define CHECK(...) static_assert((__VA_ARGS__), "")

using namespace std::chrono;

CHECK(duration_cast<milliseconds>(seconds(2)).count() == 2000 && milliseconds(1500) > seconds(1));
CHECK((seconds(1) + milliseconds(1)).count() == 1001 && duration<double>(milliseconds(500)).count() == 0.5);
CHECK(minutes(1) == seconds(60) && 5ms == microseconds(5000) && (seconds(1) * 3).count() == 3);
CHECK(duration_cast<microseconds>(1.5ms).count() == 1500 && seconds(7) / seconds(2) == 3);
CHECK(std::ratio_multiply<std::ratio<2, 3>, std::ratio<3, 4>>::den == 2 && std::ratio_less<std::milli, std::kilo>::value);
CHECK(std::ratio_add<std::ratio<1, 2>, std::ratio<1, 3>>::num == 5 && std::ratio<2, -4>::num == -1);

extern "C" __global__ void kernel(double* x) {
    const auto start = steady_clock::now(), end = std::chrono::steady_clock::now();
    const duration<double, std::milli> passed = end - start;
    *x = passed.count() + duration_cast<nanoseconds>(end - start).count() + (start < end) + (start + 5ms - end).count() +
         system_clock::now().time_since_epoch().count();
}
