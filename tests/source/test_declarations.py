"""Names of kernels' parameters, read from C++ text."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.source.declarations import find_declarations

LISTS = {
    "__global__ void k() {}": [],
    "__global__ void k(void) {}": [],
    'extern "C" __global__ void k(float a, const float* __restrict__ x) {}': [
        ("float", "a"),
        ("const float* __restrict__", "x"),
    ],
    "static __global__ __launch_bounds__(128, 2) void k(uint32_t const* const index) {}": [
        ("uint32_t const* const", "index")
    ],
    "__global__ void __cluster_dims__(2, 1, 1) k(const __grid_constant__ CUtensorMap map);": [
        ("const __grid_constant__ CUtensorMap", "map")
    ],
    "MACRO(1) __global__ void LAUNCH(256) k(int n) { other(n); }": [("int", "n")],
    "template <class T, int N = (3 > 2)> __global__ void k(T* y, std::array<T, N> v) {}": [
        ("T*", "y"),
        ("std::array<T, N>", "v"),
    ],
    "template <> __global__ void k<float, 8>(float* y) {}": [("float*", "y")],
    "__global__ void ns::inner::k(ns::Bar b, unsigned long long n = 4 * (2 + 1)) {}": [
        ("ns::Bar", "b"),
        ("unsigned long long", "n"),
    ],
    "__global__ void k(int, const Foo, ns::Bar, float*, unsigned) {}": [
        ("int", ""),
        ("const Foo", ""),
        ("ns::Bar", ""),
        ("float*", ""),
        ("unsigned", ""),
    ],
    "__global__ void k(float m[4], int /* unused */, // the rest\n   struct P p) {}": [
        ("float*", "m"),
        ("int", ""),
        ("struct P", "p"),
    ],
    "[[nodiscard]] __global__ void k(cuda::std::span<const float> in) noexcept {}": [
        ("cuda::std::span<const float>", "in")
    ],
}


@pytest.mark.parametrize("text", LISTS, ids=str)
def test_parameters_are_read(text):
    """Types and names come as they are declared, whatever stands around them."""
    assert find_declarations(text) == {"k": [tuple(LISTS[text])]}


@pytest.mark.parametrize(
    "text",
    [
        "// __global__ void k(int x) {}",
        "/* __global__ void k(int x) {} */",
        'const char* s = "__global__ void k(int x)";',
        'const char* s = R"x(__global__ void k(int x) {})x";',
        "#define K(n) __global__ void n(int a) \\\n  {}\n",
        "__device__ void k(int x) {}",
        "__global__",
    ],
)
def test_what_only_looks_like_a_kernel_is_not_one(text):
    """Comments, literals and macros hold no declaration."""
    assert find_declarations(text) == {}


def test_every_declaration_is_kept():
    """Overloads and repeated declarations are all there, for the caller to choose."""
    text = "__global__ void k(int a); __global__ void k(int b, int c) {} namespace n { __global__ void k(float d) {} }"
    assert [[name for _, name in found] for found in find_declarations(text)["k"]] == [["a"], ["b", "c"], ["d"]]


@pytest.mark.parametrize("text", ["__global__ void k(int a", "__global__ void k(int a<", "__global__ void k(", "(((["])
def test_a_text_that_ends_early_is_no_error(text):
    """What no compiler takes gives something or nothing, and raises nothing."""
    assert set(find_declarations(text)) <= {"k"}
