"""Types and layouts of the standard library are those that nvcc has from glibc and libstdc++."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hatch_cuda_kernels import compile_to_ptx
from hatch_cuda_kernels.errors import CompileError

SAME = """
template <class A, class B> struct same { static constexpr bool v = false; };
template <class A> struct same<A, A> { static constexpr bool v = true; };
"""
LONG = """
static_assert(same<int64_t, long>::v && same<uint64_t, unsigned long>::v && same<intmax_t, long>::v, "");
static_assert(same<uintptr_t, unsigned long>::v && same<int_least64_t, long>::v && same<int_fast16_t, long>::v, "");
static_assert(same<uint_fast32_t, unsigned long>::v && same<int_fast8_t, signed char>::v, "");
static_assert(same<decltype(INT64_MAX), long>::v && same<decltype(UINT64_C(1)), unsigned long>::v, "");
static_assert(INT_FAST16_MAX == INT64_MAX, "");
"""
CUDA = """
static_assert(same<cuda::std::int64_t, long>::v && same<cuda::std::uintptr_t, unsigned long>::v, "");
static_assert(same<cuda::std::int_fast32_t, long>::v && same<decltype(LONG_MAX), long>::v, "");
"""


def compiled(source):
    """Return the PTX of a source with a kernel."""
    return compile_to_ptx(f"{source}\n__global__ void k() {{}}\n", arch="sm_90", use_cache=False).image.decode()


OVERLOADS = """
__device__ int f(long) { return 1; }
__device__ int f(long long) { return 2; }
__device__ int g(int64_t x, size_t y) { return f(x) + max(x, int64_t(y)); }
"""
OWN = """
#ifdef __CUDACC_RTC__
typedef long long int64_t;
#else
#include <cstdint>
#endif
#include <cstdint>
#include <cuda/std/cstdint>
__device__ int64_t f(size_t a, int64_t b) { return max(a, b); }
static_assert(same<int64_t, long long>::v && same<std::int64_t, long long>::v);
"""
VERSIONS = """
#include <thrust/sort.h>
void host();
#if !(CUB_VERSION >= 200000 && THRUST_VERSION >= 200000 && CCCL_VERSION)
#error no version
#endif
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        LONG,
        "#include <stdint.h>\n" + LONG,
        "#include <cuda/std/cstdint>\n#include <cstdint>\n" + LONG + CUDA,
        "#include <cstdint>\n#include <cuda/std/atomic>\n" + LONG + CUDA,
        "#include <cuda_pipeline.h>\n#include <cuda_awbarrier.h>\n" + LONG,
        "#include <cooperative_groups/memcpy_async.h>\n" + LONG,
        pytest.param("#include <cub/cub.cuh>\n" + LONG + CUDA, marks=pytest.mark.slow),
        OVERLOADS,
    ],
)
def test_64_bits_are_long(text):
    """With and without an include, and whatever of the toolkit's comes before or after."""
    compiled(SAME + text)


@pytest.mark.slow
def test_a_project_that_declares_them_for_nvrtc_keeps_its_own():
    """A header that knows NVRTC has long long, as NVRTC's own have, and goes with the standard headers."""
    compiled(SAME + OWN)


#: What nvcc 13.0 with gcc 12 says: size, alignment, is_empty, is_trivially_copyable, is_copy_assignable.
TUPLES = {
    "tuple<int>": (4, 4, 0, 0, 1),
    "tuple<char, int>": (8, 4, 0, 0, 1),
    "tuple<char, double, int>": (24, 8, 0, 0, 1),
    "tuple<char, char, int>": (8, 4, 0, 0, 1),
    "tuple<E, int>": (4, 4, 0, 0, 1),
    "tuple<E, E>": (2, 1, 1, 0, 1),
    "tuple<E, E, int>": (8, 4, 0, 0, 1),
    "tuple<F, int>": (8, 4, 0, 0, 1),
    "tuple<char, A>": (32, 16, 0, 0, 1),
    "tuple<int&, char>": (16, 8, 0, 0, 1),
    "D": (12, 4, 0, 0, 1),
    "pair<char, int>": (8, 4, 0, 0, 1),
    "pair<const int, int>": (8, 4, 0, 1, 0),
}
TUPLE_TYPES = """
#include <tuple>
#include <utility>
#include <type_traits>
using std::tuple; using std::pair;
struct E {}; struct F final {}; struct alignas(16) A { char c; };
struct D : tuple<int, char> { char c; };
"""


def tuple_source():
    """Return a source whose kernels store the numbers of each type, and the places of elements."""
    lines = [TUPLE_TYPES]
    for number, name in enumerate(TUPLES):
        told = ("sizeof(T)", "alignof(T)", "std::is_empty<T>::value", "std::is_trivially_copyable<T>::value")
        values = ", ".join((*told, "std::is_copy_assignable<T>::value", "-1"))  # a table's last zeros are not written
        lines.append(f"namespace n{number} {{ typedef {name} T; extern __device__ const int told[] = {{{values}}}; }}")
        lines.append(f'extern "C" __global__ void k{number}(int* y, int i) {{ *y = n{number}::told[i]; }}')
    element = "(double* y, tuple<char, int, double, short> t) { *y = std::get"
    lines += [f'extern "C" __global__ void load{number}{element}<{number}>(t); }}' for number in range(4)]
    return "\n".join(lines) + "\n"


