// Every engine and distribution of Thrust's, as device code uses them; streams of them are the host's.
#include <thrust/random.h>

template <class Engine>
__device__ void use(double* x, unsigned long long seed) {
    Engine engine(seed), other(engine);
    engine.discard(threadIdx.x);
    thrust::uniform_real_distribution<float> real(0.f, 1.f);
    thrust::uniform_real_distribution<double> wide;
    thrust::uniform_int_distribution<int> whole(0, 10);
    thrust::normal_distribution<float> normal(0.f, 1.f);
    thrust::random::normal_distribution<double> other_normal;
    *x += real(engine) + wide(engine) + whole(engine) + normal(engine) + other_normal(engine) + engine();
    if (engine == other || real == thrust::uniform_real_distribution<float>()) *x = 1;
}

extern "C" __global__ void kernel(double* x, unsigned seed) {
    use<thrust::default_random_engine>(x, seed);
    use<thrust::minstd_rand0>(x, seed);
    use<thrust::taus88>(x, seed);
    use<thrust::ranlux24>(x, seed);
    use<thrust::random::ranlux24_base>(x, seed);
}
