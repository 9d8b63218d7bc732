"""The parameters of kernels as the compiler knows them."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels import NvrtcOptions, compile_to_cubin, compile_to_ptx
from hatch_cuda_kernels.compiler.nvrtc import NO_QUESTIONS
from hatch_cuda_kernels.errors import CompileError

SOURCE = r"""
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "kernel.h"
struct Params { double a; int b; };
namespace ns { struct Query { int x; }; enum Kind { FEW }; template <class T, int N> struct Span { T* data; }; }
namespace { struct Hidden { int x; }; }
template <class T> struct Wide { using type = long long; };

extern "C" __global__ void saxpy(
    float* __restrict__ y, const float* x, long long n, float a, const Params p, ns::Query* q, ns::Kind k, unsigned u,
    const unsigned char bytes[], float* const* rows
) { *y = *x * a; }
KERNEL void marked_by_a_macro(__half h, __nv_bfloat16* out, bool b, char c, signed char s) {}
extern "C" { __global__ void __launch_bounds__(64) in_a_block(int (*table)[4], ns::Span<const float, 3> span) {} }
namespace ns { extern "C" __global__ void in_a_namespace(float4 v, size_t n) {} }
template <class T, int N> __global__ void fill(T* y, typename Wide<T>::type v, ns::Span<T, N> s, Hidden hidden) {}
__global__ void overloaded(float* y) {}
__global__ void overloaded(double* y, int n) {}
template __global__ void fill<short, 2>(short*, long long, ns::Span<short, 2>, Hidden);
#if 0
extern "C" __global__ void not_there(int n) {}
#endif
#define DECLARE(name) extern "C" __global__ void name(int hidden) {}
DECLARE(made_by_a_macro)
"""
HEADER = """
#ifdef __OPENCL__
#define KERNEL kernel
#else
#define C_NAME extern "C"
#define KERNEL C_NAME __global__
#endif
"""
HEADERS = {"kernel.h": HEADER}
TYPES = {
    "saxpy": (
        "float*", "const float*", "long long", "float", "Params", "ns::Query*", "ns::Kind", "unsigned int",
        "const unsigned char*", "float* const*",
    ),
    "marked_by_a_macro": ("__half", "__nv_bfloat16*", "bool", "char", "signed char"),
    "in_a_block": ("int (*) [4]", "ns::Span<const float, 3>"),
    "in_a_namespace": ("float4", "unsigned long"),
    "fill<float, 2>": ("float*", "long long", "ns::Span<float, 2>", "(anonymous namespace)::Hidden"),
    "fill<__half, 1>": ("__half*", "long long", "ns::Span<__half, 1>", "(anonymous namespace)::Hidden"),
    "_Z10overloadedPf": ("float*",),
    "_Z10overloadedPdi": ("double*", "int"),
    "made_by_a_macro": ("int",),
}  # fmt: skip


@pytest.fixture(scope="module")
def kernels(isolation):
    """Return the kernels of the source, by name."""
    names = ["fill<float, 2>", "fill<__half, 1>"]
    compiled = compile_to_cubin(SOURCE, arch="sm_90", names=names, headers=HEADERS, use_cache=False)
    return {symbol.name: symbol for symbol in compiled.kernels}


@pytest.mark.parametrize("name", TYPES)
def test_types_are_those_of_the_source(kernels, name):
    """C linkage, templates whose types depend on their arguments, overloads, kernels that nobody listed."""
    assert kernels[name].types == TYPES[name]


def test_names_are_those_of_the_source(kernels):
    """They are told where all declarations agree."""
    assert kernels["marked_by_a_macro"].names == ("h", "out", "b", "c", "s")
    assert kernels["saxpy"].names == ("y", "x", "n", "a", "p", "q", "k", "u", "bytes", "rows")
    assert kernels["fill<float, 2>"].names == ("y", "v", "s", "hidden")
    assert kernels["_Z10overloadedPdi"].names == ("y", "n")
    assert kernels["made_by_a_macro"].names == ("hidden",)


@pytest.mark.slow
@pytest.mark.parametrize("flags", [{}, {"debug": True}, {"lineinfo": True}, {"lto": True}, {"std": "c++20"}])
def test_asking_changes_no_image(monkeypatch, flags):
    """The same bytes come out when nothing is asked."""
    options = NvrtcOptions(**flags)
    names = ["fill<float, 2>"]
    given = {"arch": "sm_90", "names": names, "options": options, "headers": HEADERS, "use_cache": False}
    made = [compile_to_cubin(SOURCE, **given)]
    monkeypatch.setattr("hatch_cuda_kernels.compiler.nvrtc.Questions.of", lambda _: NO_QUESTIONS)
    made.append(compile_to_cubin(SOURCE, **given))
    assert made[0].image == made[1].image
    assert [bool(symbol.types) for compiled in made for symbol in compiled.kernels[:1]] == [True, False]


BEYOND = r"""
extern "C" __global__ void first(float* y) { *y = 1; }
extern "C" __global__ void second(int n) {}
__device__ void second(float) {}
"""


def test_a_question_that_fails_is_not_asked_again():
    """A kernel whose name has overloads cannot be asked for; the build goes on, and says nothing of it."""
    compiled = compile_to_ptx(BEYOND, arch="compute_80", use_cache=False)
    assert {symbol.name for symbol in compiled.kernels} == {"first", "second"}
    assert compiled.log == ""


WRONG = {
    "name": 'extern "C" __global__ void k(int n) { nothing = n; }\n',
    "brace": 'extern "C" __global__ void k(int n) {\n',
    "declaration": 'extern "C" __global__ void k(int n) {}\nint',
    "comment": 'extern "C" __global__ void k(int n) {}\n/* without an end',
    "condition": 'extern "C" __global__ void k(int n) {}\n#if 1\n',
    "spliced": 'extern "C" __global__ void k(int n) {}\n#error none \\\n',
}


@pytest.mark.parametrize("kind", WRONG)
def test_errors_are_those_of_the_source(monkeypatch, kind):
    """Also where the source ends in the middle of something."""

    def refusal():
        with pytest.raises(CompileError) as caught:
            compile_to_ptx(WRONG[kind], arch="compute_80", use_cache=False)
        return str(caught.value)

    asked = refusal()
    monkeypatch.setattr("hatch_cuda_kernels.compiler.nvrtc.Questions.of", lambda _: NO_QUESTIONS)
    assert asked == refusal()


@pytest.mark.slow
def test_the_disk_cache_keeps_them(fresh_cache):
    """An image that is taken from it tells what its compile told."""
    made, taken = (compile_to_cubin(SOURCE, arch="sm_90", headers=HEADERS) for _ in range(2))
    assert (made.cached, taken.cached) == (False, True)
    assert taken.kernels == made.kernels
