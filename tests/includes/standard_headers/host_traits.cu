// What libstdc++ answers of the host's classes: code that is chosen by it is the same here. g++ takes the same text.
#include <condition_variable>
#include <exception>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <list>
#include <locale>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <typeindex>
#include <unordered_map>
#include <valarray>
#include <vector>
using namespace std;

struct Kept {
    Kept(const Kept&) = delete;
};
struct Struct {
    string s;
    vector<int> v;
    int* p;
};
#define DETECTED(name, expression)                                                          \
    template <class T, class = void>                                                        \
    struct name : false_type {};                                                            \
    template <class T>                                                                      \
    struct name<T, decltype(void(expression))> : true_type {};
DETECTED(has_begin, declval<T&>().begin())
DETECTED(has_size, declval<T&>().size())
DETECTED(has_data, declval<T&>().data())
DETECTED(has_push_back, declval<T&>().push_back(1))
DETECTED(has_find, declval<T&>().find(1))
DETECTED(has_index, declval<T&>()[0])
DETECTED(has_star, *declval<T&>())
DETECTED(has_get, declval<T&>().get())
DETECTED(is_called, declval<T&>()())
DETECTED(is_equal, bool(declval<T&>() == declval<T&>()))
DETECTED(is_added, declval<T&>() + declval<T&>())
template <class T>
__host__ __device__ constexpr unsigned answers() {
    unsigned all = 0;
    for (bool one : {
         bool(is_default_constructible<T>::value),
         bool(is_copy_constructible<T>::value),
         bool(is_nothrow_move_constructible<T>::value),
         bool(is_copy_assignable<T>::value),
         bool(is_move_assignable<T>::value),
         bool(is_trivially_copyable<T>::value),
         bool(is_trivially_destructible<T>::value),
         bool(is_polymorphic<T>::value),
         bool(is_abstract<T>::value),
         bool(is_empty<T>::value),
         bool(has_begin<T>::value),
         bool(has_size<T>::value),
         bool(has_data<T>::value),
         bool(has_push_back<T>::value),
         bool(has_find<T>::value),
         bool(has_index<T>::value),
         bool(has_star<T>::value),
         bool(has_get<T>::value),
         bool(is_called<T>::value),
         bool(is_equal<T>::value),
         bool(is_added<T>::value),
         bool(is_constructible<T, int>::value),
         bool(is_constructible<T, const char*>::value),
         bool(is_constructible<T, string>::value),
         bool(is_constructible<T, decltype(nullptr)>::value),
         bool(is_constructible<T, initializer_list<int>>::value),
         bool(is_convertible<int, T>::value),
         bool(is_convertible<const char*, T>::value),
         bool(is_convertible<string, T>::value),
         bool(is_convertible<decltype(nullptr), T>::value),
         bool(is_convertible<initializer_list<int>, T>::value)}) {
        all = 2 * all + one;
    }
    return all;
}
#define ANSWERS(number, bytes, ...) static_assert(answers<__VA_ARGS__>() == number && sizeof(__VA_ARGS__) == bytes, "");
ANSWERS(0x7c1e8a21, 24, vector<int>)
ANSWERS(0x7c1a8a00, 40, vector<bool>)
ANSWERS(0x7c1c8a00, 24, vector<Kept>)
ANSWERS(0x7f00c840, 8, vector<int>::iterator)
ANSWERS(0x7c1a0a21, 24, list<int>)
ANSWERS(0x7c198800, 48, map<int,int>)
ANSWERS(0x7c198800, 48, map<int,Kept>)
ANSWERS(0x7c190821, 48, set<int>)
ANSWERS(0x7c198a00, 56, unordered_map<int,int>)
ANSWERS(0x7c1f8dce, 32, string)
ANSWERS(0x7f00c840, 8, string::iterator)
ANSWERS(0x7c006842, 16, shared_ptr<int>)
ANSWERS(0x7c000000, 16, weak_ptr<int>)
ANSWERS(0x54006842, 8, unique_ptr<int>)
ANSWERS(0x7c001042, 32, function<void()>)
ANSWERS(0x7c800000, 8, exception)
ANSWERS(0x3c8001c0, 16, runtime_error)
ANSWERS(0x7f000800, 16, error_code)
ANSWERS(0x7c000842, 8, exception_ptr)
ANSWERS(0x43000000, 40, mutex)
ANSWERS(0x43000000, 4, once_flag)
ANSWERS(0x540003e0, 8, thread)
ANSWERS(0x40000000, 48, condition_variable)
ANSWERS(0x00000000, 8, lock_guard<mutex>)
ANSWERS(0x54000000, 16, unique_lock<mutex>)
ANSWERS(0x54002000, 16, future<int>)
ANSWERS(0x54000000, 24, promise<int>)
ANSWERS(0x00800040, 272, ostream)
ANSWERS(0x448001c0, 512, ofstream)
ANSWERS(0x448001c0, 376, ostringstream)
ANSWERS(0x448021c0, 392, stringstream)
ANSWERS(0x00800000, 64, streambuf)
ANSWERS(0x7c000980, 8, locale)
ANSWERS(0x7f001a00, 5000, mt19937)
ANSWERS(0x400011c0, 5000, random_device)
ANSWERS(0x7f000a00, 8, uniform_int_distribution<int>)
ANSWERS(0x7c0001c0, 32, regex)
ANSWERS(0x7c088600, 16, valarray<float>)
ANSWERS(0x3f000800, 8, type_index)
ANSWERS(0x7c200800, 1, allocator<int>)
ANSWERS(0x7c080000, 32, priority_queue<int>)
extern "C" __global__ void kernel(float* x) { *x = 1; }