def tuple_numbers(ptx):
    """Return the five numbers of each type, and where kernels read the elements of a tuple."""
    tables = re.findall(r"told\w*\[24\] = \{(.*?)\}", ptx)
    numbers = [tuple(map(int, table.split(",")[:20:4])) for table in tables]
    places = re.findall(r"ld\.param\.[^\[]*\[load\d_param_1(?:\+(\d+))?\]", ptx)
    return numbers, [int(place or 0) for place in places]


@pytest.mark.slow
def test_tuples_lie_as_in_libstdcxx():
    """The last element is first, each behind those after it; empty ones take no room."""
    numbers, places = tuple_numbers(compile_to_ptx(tuple_source(), arch="sm_90", use_cache=False).image.decode())
    assert dict(zip(TUPLES, numbers, strict=True)) == TUPLES
    assert places == [20, 16, 8, 0]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc to compare with")
def test_these_are_nvccs_numbers(tmp_path):
    """What is on record here is what nvcc says."""
    (tmp_path / "k.cu").write_text(tuple_source())
    command = ["nvcc", "-ptx", "-w", "-arch=sm_90", "-std=c++17", "--expt-relaxed-constexpr", "k.cu"]
    subprocess.run(command, cwd=tmp_path, check=True)
    numbers, places = tuple_numbers((tmp_path / "k.ptx").read_text())
    assert dict(zip(TUPLES, numbers, strict=True)) == TUPLES
    assert places == [20, 16, 8, 0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "#ifdef FLT_MAX\n#error defined\n#endif\n__device__ float x = 1;",
        "#if !defined(UINT64_MAX)\n#define UINT64_MAX 5\n#endif\nstatic_assert(UINT64_MAX == 5);",
        "#include <cfloat>\n#ifndef FLT_MAX\n#error not defined\n#endif",
        "static_assert(FLT_MAX > 1);",
        "#include <climits>\n#ifndef PATH_MAX\n#error not defined\n#endif",
        VERSIONS,
    ],
)
def test_macros_are_defined_where_nvcc_has_them(text):
    """To ask for a macro brings no header; a library's version is there though the include of its header is cut."""
    compiled(text)


#: Size and alignment with nvcc 13.0 and gcc 12, by header.
LAYOUTS = {
    "atomic": {
        "atomic<bool>": (1, 1),
        "atomic<char>": (1, 1),
        "atomic<short>": (2, 2),
        "atomic<int>": (4, 4),
        "atomic<double*>": (8, 8),
        "atomic<char[3]>": (3, 1),
        "atomic<int[3]>": (12, 4),
        "atomic<double[2]>": (16, 16),
        "atomic<long[3]>": (24, 8),
        "atomic_flag": (1, 1),
    },
    "bitset": {
        "bitset<0>": (1, 1),
        "bitset<1>": (8, 8),
        "bitset<64>": (8, 8),
        "bitset<65>": (16, 8),
        "bitset<1000>": (128, 8),
    },
    "chrono": {"chrono::nanoseconds": (8, 8), "chrono::minutes": (8, 8), "chrono::hours": (8, 8)},
    "type_traits": {"aligned_storage_t<7>": (16, 16), "aligned_storage_t<33>": (48, 16)},
    "optional": {"optional<bool>": (2, 1), "optional<double>": (16, 8), "optional<char[3]>": (4, 1)},
    "variant": {"variant<char>": (2, 1), "variant<double, char>": (16, 8)},
    "complex": {"complex<float>": (8, 4), "complex<double>": (16, 8)},
}
LAYOUTS_20 = {
    "barrier": {"barrier<>": (32, 8)},
    "chrono": {"chrono::days": (8, 8), "chrono::years": (8, 8)},
    "latch": {"latch": (4, 4)},
    "semaphore": {"binary_semaphore": (4, 4), "counting_semaphore<100000>": (4, 4)},
    "source_location": {"source_location": (8, 8)},
    "span": {"span<int>": (16, 8), "span<int, 3>": (8, 8)},
}


def layout_source(header, types):
    """Return a source that does not compile unless each type has its size and alignment; T[n] stands for a class."""
    lines = ["template <class T> struct Some;", "template <class T, size_t N> struct Some<T[N]> { T items[N]; };"]
    lines += [f"#include <{header}>", "using namespace std;"]
    for name, (size, alignment) in types.items():
        spelled = re.sub(r"<(\w+\[\d\])>", r"<Some<\1>>", name)
        lines.append(f'static_assert(sizeof({spelled}) == {size} && alignof({spelled}) == {alignment}, "{name}");')
    return "\n".join(lines) + "\n__global__ void k() {}\n"


