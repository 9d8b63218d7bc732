#include <complex>

#define CHECK(...) static_assert((__VA_ARGS__), "")

typedef std::complex<double> Z;
CHECK(Z(1, 2) * Z(3, 4) == Z(-5, 10) && Z(-5, 10) / Z(3, 4) == Z(1, 2) && 2.0 * Z(1, 2) == Z(2, 4));
CHECK(Z(1e300, 1e300) / Z(1e300, 1e300) == 1.0 && std::norm(Z(3, 4)) == 25 && std::conj(Z(1, 2)).imag() == -2);
CHECK((Z(1, 2) + 1.0).real() == 2 && -Z(1, 2) == Z(-1, -2) && Z(std::complex<float>(1, 2)) == Z(1, 2));
CHECK(sizeof(std::complex<float>) == 8 && std::is_trivially_copyable<Z>::value);

#define POWER(type, ...) CHECK(std::is_same<type, decltype(std::pow(__VA_ARGS__).real())>::value)
POWER(float, std::complex<float>(1), 2);
POWER(float, std::complex<float>(1), 2.f);
POWER(float, 2.f, std::complex<float>(1));
POWER(double, std::complex<float>(1), 2.0);
POWER(double, std::complex<float>(1), 2u);
POWER(double, 2, std::complex<float>(1));
POWER(double, std::complex<float>(1), Z(1));
POWER(double, Z(1), 2.f);

using namespace std;

CHECK(1i * 1i == Z(-1) && std::is_same<decltype(2if), complex<float>>::value);

__device__ Z all(Z z, complex<float> c) {
    z += exp(z) + log(z) + sqrt(z) + sin(z) + cos(z) + tan(z) + sinh(z) + cosh(z) + tanh(z) + pow(z, 2) + pow(z, z) + pow(2.0, z);
    z += asin(z) + acos(z) + atan(z) + asinh(z) + acosh(z) + atanh(z) + polar(1.0, 2.0) + std::exp(z) + proj(z) + log10(z);
    z *= abs(z) + std::arg(z);
    return z + Z(exp(c)) + std::real(z) + imag(2.0);
}
extern "C" __global__ void kernel(Z* z, complex<float>* c) { *z = all(*z, *c); }
