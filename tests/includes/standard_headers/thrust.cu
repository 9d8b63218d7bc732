// A pointer to device memory as an argument, and containers that are the host's as members and as a base.
#include <thrust/detail/vector_base.h>
#include <thrust/device_malloc_allocator.h>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/memory.h>
#include <thrust/universal_vector.h>
#include <type_traits>

static_assert(sizeof(thrust::device_vector<int>) == 32 && sizeof(thrust::host_vector<char>) == 32, "as Thrust has them");
static_assert(sizeof(thrust::device_vector<int, thrust::device_malloc_allocator<int>>) == 32, "");
static_assert(sizeof(thrust::universal_vector<double>) == 32 && sizeof(thrust::device_ptr<int>) == 8, "");
static_assert(std::is_trivially_copyable<thrust::device_ptr<int>>::value, "");
static_assert(std::is_convertible<thrust::device_ptr<int>, thrust::device_ptr<const int>>::value, "");
static_assert(!std::is_convertible<thrust::device_ptr<const int>, thrust::device_ptr<int>>::value, "");
static_assert(!std::is_convertible<int*, thrust::device_ptr<int>>::value, "only where it is asked for");
static_assert(!std::is_convertible<thrust::device_ptr<int>, int*>::value, "");

struct Matrix : thrust::host_vector<float> {
    thrust::device_vector<int> columns;
    thrust::detail::vector_base<int, thrust::device_allocator<int>> rows;
    thrust::device_ptr<void> any;
    int n;
};
static_assert(sizeof(Matrix) == 112, "");

extern "C" __global__ void kernel(thrust::device_ptr<int> p, thrust::device_ptr<const int> q, Matrix* m) {
    *p = q[1] + m->n;
    p[2] += q - thrust::device_ptr<const int>(p);
    p[3] = p[4];
    p[5]++;
    --p[6];
    for (thrust::device_ptr<int> at = p + 7; at != 9 + p; ++at) *at = *q;
    atomicAdd(thrust::raw_pointer_cast(&p[9]), 1);
    if (p != nullptr && p < p + 1) *p.get() = thrust::raw_pointer_cast(q)[2];
    thrust::device_reference<int> r = *p;
    thrust::raw_reference_cast(r) = thrust::raw_reference_cast(p[11]);
    thrust::raw_reference_cast(m->n) = *thrust::raw_pointer_cast(&m->n + 1);
    r = thrust::device_pointer_cast(p.get())[10];
}
