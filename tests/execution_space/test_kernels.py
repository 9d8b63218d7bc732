"""The kernels and variables that sources declare, and the source of a module in which a name is compiled."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.compiler.job import Recipe, owner_of
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.cpp import SourceFile, TextError, read_alone
from hatch_cuda_kernels.execution_space import Declared
from hatch_cuda_kernels.options import NvrtcOptions


def parameters(text):
    """Return the (type, name) of the parameters of each kernel of a text, in order."""
    declared = Declared.from_declarations(read_alone(SourceFile("k.cu", text)))
    return [(kernel.name, [*map(tuple, kernel.parameters)]) for kernel in declared.kernels]


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
    "#define B(n) __launch_bounds__(n)\nMACRO(1) __global__ void B(256) k(int n) { other(n); }": [("int", "n")],
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
    assert [(name.rpartition("::")[2], found) for name, found in parameters(text)] == [("k", LISTS[text])]


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
    assert parameters(text) == []


def test_every_declaration_is_kept():
    """Overloads and repeated declarations are all there, for the caller to choose."""
    text = "__global__ void k(int a); __global__ void k(int b, int c) {} namespace n { __global__ void k(float d) {} }"
    assert [(name, [name for _, name in found]) for name, found in parameters(text)] == [
        ("k", ["a"]),
        ("k", ["b", "c"]),
        ("n::k", ["d"]),
    ]


@pytest.mark.parametrize("text", ["__global__ void k(int a", "__global__ void k(int a<", "__global__ void k(", "(((["])
def test_a_text_that_ends_early_is_refused_with_its_place(text):
    """What no compiler takes declares nothing."""
    with pytest.raises(TextError, match=r"^k\.cu:1"):
        parameters(text)


def test_c_linkage_is_known(write, tmp_path):
    """A specifier and braces give it, of a macro, too; a template has none."""
    write("h.h", '#define KERNEL extern "C" __global__ void\n')
    write(
        "k.cu",
        """
        #include "h.h"
        KERNEL one(int a) {}
        extern "C" { namespace n { __global__ void two(int a) {} } __device__ int v; }
        namespace n { __global__ void three(int a) {} extern "C" __global__ void four(int a) {} }
        #if 0
        KERNEL five(int a) {}
        #endif
        """,
    )
    recipe = Recipe(module="m", sources=("k.cu",), options=NvrtcOptions())
    assert read_recipe(recipe, tmp_path).declared.c_kernels == ("one", "n::two", "n::four")


FILES = {
    "a.cu": """
        #include "shared.h"
        // fill and table are only mentioned here: __global__ void fill(int);
        extern __device__ int table[4];
        namespace one { template <class T> __global__ void twin(T* y) {} }
        __constant__ float scale;
    """,
    "b.cu": """
        #include "shared.h"
        __device__ int table[4];
        template <class T, int N> __global__ void __launch_bounds__(N) fill(T* y) { int scale = 3; y[0] = scale; }
        namespace two { struct Mine {}; template <class T> __global__ void twin(T* y) {} }
    """,
    "shared.h": "template <class T> __global__ void common(T* y) {}\n",
}


@pytest.fixture
def units(write, tmp_path):
    """Return the two sources of a module."""
    for name, text in FILES.items():
        write(name, text)
    return read_units(tmp_path, "a.cu", "b.cu")


def read_units(root, *names):
    """Return the sources of a module."""
    return read_recipe(Recipe(module="m", sources=names, options=NvrtcOptions()), root).units


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("fill<float, 8>", 1),
        ("one::twin<int>", 0),
        ("two::twin<int>", 1),
        ("twin<two::Mine>", 1),
        ("common<int>", 0),
        ("filll<float, 8>", 1),
        ("nowhere", 0),
    ],
)
def test_a_kernel_belongs_to_the_source_that_declares_it(units, name, owner):
    """Namespaces and arguments decide between two; a header's belongs to the first; a typo to the closest."""
    assert owner_of(name, units, is_kernel=True) == owner


@pytest.mark.parametrize(("name", "owner"), [("scale", 0), ("table", 0), ("nowhere", 0)])
def test_a_variable_belongs_to_a_source_that_declares_it(units, name, owner):
    """Local variables do not count; a declaration will do as well as the definition."""
    assert owner_of(name, units, is_kernel=False) == owner


def test_one_source_has_every_name(write, tmp_path):
    """Nothing has to be read for that."""
    write("a.cu", "")
    assert owner_of("anything<int>", read_units(tmp_path, "a.cu"), is_kernel=True) == 0
