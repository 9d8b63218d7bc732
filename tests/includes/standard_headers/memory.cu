#include <cassert>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <new>
#include <stdexcept>

struct Counted {
    int value;
    __device__ explicit Counted(int x) : value(x) {}
};
struct Failure : std::runtime_error {  // device code cannot throw, but has such classes among its headers
    __device__ Failure() : std::runtime_error("failed") {}
};

__device__ int owned() {
    auto owner = std::make_unique<Counted>(3);
    std::unique_ptr<float[]> floats(new float[3]);
    floats[1] = 2;
    Counted* p = std::addressof(*owner);
    std::unique_ptr<Counted> other = std::move(owner);
    delete new (std::nothrow) float;
    alignas(8) char buffer[8];
    int* placed = new (buffer) int(3);
    return p->value + int(floats[1]) + other->value + *placed;
}
__device__ int copied(char* to, const char* from, size_t n) {
    std::memcpy(to, from, n);
    memmove(to + 1, to, n);
    std::memset(to, 0, 1);
    char* block = static_cast<char*>(std::malloc(n));
    assert(block != nullptr);
    strcpy(block, from);
    const int order = memcmp(to, from, n) + std::strcmp(block, from) + strncmp(to, from, 3) + int(strlen(from)) + std::abs(-3);
    std::free(block);
    return order;
}
__device__ int summed(int n, ...) {
    va_list list;
    va_start(list, n);
    int sum = 0;
    for (int i = 0; i < n; ++i) {
        sum += va_arg(list, int);
    }
    va_end(list);
    return sum;
}
#if __cplusplus >= 201703L
__device__ void ended(Counted* p) { std::destroy_at(std::launder(p)); }
#endif
static_assert(sizeof(std::unique_ptr<int>) == 8 && sizeof(std::unique_ptr<int, void (*)(int*)>) == 16, "");
struct Library {
    std::unique_ptr<int, void (*)(int*)> handle;
};
extern "C" __global__ void kernel(int* x, char* to, const char* from) {
    *x = owned() + copied(to, from, 4) + summed(2, 3, 4) + int(std::clock() - clock());
    printf("%d %d\n", *x, EXIT_SUCCESS);
    std::printf("%s\n", from);
}
