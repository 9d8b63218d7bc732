// Launches each kernel of the embedded store, and compares the results with the host's. Without a device, it says which
// image a device would get.
#include "hatch_cuda_kernels.hpp"

#include <iostream>
#include <numeric>

#ifdef _WIN32
#define CUDA_CALL __stdcall
#else
#define CUDA_CALL
#endif

HATCH_CUDA_KERNELS_EMBEDDED(example_kernels)

namespace hck = hatch_cuda_kernels;

namespace {

// Memory on the device. A program with the CUDA toolkit has cudaMalloc for this; here the driver does it.
template <class Function>
Function of_driver(const char* name) {
#ifdef _WIN32
  void* const found = reinterpret_cast<void*>(GetProcAddress(LoadLibraryA("nvcuda.dll"), name));
#else
  void* const found = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
#endif
  Function function;
  std::memcpy(&function, &found, sizeof function);
  return function;
}

void check(int code) {
  if (code != 0) throw std::runtime_error("the driver returned " + std::to_string(code));
}

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values) : size_(values.size()) {
    check(of_driver<int(CUDA_CALL*)(void**, std::size_t)>("cuMemAlloc_v2")(&address_, size_ * sizeof(T)));
    check(of_driver<int(CUDA_CALL*)(void*, const void*, std::size_t)>("cuMemcpyHtoD_v2")(address_, values.data(), size_ * sizeof(T)));
  }
  ~DeviceArray() { of_driver<int(CUDA_CALL*)(void*)>("cuMemFree_v2")(address_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* get() const { return static_cast<T*>(address_); }

  std::vector<T> values() const {
    std::vector<T> found(size_);
    check(of_driver<int(CUDA_CALL*)(void*, void*, std::size_t)>("cuMemcpyDtoH_v2")(found.data(), address_, size_ * sizeof(T)));
    return found;
  }

 private:
  std::size_t size_;
  void* address_ = nullptr;
};

bool report(const std::string& what, bool is_right) {
  std::cout << what << (is_right ? ": right\n" : ": WRONG\n");
  return is_right;
}

bool try_saxpy(const hck::Store& store) {
  const hck::Kernel saxpy = store.get_kernel("saxpy");
  const int n = 100'000;
  const DeviceArray<float> x(std::vector<float>(n, 2.0f)), y(std::vector<float>(n, 1.0f));
  saxpy.launch({(n + 255) / 256, 256}, y.get(), x.get(), n, 3.0f);
  return report("saxpy by " + saxpy.image().arch, y.values() == std::vector<float>(n, 7.0f));
}

template <class T>
bool try_sums(const hck::Store& store, const std::string& name) {
  const hck::Kernel block_sum = store.get_kernel(name);
  std::vector<T> numbers(1000), expected(8);
  std::iota(numbers.begin(), numbers.end(), T(1));
  for (std::size_t i = 0; i < numbers.size(); ++i) expected[i / 128] += T(0.5) * numbers[i];
  const hck::Variable::Place scale = store.get_global("d_scale").place();
  const double half = 0.5;
  check(of_driver<int(CUDA_CALL*)(unsigned long long, const void*, std::size_t)>("cuMemcpyHtoD_v2")(scale.address, &half, scale.size));
  const DeviceArray<T> x(numbers), sums(std::vector<T>(8));
  block_sum.launch({8, 128}, sums.get(), x.get(), static_cast<int>(numbers.size()));
  return report(name + " by " + block_sum.image().arch, sums.values() == expected);
}

bool is_refused(const hck::Store& store) {
  try {
    store.get_kernel("saxpy").launch({1, 32}, static_cast<double*>(nullptr), nullptr, 0, 1.0f);
  } catch (const hck::ArgumentError& error) {
    std::cout << error.what() << "\n";
    return true;
  }
  return report("an array of double for float*", false);
}

}  // namespace

int main() {
  try {
    const hck::Store store = hck::Store::embedded(example_kernels, example_kernels_size);
    try {
      std::cout << store.explain("saxpy").text() << "\n";
    } catch (const hck::DriverError& error) {
      std::cout << error.what() << "\n" << store.explain_for("saxpy", "sm_90", hck::Version(13, 0)).text() << "\n";
      return 0;
    }
    const bool all = try_saxpy(store) && try_sums<float>(store, "block_sum<float, 128>") &&
                     try_sums<double>(store, "block_sum<double, 128>") && is_refused(store);
    return all ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
