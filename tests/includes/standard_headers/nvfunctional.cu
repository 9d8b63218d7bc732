// nvstd::function: from functions, lambdas, objects of any size and nothing; copied, moved, swapped, compared, called.
#include <nvfunctional>
__device__ int twice(int x) { return 2 * x; }
struct Big { int data[20]; __device__ int operator()(int x) const { return data[x]; } };
__device__ int apply(const nvstd::function<int(int)>& f, int x) { return f ? f(x) : -1; }
extern "C" __global__ void kernel(int* y, int n) {
    nvstd::function<int(int)> f = twice, g, h(nullptr);
    y[0] = apply(f, 3);
    int a = n;
    f = [=](int x) { return x + a; };
    y[1] = apply(f, 3);
    g = f; h = Big{{1, 2, 3, n}};
    y[2] = apply(g, 4) + apply(h, 3);
    swap(g, h);
    y[3] = g(3) + (h == nullptr) + (nullptr != g);
    nvstd::function<void(int*)> w = [](int* p) { *p = 1; };
    w(y + 4);
    nvstd::function<int(int)> moved = static_cast<nvstd::function<int(int)>&&>(g);
    y[7] = moved(1);
    g = nullptr;
    y[5] = apply(g, 1);
    f = static_cast<int (*)(int)>(nullptr); y[6] = !f;
}
