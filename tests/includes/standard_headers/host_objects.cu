// Functions for both sides that work with the host's pointers, functions, threads and random numbers.
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <typeindex>
#include <valarray>
#if __cplusplus >= 201703L
#include <any>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <shared_mutex>
#endif
#define BOTH __host__ __device__

struct Base {
    BOTH virtual ~Base() {}
};
struct Shared : Base, std::enable_shared_from_this<Shared> {
    int x = 0;
    BOTH auto self() { return shared_from_this(); }
};
struct Pointers {
    std::shared_ptr<Base> base;
    std::unique_ptr<Shared> owned;
    std::weak_ptr<Base> weak;
    std::shared_ptr<int[]> array;
    std::shared_ptr<void> any;
    BOTH long work() {
        base = std::make_shared<Shared>();
        base.reset(new Shared);
        std::shared_ptr<Shared> shared = std::dynamic_pointer_cast<Shared>(base);
        base = shared;
        shared->x = (*shared).x + 4;
        any = shared;
        weak = base;
        if (auto locked = weak.lock()) {
            return base && base == shared && base != nullptr;
        }
        base = std::move(owned);
        owned = std::make_unique<Shared>();
        std::unique_ptr<Base> other = std::move(owned);
        std::swap(base, base);
        return owned == nullptr ? array.use_count() : any.use_count();
    }
};
BOTH int two(int, float);
struct Functions {
    std::function<int(int)> f;
    std::function<void()> g = nullptr;
    std::exception_ptr thrown;
    BOTH int method(int);
    BOTH int work() {
        using namespace std::placeholders;
        f = [](int x) { return x; };
        f = std::bind(two, _1, 2.f);
        f = std::bind(&Functions::method, this, std::placeholders::_1);
        if (!f || g == nullptr) {
            thrown = std::current_exception();
        }
        return std::ref(f)(3);
    }
};
struct Threads {
    std::mutex mutex;
    std::thread thread;
    std::condition_variable condition;
    std::future<int> future;
    std::once_flag once;
    BOTH int work() {
        std::lock_guard<std::mutex> guard(mutex);
        std::unique_lock<std::mutex> lock(mutex, std::defer_lock);
        lock.lock();
        condition.wait(lock, [] { return true; });
        condition.wait_for(lock, std::chrono::seconds(1));
        condition.notify_all();
        thread = std::thread([] {});
        if (thread.joinable()) {
            thread.join();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        future = std::async(std::launch::async, [](int x) { return x; }, 3);
        std::call_once(once, [] {});
        std::promise<void> promise;
        promise.set_value();
        return future.get() + int(std::thread::hardware_concurrency());
    }
};
struct Numbers {
    std::mt19937 engine{std::random_device()()};
    BOTH double work() {
        std::uniform_int_distribution<int> whole(0, 3);
        std::normal_distribution<float> normal(0.f, 1.f);
        std::uniform_real_distribution<float>::param_type range(0.f, 2.f);
        std::bernoulli_distribution coin(0.5);
        std::valarray<double> v(3), w = v * 2. + v;
        w = std::sqrt(v);
        engine.seed(3);
        return whole(engine) + normal(engine) + coin(engine) + engine() + std::mt19937::max() + w.sum() + v[1];
    }
};
#if __cplusplus >= 201703L
struct Pool final : std::pmr::memory_resource {
    BOTH void* do_allocate(size_t, size_t) override;
    BOTH void do_deallocate(void*, size_t, size_t) override;
    BOTH bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override;
    std::pmr::polymorphic_allocator<int> allocator;
};
static_assert(sizeof(std::pmr::memory_resource) == 8 && sizeof(Pool) == 16, "");
BOTH inline int* pooled(Pool& pool) {
    return pool.is_equal(*std::pmr::get_default_resource()) ? pool.allocator.allocate(4) : nullptr;
}
BOTH inline long files(const std::filesystem::path& folder) {
    namespace fs = std::filesystem;
    fs::path file = folder / "b";
    std::ifstream in(file);
    if (fs::exists(file) && !fs::is_directory(folder)) {
        fs::create_directories(folder);
    }
    for (const auto& entry : fs::directory_iterator(folder)) {
        std::cout << entry.path().stem() << (entry.path().extension() == ".cu");
    }
    std::error_code code;
    fs::remove_all(file, code);
    std::any any = 3;
    std::shared_mutex mutex;
    std::shared_lock lock(mutex);
    std::scoped_lock both(mutex);
    std::optional<std::string> text = file.string();
    return code ? std::any_cast<int>(any) : static_cast<long>(fs::file_size(file) + text->size());
}
#endif
static_assert(!std::is_constructible<std::function<void()>, int>::value, "");
static_assert(!std::is_constructible<std::function<int()>, void (*)()>::value, "");
static_assert(std::is_convertible<std::shared_ptr<Shared>, std::shared_ptr<Base>>::value, "");
static_assert(!std::is_convertible<std::shared_ptr<Base>, std::shared_ptr<Shared>>::value, "");
extern "C" __global__ void kernel(float* x) { *x = 1; }
