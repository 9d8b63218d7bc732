"""The thin standard headers under the real NVRTC, on the include path and in memory, beside the toolkit's own."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from raw_nvrtc import compile_raw
from slow_parameters import slow_but

import hatch_cuda_kernels
from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.binary.ptx import read_ptx
from hatch_cuda_kernels.compiler.job import Recipe
from hatch_cuda_kernels.compiler.nvrtc import run_job
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.compiler.toolchain.toolchain import find_toolchain, load_toolchain
from hatch_cuda_kernels.libraries import standard_headers
from hatch_cuda_kernels.options import NvrtcOptions

STANDARD = Path(hatch_cuda_kernels.__file__).parent / "includes/standard"
SOURCES = Path(__file__).parent / "standard_headers"
NAMES = sorted(path.stem for path in SOURCES.glob("*.cu"))
TEXTS = {
    path.relative_to(STANDARD).as_posix(): path.read_text()
    for path in STANDARD.rglob("*")
    if path.is_file() and path.suffix != ".md"
}
PUBLIC = sorted(name for name in TEXTS if not name.startswith("hatch_cuda_kernels/") and "/detail/" not in name)
STANDARDS = ("c++14", "c++17", "c++20")
#: Those between which every question that a header asks of the standard has another answer.
BRACKETS = ("c++14", "c++20")
#: Sources of the tests that take long.
HEAVY = {"complex", "libcudacxx", "thrust", "thrust_random", "traits"}
#: Those of what CCCL has from C++17 on.
OF_CCCL = {"libcudacxx", "thrust", "thrust_random"}
KERNEL = '\nextern "C" __global__ void k(float* x) { *x = 1; }\n'

#: What is libcu++'s under the name of the host's; nothing else costs its hundreds of milliseconds.
OVER_LIBCUDACXX = frozenset(
    """
    atomic cub/cub.cuh cuda/std/climits cuda/std/cstdint cuda_awbarrier_helpers.h cuda_pipeline_helpers.h expected
    mdspan ranges thrust/complex.h thrust/device_allocator.h thrust/device_malloc_allocator.h thrust/device_ptr.h
    thrust/device_reference.h thrust/device_vector.h thrust/host_vector.h thrust/memory.h thrust/universal_vector.h
    variant
    """.split()  # noqa: SIM905 - a list would take a line a word
)
#: Host headers without one of ours: of Windows, C's own ways to threads, and names that no library has.
LEFT_OUT = {"cstdatomic", "cstdnoreturn", "cthreads", "intrin.h", "stdatomic.h", "threads.h", "windows.h"}
#: CCCL 3, of CUDA 13, refuses C++14.
CCCL_STANDARDS = STANDARDS if find_toolchain().release < (13, 0) else STANDARDS[1:]


def compile_with(source: str, std: str = "c++17", *flags: str, in_memory: bool = False, arch: str = "compute_80"):
    """Compile with the headers before the toolkit's, on the include path or in memory, as far as PTX."""
    folders = [*([] if in_memory else [str(STANDARD)]), *load_toolchain().include_dirs]
    headers = tuple(TEXTS.items()) if in_memory else ()
    shown = (f"--std={std}", *(f"-I{folder}" for folder in folders), *flags)
    return compile_raw(source, *shown, headers=headers, arch=arch)


def include(*names: str) -> str:
    """Return the directives for these headers."""
    return "".join(f"#include <{name}>\n" for name in names)


def logs_of_each(names, std):
    """Return what the compiler says of each header, alone and twice; nothing where it says nothing."""
    logs = {name: compile_with(include(name, name) + KERNEL, std).log.strip() for name in names}
    return {name: log for name, log in logs.items() if log and "C++ 14 is deprecated" not in log}


LIGHT = [name for name in PUBLIC if name not in OVER_LIBCUDACXX]


def with_includes(name):
    """Return the texts of a header and of all that it includes of ours, directly or not."""
    found, waiting = {}, [name]
    while waiting:
        if (one := waiting.pop()) in TEXTS and one not in found:
            found[one] = TEXTS[one]
            waiting += re.findall(r'#\s*include\s*[<"]([^>"]+)', TEXTS[one])
    return "".join(found.values())


