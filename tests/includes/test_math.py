"""The functions of <cmath> have the types and the machine code that nvcc gives them."""

from __future__ import annotations

import shutil

import pytest
from math_calls import GOLDEN, by_nvcc, by_nvrtc, calls, differences, read_types, types_source, with_code

from hatch_cuda_kernels import compile_to_cubin, compile_to_ptx
from hatch_cuda_kernels.compiler.binary.cubin import read_elf
from hatch_cuda_kernels.errors import CompileError


def compiled(source, **settings):
    """Return what a source compiles to."""
    return compile_to_ptx(source, arch="sm_90", use_cache=False, **settings)


@pytest.mark.slow
def test_every_call_has_the_type_that_nvcc_gives_it():
    """Of 15,709 calls: std:: and global names, one to three arguments, each of 17 arithmetic types."""
    ours = read_types(by_nvrtc(types_source())).splitlines()
    theirs = GOLDEN.read_text().splitlines()
    assert [line for line, other in zip(ours, theirs, strict=True) if line != other] == []
    assert len(calls()) == 15_709


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc to compare with")
def test_calls_have_the_machine_code_that_nvcc_gives_them(tmp_path):
    """Those that NVRTC has otherwise, and every fiftieth of the others; the types on record are nvcc's."""
    theirs, said = by_nvcc(types_source(), tmp_path)
    assert read_types(theirs) == GOLDEN.read_text(), said
    others = ("pow", "isfinite", "isinf", "isnan", "signbit")
    known = with_code()
    chosen = [call for number, call in enumerate(known) if call.function.endswith(others) or number % 50 == 0]
    differ, taken = differences(chosen, tmp_path)
    assert differ == []
    assert taken > 150


TEXTS = {
    "without an include": "static_assert(sizeof(pow(1.0f, 2)) == 8 && sizeof(isnan(1.0f)) == 1);",
    "by C's header": """
#include <math.h>
static_assert(sizeof(pow(1.0f, 2)) == 8 && sizeof(::signbit(1.0)) == 1);""",
    "with namespace std": """
#include <cmath>
using namespace std;
static_assert(sizeof(pow(1.0f, 2)) == 8 && sizeof(pow(1.0f, 2.0f)) == 4);""",
    "undefined": """
#include <cmath>
#undef isnan
__device__ bool f(float x) { return std::isnan(x); }""",
    "constants": """
#include <cmath>
static_assert(std::isnan(NAN) && isinf(-HUGE_VAL) && std::signbit(-0.0f) && !isfinite(NAN) && signbit(-1));""",
    "addresses": """
#include <cmath>
__device__ double (*f)(double, double) = pow;
__device__ bool (*g)(float) = std::isnan;""",
    "a project's, by its types": """
namespace n {
struct V { float x; __device__ V pow(int) const; };
__device__ inline V pow(V v, int) { return v; }
__device__ V f(V v) { return pow(v, 2); }
}""",
    "a project's own": "__device__ float pow(float x, int) { return x; }\nstatic_assert(sizeof(pow(1.0f, 2)) == 4);",
    "a macro": "#define pow(x, y) powf(x, y)\nstatic_assert(sizeof(pow(1.0f, 2)) == 4);",
    "libcu++'s": """
#include <cuda/std/cmath>
__device__ float f(float x) { return cuda::std::pow(x, 2.0f) + cuda::std::isnan(x); }""",
    "Thrust's": """
#include <thrust/complex.h>
__device__ thrust::complex<float> f(thrust::complex<float> z) { return pow(z, 2); }""",
    "of complex numbers": """
#include <complex>
__device__ std::complex<float> f(std::complex<float> z) { return std::pow(z, 2); }""",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_names_that_nvrtc_has_otherwise(text):
    """They are what they are with nvcc, with and without an include, beside others of the same name."""
    compiled(f"{text}\n__global__ void k() {{}}\n")


@pytest.mark.slow
def test_kernels_keep_such_names():
    """A kernel with the name of one of these functions is found by it, and messages have the names of the source."""
    found = compiled(
        "#include <cmath>\n__global__ void pow(double* y, float x) { *y = std::pow(x, 2) + isnan(x); }\n"
        'extern "C" __global__ void signbit(float* y) { *y = 1; }\n'
    )
    assert found.lowered_names == {"pow": "_Z3powPdf", "signbit": "signbit"}
    with pytest.raises(CompileError, match='no instance of overloaded function "pow" matches the argument list'):
        compiled("__global__ void k(double* y) { *y = pow(y, 2); }")


def test_such_names_leave_no_constants_in_the_image():
    """What a name brings unasked changes no address of what the source declares."""
    source = 'extern "C" __global__ void k(double* y, float x) { *y = pow(x, 2) + isnan(x); }'
    cubin = compile_to_cubin(source, arch="sm_90", use_cache=False).image
    assert [section.name for section in read_elf(cubin).sections if section.name.startswith(".nv.global")] == []
