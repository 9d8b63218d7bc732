// A file of the host's beside its kernel: the struct is the host's, the kernel takes what is its own from it.
#include <fstream>
#include <functional>
#include <hatch_cuda_kernels/gl_types.h>
#include <hatch_cuda_kernels/gnu_words.h>
#include <hatch_cuda_kernels/simd_types.h>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <omp.h>
#include <pthread.h>
#include <queue>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <typeinfo>
#include <unordered_map>
#include <vector>

static_assert(sizeof(std::vector<int>) == 24 && sizeof(std::string) == 32 && sizeof(std::map<int, int>) == 48, "");
static_assert(sizeof(std::unordered_map<int, int>) == 56 && sizeof(std::function<void()>) == 32, "");
static_assert(sizeof(std::ofstream) == 512 && sizeof(std::mutex) == 40 && sizeof(std::shared_ptr<int>) == 16, "");
static_assert(sizeof(std::regex) == 32 && sizeof(pthread_mutex_t) == 40 && sizeof(sockaddr) == 16, "as glibc has it");
static_assert(sizeof(std::priority_queue<int>) == 32 && sizeof(std::vector<bool>) == 40, "as libstdc++ has them");
static_assert(sizeof(std::stringbuf) == 104 && sizeof(std::once_flag) == 4 && sizeof(omp_lock_t) == 4, "as GNU has them");
static_assert(sizeof(__m128i) == 16 && alignof(__m256) == 32 && __builtin_offsetof(sockaddr, sa_data) == 2, "");

class Buffer : public std::stringbuf {
    __host__ __device__ int sync() override;
    GLuint shared;
};
struct Simulation {
    std::vector<int> types;
    std::vector<std::vector<float>> weights = {{1, 2}, {3}};
    std::string name = "x", title{"y"};
    std::map<std::string, int> species{{"a", 1}};
    std::shared_ptr<int> shared = nullptr;
    std::unique_ptr<float[]> owned;
    std::function<int(int)> callback;
    std::ofstream log;
    std::mutex lock;
    const std::type_info* type;
    std::regex pattern;
    pthread_mutex_t held;
    sockaddr address;
    std::unordered_map<int, float> table;
    std::mt19937 generator;
    omp_nest_lock_t nested;
    std::once_flag once;
    __m128 wide;
    int n = 3;
    float* data;
    __device__ float get(int i) { return data[i]; }
};
extern "C" __global__ void kernel(Simulation* simulation, float* x) {
    if (x == nullptr) {
        __assert_fail("x", "host.cu", 1, "kernel");
    }
    *x = simulation->get(2) + simulation->n;
}