#: Those that are the same text in every standard.
STEADY = {name for name in LIGHT if not re.search("__cplusplus|__cpp_", with_includes(name))}


@pytest.mark.slow
@pytest.mark.parametrize("std", STANDARDS)
def test_light_headers_compile_together_and_twice(std):
    """None is against another."""
    assert compile_with(include(*LIGHT, *LIGHT) + KERNEL, std).log.strip() == ""


@pytest.mark.parametrize("std", BRACKETS)
def test_each_light_header_compiles_alone_and_twice(std, slow):
    """It asks for what it needs, does not mind being there already, and causes no warning."""
    assert logs_of_each([name for name in LIGHT if std == "c++20" or name not in STEADY], std) == {}


def test_each_header_over_libcudacxx_compiles_alone_and_twice(slow):
    """So do those that are libcu++'s under another name."""
    for std in {*BRACKETS} & {*CCCL_STANDARDS}:
        assert logs_of_each([name for name in PUBLIC if name in OVER_LIBCUDACXX], std) == {}


def standards_of(name):
    """Return the standards that a source is compiled in; those that take long, only where answers are others."""
    if name in OF_CCCL:
        return STANDARDS[1:]
    return BRACKETS if name in HEAVY else STANDARDS


SOURCES_IN = [(name, std) for name in NAMES for std in standards_of(name)]
QUICK = [(name, std) for name, std in SOURCES_IN if name not in HEAVY and std == "c++17"]


@pytest.mark.parametrize("source", slow_but(QUICK, SOURCES_IN), ids="-".join)
def test_what_device_code_uses_is_there(source):
    """The sources assert values and types as they compile, in std and, for C's names, globally."""
    name, std = source
    result = compile_with((SOURCES / f"{name}.cu").read_text(), std)
    assert result.log.strip() == ""
    assert read_ptx(result.ptx).entries.keys() == {"kernel"}