EACH_LAYOUT = [
    pytest.param(header, types, std, id=f"{header} {std}")
    for std, layouts in (("c++17", LAYOUTS), ("c++20", LAYOUTS_20))
    for header, types in layouts.items()
]


@pytest.mark.slow
@pytest.mark.parametrize(("header", "types", "std"), EACH_LAYOUT)
def test_members_of_a_struct_lie_where_the_host_has_them(header, types, std):
    """A host fills a struct that a kernel reads, so that each class of the library has libstdc++'s size."""
    compile_to_ptx(layout_source(header, types), arch="sm_90", options={"std": std}, use_cache=False)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc to compare with")
@pytest.mark.parametrize(("header", "types", "std"), EACH_LAYOUT)
def test_these_are_nvccs_layouts(tmp_path, header, types, std):
    """What is on record here is what nvcc says."""
    (tmp_path / "k.cu").write_text("#include <cstddef>\n" + layout_source(header, types))
    command = ["nvcc", "-ptx", "-w", "-arch=sm_90", f"-std={std}", "k.cu"]
    subprocess.run(command, cwd=tmp_path, check=True)


ANSWERS = Path(__file__).parent / "standard_headers/traits.cu"  # test_standard_headers.py compiles it, too


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc to compare with")
@pytest.mark.parametrize("std", ["c++17", "c++20"])
def test_these_are_nvccs_answers_to_type_traits(tmp_path, std):
    """What is on record of 550 types is what nvcc says, of one in ten of them."""
    command = ["nvcc", "-ptx", "-w", "-arch=sm_90", f"-std={std}", "-DSAMPLE=10", str(ANSWERS), "-o", "k.ptx"]
    subprocess.run(command, cwd=tmp_path, check=True)


EXPLICIT = """
#include <optional>
#include <span>
#include <tuple>
#include <utility>
struct E {};
struct Explicit { explicit __device__ Explicit(int) {} };
using namespace std;
template <class T> constexpr bool converts = is_convertible_v<int, T>;
static_assert(!converts<optional<Explicit>> && is_constructible_v<optional<Explicit>, int> && converts<optional<long>>);
static_assert(!is_convertible_v<pair<int, int>, pair<Explicit, int>>);
static_assert(is_constructible_v<tuple<Explicit, int>, int, int>);
static_assert(!is_convertible_v<tuple<int, int>, tuple<int, Explicit>>);
static_assert(!is_convertible_v<tuple<E, int>, E> && sizeof(tuple<tuple<E>, int>) == 8);
static_assert(!is_constructible_v<nullopt_t, int> && is_nothrow_constructible_v<tuple<int, int>, int, int>);
#if __cplusplus >= 202002L
extern "C" __global__ void at(int* y, span<int> s) { *y = s[0]; }
#endif
"""


@pytest.mark.slow
@pytest.mark.parametrize("std", ["c++17", "c++20"])
def test_conversions_are_explicit_where_the_hosts_are(std):
    """An overload is chosen as on the host, and a span has its pointer first."""
    ptx = compile_to_ptx(EXPLICIT + "__global__ void k() {}\n", arch="sm_90", options={"std": std}, use_cache=False)
    places = re.findall(r"ld\.param\.[^\[]*\[at_param_1(?:\+(\d+))?\]", ptx.image.decode())
    assert places == [""] * (std == "c++20")


HASHES = """
#include <functional>
extern "C" __global__ void k(size_t* y) {
    const std::hash<float> single;
    const std::hash<double> twice;
    y[0] = single(1.5f);
    y[1] = twice(1.5);
    y[2] = single(-0.f);
    y[3] = twice(-2.75);
}
"""


@pytest.mark.slow
def test_hashes_are_those_of_the_host():
    """A table that the host fills by libstdc++'s std::hash is read by the same hashes."""
    numbers = {int(number) % 2**64 for number in re.findall(r"mov\.\w+\s+%\w+, (-?\d+);", compiled(HASHES))}
    assert numbers >= {6335102473512021944, 4982507072649106663, 0, 11672603283085180185}


@pytest.mark.parametrize("std", ["c++17", "c++20"])
@pytest.mark.parametrize(
    "trait",
    [
        "is_convertible_v<S, S>",
        "is_constructible_v<S>",
        "is_copy_assignable_v<S>",
        "is_base_of_v<E, S>",
        "is_swappable_v<S>",
    ],
)
@pytest.mark.parametrize("declared", ["struct S;", "using S = std::no_such_class;"])
def test_a_trait_refuses_an_incomplete_class_and_one_that_is_left_out(declared, trait, std):
    """NVRTC would answer no in silence, or crash."""
    source = f"#include <utility>\nstruct E {{}};\n{declared}\n__global__ void k(int* p) {{ *p = std::{trait}; }}\n"
    with pytest.raises(CompileError, match="a trait is asked about a class that is incomplete"):
        compile_to_ptx(source, arch="sm_90", options={"std": std}, use_cache=False)