@pytest.mark.slow
@pytest.mark.parametrize("std", BRACKETS)
def test_a_host_compiler_takes_what_is_tested_of_host_classes(std, tmp_path):
    """Its library has the same members, sizes and answers, or the test would be of something else.

    All in one: each in a namespace, behind the headers of all.
    """
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no g++ here")
    paths = [SOURCES / f"{name}.cu" for name in NAMES if name.startswith("host_")]
    together = include(*sorted({name for path in paths for name in re.findall("#include <(.+)>", path.read_text())}))
    for path in paths:
        together += (
            f'#define kernel {path.stem}_kernel\nnamespace {path.stem} {{\n#include "{path}"\n}}\n#undef kernel\n'
        )
    (tmp_path / "all.cu").write_text(together)
    unmarked = [f"-D__{mark}__=" for mark in ("host", "device", "global")]
    command = [compiler, "-fsyntax-only", "-x", "c++", f"-std={std}", *unmarked, "-w", str(tmp_path / "all.cu")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_found_in_memory_by_their_plain_names():
    """A directive finds a header in memory by what is written in it, in our headers too."""
    for name in ("integers", "mathematics", "tuples", "algorithms"):
        assert compile_with((SOURCES / f"{name}.cu").read_text(), in_memory=True).log.strip() == ""


def test_every_host_header_the_package_knows_has_one():
    """What the package calls a host header is found, also where there is nothing in it for device code."""
    assert standard_headers() - LEFT_OUT - TEXTS.keys() == set()


def test_no_header_touches_the_guard_or_a_macro_of_another():
    """Else that one would be read twice, or another macro be meant."""
    owners = {}
    for name, text in TEXTS.items():
        touched = re.findall(r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(_HATCH_\w+)", text, re.MULTILINE)
        left = {
            macro
            for macro in touched
            if not re.search(rf"#[ \t]*undef[ \t]+{macro}\b(?!.*#[ \t]*define[ \t]+{macro}\b)", text, re.DOTALL)
        }
        owners |= dict.fromkeys(left, name)
    for name, text in TEXTS.items():
        touched = set(re.findall(r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(_HATCH_\w+)", text, re.MULTILINE))
        assert {(macro, owners[macro]) for macro in touched & owners.keys() if owners[macro] != name} == set(), name


@pytest.mark.parametrize("name", LIGHT)
def test_light_headers_ask_for_nothing_of_the_toolkit(name):
    """A source that needs integers, limits, traits or std::max does not pay for libcu++, nor need it installed."""
    asked, waiting = set(), [name]
    while waiting:
        asked |= (found := set(re.findall(r"#\s*include\s*<([^>]+)>", TEXTS[waiting.pop()])) - asked)
        waiting += found & TEXTS.keys()
    # Two numbers, asked for where they are; and what defines timespec itself, from 3.1 on.
    assert asked - TEXTS.keys() <= {"cuda/std/__cccl/version.h", "cuda/std/ctime"}


def test_headers_leave_next_to_nothing_in_the_image():
    """NVRTC writes the constants of headers into an image, used or not."""
    names = ("cstdint", "limits", "cmath", "type_traits", "algorithm", "complex", "vector", "string")
    assert len(re.findall(r"\.global \.align", compile_with(include(*names) + KERNEL).ptx)) <= 6


OURS = include("cstdint", "climits", "cfloat", "cmath", "limits", "tuple", "array", "algorithm", "functional", "memory")
OURS += include("complex", "numeric", "optional", "span", "compare", "iostream", "vector", "map", "ctime", "cstring")
LIBCUDACXX = include(*(f"cuda/std/{name}" for name in ("cstdint", "climits", "cfloat", "cmath", "limits", "tuple")))
LIBCUDACXX += include(*(f"cuda/std/{name}" for name in ("array", "functional", "complex", "optional", "span", "ctime")))
CUB = include("cub/cub.cuh", "cooperative_groups.h", "cuda/atomic")
USES = """
extern "C" __global__ void k(int* x) {
    __shared__ typename cub::BlockReduce<int, 32>::TempStorage storage;
    *x = cub::BlockReduce<int, 32>(storage).Sum(std::min(*x, INT_MAX));
    auto [a, b] = cuda::std::make_tuple(1, 2);
    const auto [c, d] = std::make_tuple(1, 2);
    const auto [e, f] = cuda::std::make_pair(1, 2);
    cuda::std::array<int, 2> theirs{1, 2};
    auto [g, h] = theirs;
    std::array<int, 2> ours{1, 2};
    const auto [i, j] = ours;
    const float least = -INFINITY, none = NAN;
    *x += a + b + c + d + e + f + g + h + i + j + INT64_C(5) + (least < FLT_MAX) + (none != none);
    *x += cuda::std::numeric_limits<int>::max() > std::numeric_limits<int>::min();
}
"""


@pytest.mark.parametrize(
    ("order", "std"), [((OURS, LIBCUDACXX, CUB), "c++17"), ((CUB, LIBCUDACXX, OURS), "c++20")], ids=["first", "last"]
)
def test_no_clash_with_libcudacxx_and_cub_whichever_comes_first(order, std, slow):
    """Macros, typedefs and what std::tuple_size is for: each has one meaning, and nothing warns.

    Of any two, each comes first once: a clash is between two.
    """
    assert compile_with("".join(order) + USES, std).log.strip() == ""


def test_types_of_the_users_own():
    """Specialised in namespace std, as real code does it for the halves and the points it brings."""
    source = (
        include("limits", "functional", "type_traits", "utility", "iterator", "tuple", "cuda_fp16.h")
        + """
    struct Point { float x, y; };
    namespace std {
    template <> struct numeric_limits<Point> {
        static constexpr bool is_specialized = true;
        __device__ static Point max() { return {1, 1}; }
    };
    template <> struct numeric_limits<__half> { __device__ static __half max() { return __ushort_as_half(0x7bff); } };
    template <> struct hash<Point> { __device__ size_t operator()(Point p) const { return p.x; } };
    template <> struct is_arithmetic<__half> : true_type {};
    template <> struct common_type<Point, float> { typedef Point type; };
    template <> struct tuple_size<Point> : integral_constant<size_t, 2> {};
    template <size_t I> struct tuple_element<I, Point> { typedef float type; };
    __device__ inline void swap(Point& a, Point& b) { float x = a.x; a.x = b.x; b.x = x; }
    }
    template <size_t I> __device__ float& get(Point& p) { return I == 0 ? p.x : p.y; }
    extern "C" __global__ void k(Point* p, __half* h) {
        static_assert(std::is_arithmetic_v<__half> && std::is_same_v<std::common_type_t<Point, float>, Point>);
        auto& [x, y] = p[0];
        std::swap(p[0], p[1]);
        p[2] = std::numeric_limits<Point>::max();
        *h = std::numeric_limits<__half>::max();
        p[3].x = x + y + std::hash<Point>()(p[0]) + (std::numeric_limits<Point>::is_specialized ? 1 : 0);
    }
    """
    )
    assert compile_with(source).log.strip() == ""


def test_assert_follows_ndebug_as_it_is_at_each_include():
    """As C has it; without the header, NVRTC's own assert follows what the command line says."""
    source = """
    #include <cassert>
    __device__ void on(int* x) { assert(*x); }
    #define NDEBUG
    #include <assert.h>
    __device__ void off(int* x) { assert(there is nothing here); }
    #undef NDEBUG
    #include <assert.h>
    extern "C" __global__ void k(int* x) { on(x); off(x); assert((*x > 1, true)); }
    """
    ptx = compile_with(source).ptx
    assert "__assertfail" in ptx
    assert ", ".join(str(ord(letter)) for letter in "void on(int *)") in ptx  # as in the message with nvcc
    assert "__assertfail" not in compile_with(source.replace("#undef", "//"), "c++17", "-DNDEBUG").ptx


@pytest.mark.slow
def test_a_host_class_in_device_code_is_an_error_that_names_it():
    """A struct may have one as a member, and functions for both sides use it; a kernel cannot work with it."""
    source = (
        include("vector", "string", "iostream")
        + """
    struct Both { std::vector<float> v; __host__ __device__ auto begin() { return v.begin(); } };
    extern "C" __global__ void k(float* x, Both* b, std::vector<float>* v) { *x = 1; """
    )
    assert compile_with(source + "}").ok
    for use in ("v->push_back(2);", "*x = (*v)[0];", "std::vector<float> w;", "*x = *b->begin();", "std::cout << *x;"):
        refused = compile_with(source + use + "}", arch="sm_80")
        assert not refused.ok
        assert "Unresolved extern function '_ZNSt" in refused.log or "_ZNSo" in refused.log
    assert not compile_with(source + '*x = std::string("a").size(); }', arch="sm_80").ok


def test_a_project_keeps_functions_it_brings_itself():
    """Of C's string functions NVRTC has two; who wrote the others for the device has them under C's names."""
    source = (
        include("cstring", "cmath")
        + """
    __device__ size_t strlen(const char* s) { return 7; }
    __device__ int memcmp(const void* a, const void* b, size_t n) { return 8; }
    extern "C" __global__ void k(size_t* x, const char* s) { *x = strlen(s) + memcmp(s, s, 1); }
    """
    )
    ptx = compile_with(source).ptx
    assert re.search(r"\b15\b", ptx)


#: Public toolkit headers that kernels include; ``test_real_sources.py`` has others, which builds compile.
TOOLKIT = """
    cooperative_groups/reduce.h cuComplex.h cuda/atomic cuda/barrier cudaTypedefs.h cuda_bf16.h
    cuda_device_runtime_api.h cuda_fp16.h cuda_fp8.h cuda_pipeline.h cuda_runtime_api.h device_atomic_functions.h
    device_launch_parameters.h math_constants.h mma.h thrust/pair.h thrust/tuple.h vector_functions.h vector_types.h
""".split()  # noqa: SIM905 - a list would take a line a word


@pytest.mark.parametrize("name", slow_but(["cuda_fp16.h", "mma.h"], TOOLKIT))
def test_toolkit_headers_compile_alone(name):
    """With the headers, each of these is accepted by itself."""
    assert compile_with(include(name) + KERNEL).ok


@pytest.mark.parametrize("in_memory", [False, True])
def test_thrusts_complex_numbers_compile(in_memory, slow):
    """Before CCCL 3.4, its stream operators have no mark; here they get one, and the others keep theirs."""
    kernel = 'extern "C" __global__ void k(thrust::complex<float>* z) { *z *= exp(*z) / 2.f; z[1] = z[2] == z[3]; }'
    assert compile_with(include("thrust/complex.h") + kernel, in_memory=in_memory).log.strip() == ""


def test_the_driver_apis_types_for_kernels():
    """Most sources that include cuda.h need its version; those for Hopper, the tensor map, which its release aligns."""
    source = (
        include("cuda.h")
        + """
    static_assert(CUDA_VERSION >= 12000 && sizeof(CUtensorMap) == 128);
    static_assert(alignof(CUtensorMap) == (CUDA_VERSION >= 13000 ? 128 : 64));
    extern "C" __global__ void k(const __grid_constant__ CUtensorMap map, CUdeviceptr p) { *(float*)p = map.opaque[0]; }
    """
    )
    assert compile_with(source).ok


def test_a_project_may_have_a_libcudacxx_that_asks_for_time_before_it_defines_it(tmp_path):
    """CCCL 3.4's includes much before it defines timespec; there can be no other."""
    later = "#define _CUDA_STD_CTIME\n#include <time.h>\nusing time_t = long long int;\n"
    later += "struct timespec { time_t tv_sec; };\n"
    for name, text in {
        "cuda/std/ctime": f"#ifndef _CUDA_STD_CTIME\n{later}#endif\n",
        "cuda/std/__cccl/version.h": "#define CCCL_VERSION 3004003\n",
        "k.cu": "#include <cuda/std/ctime>\n#include <ctime>\n__global__ void k(timespec* t) { t->tv_sec = 1; }\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    recipe = Recipe(module="k", sources=("k.cu",), options=NvrtcOptions(include=(".",)))
    assert run_job(recipe.job(read_recipe(recipe, tmp_path), SmArch.parse("sm_90"), ("cubin",))).kernels


def test_enumerators_may_have_the_names_of_floating_point_classes():
    """CUTLASS 2 has them for NVRTC in no namespace, with macros of the same names, and includes <cmath> elsewhere."""
    names = ("FP_NAN", "FP_INFINITE", "FP_ZERO", "FP_SUBNORMAL", "FP_NORMAL")
    values = ",".join(f"{name} =\n# define {name} {at}\n {name}" for at, name in enumerate(names))
    own = f"enum {{ {values} }};\n"
    for text in (include("cmath") + own, own + include("cmath")):
        use = 'extern "C" __global__ void k(int* x) { *x = (std::fpclassify(0.0f) == FP_ZERO) + FP_NAN; }'
        assert compile_with(text + use).ok


def test_every_enumeration_and_handle_of_the_driver_is_a_type():
    """Projects have aliases of them beside device code; those of the toolkit's own header, which NVRTC refuses."""
    found = [Path(folder, "cuda.h") for folder in load_toolchain().include_dirs]
    text = next((path.read_text() for path in found if path.is_file()), "")
    if not text or int(re.search(r"define CUDA_VERSION (\d+)", text)[1]) > 13000:
        pytest.skip("no cuda.h of a CUDA that the package's header was written for")
    sizes = dict.fromkeys(re.findall(r"typedef enum \w+\s*\{[^}]*\}\s*(CU\w+);", text), 4)
    sizes |= dict.fromkeys(re.findall(r"typedef struct \w+\s*\*\s*(CU\w+);", text), 8)
    checks = "".join(f'static_assert(sizeof({name}) == {size}, "");\n' for name, size in sizes.items())
    assert len(sizes) > 80
    assert compile_with(f"#include <cuda.h>\n{checks}{KERNEL}").log.strip() == ""
