"""What a failed compile says: each error once, at its place, with what to do about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from raw_nvrtc import compile_raw

from hatch_cuda_kernels import compile_to_cubin, compile_to_ptx
from hatch_cuda_kernels.compiler.diagnostics import source_faults
from hatch_cuda_kernels.compiler.finish import target_faults
from hatch_cuda_kernels.compiler.job import Program
from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.libraries import headers_in, words_in
from hatch_cuda_kernels.options import NvrtcOptions

NOTHING = Program(source="", name="", headers=(), pre_include=(), outside=(), computed=())


def failed(source, *names, **settings):
    """Return the error of a source."""
    with pytest.raises(CompileError) as caught:
        compile_to_ptx(source, arch="sm_90", names=names, use_cache=False, **settings)
    return caught.value


def kernel(body, params="float* x"):
    """Return a kernel."""
    return f'extern "C" __global__ void k({params}) {{ {body} }}\n'


#: Headers that take long to compile.
HEAVY = dict.fromkeys(("cooperative_groups.h", "cub/cub.cuh"), pytest.mark.slow)
INCLUDED = {
    "__half": (kernel("*x = 1;", "__half* x"), "cuda_fp16.h"),
    "a namespace": (
        "namespace cg = cooperative_groups;\n" + kernel("cg::this_thread_block().sync();"),
        "cooperative_groups.h",
    ),
    "a class of a namespace": (kernel("__shared__ cub::BlockReduce<float, 128>::TempStorage t;"), "cub/cub.cuh"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "header"),
    [pytest.param(*case, id=name, marks=HEAVY.get(case[1], ())) for name, case in INCLUDED.items()],
)
def test_a_name_without_its_header(source, header):
    """The line to add is told; with it, the source compiles."""
    error = failed(source)
    assert f"  to fix: add #include <{header}>" in str(error).splitlines()
    compile_to_ptx(f"#include <{header}>\n{source}", arch="sm_90", use_cache=False)


BRINGS = [
    pytest.param(header, [name for name in names if names[name] == header], scope, marks=marks or HEAVY.get(header, ()))
    for names, scope, marks in (
        (
            {**headers_in("standard", "global"), **headers_in("cuda", "device"), **headers_in("cuda", "implicit")},
            "",
            (),
        ),
        (headers_in("standard", "std"), "std", pytest.mark.slow),
    )
    for header in dict.fromkeys(names.values())
]


@pytest.mark.parametrize(("header", "names", "scope"), BRINGS)
def test_headers_bring_what_is_said_of_them(header, names, scope):
    """Each header that is advised compiles, and declares or defines each of its names."""
    tests = "\n".join(
        f"#ifndef {name}\nnamespace n{number} {{ using {scope}::{name}; }}\n#endif"
        for number, name in enumerate(names)
        if name
        not in {
            "chrono",
            "filesystem",
            "numbers",
            "placeholders",
            "this_thread",
            *words_in("standard", "sets", "cpp20"),
        }
    )
    if header in {"cub/cub.cuh", "cooperative_groups.h", "mma.h"}:
        tests = ""  # namespaces
    folders = load_toolchain().include_dirs
    if header == "curand_kernel.h" and not any(Path(folder, header).exists() for folder in folders):
        pytest.skip("cuRAND is not installed")
    compile_to_ptx(f"#include <{header}>\n{tests}\n{kernel('*x = 1;')}", arch="sm_90", use_cache=False)


OTHERS = {
    "an unmarked function": (
        "int f(int i) { return i; }\n" + kernel("*x = f(1);"),
        "mark it __device__ or set 'default_device: true'",
    ),
    "a lambda with any parameters": (
        kernel("auto twice = [&](auto y) { return y + x[1]; }; *x = twice(*x);"),
        "NVRTC takes a lambda with auto parameters for the host's: set 'default_device: true'",
    ),
    "an unmarked variable": (
        "float table[4];\n" + kernel("*x = table[1];"),
        "mark it __device__ or __constant__",
    ),
    "a name of a later standard": (kernel("*x = std::bit_width(7u);"), "it is C++20's: write 'std: c++20'"),
    "the host's API": (kernel("cudaMemcpy(x, x, 4);"), "cudaMemcpy is the host's: keep it from NVRTC with #ifndef"),
    "PyTorch's types": (kernel("*x = 1;", "at::Half* x"), "PyTorch's C++ types are the host's: use CUDA's"),
    "PyTorch's functions": (kernel("gpuAtomicAdd(x, 1.f);"), "add #include <ATen/cuda/Atomic.cuh>"),
    "a name of what NVRTC cannot read": (
        "namespace n { unknown::T f(int); }\n" + kernel("*x = n::f(1);"),
        "f (source.cu:1) has no device mark, and NVRTC refuses its declaration",
    ),
    "a texture reference": ("texture<float> t;\n" + kernel("*x = tex1Dfetch(t, 1);"), "cudaTextureObject_t"),
    "a word of C's": (
        "#define P(a, b) a##b\n" + kernel("P(reg, ister) float y = 1; *x = y;"),
        'define: {register: ""}',
    ),
    "what Thrust has no more": (
        "#include <thrust/functional.h>\nstruct S : thrust::unary_function<int, int> { __device__ void f(); };\n"
        + kernel("*x = 1;"),
        "CUDA 13 removed it from Thrust",
    ),
    "an unknown compiler": (
        "#ifdef _MSC_VER\n#else\n#error Unknown compiler\n#endif\n" + kernel("*x = 1;"),
        "add a branch for __CUDACC_RTC__",
    ),
    "a macro that a condition calls": (
        "#if defined(A) || LIB_AT_LEAST(3, 4)\n#endif\n" + kernel("*x = 1;"),
        "LIB_AT_LEAST is not a macro here: include the header that defines it",
    ),
    "an old C++": (
        "#if __cplusplus < 202002L\n#error needs at least C++20\n#endif\n" + kernel("*x = 1;"),
        "as by 'std: c++20'",
    ),
    "an older one": ("#error Thrust requires at least C++17.\n" + kernel("*x = 1;"), "as by 'std: c++17'"),
    "statements in parentheses": (kernel("*x = ({ float y = *x; y + 1; });"), "make a function of them"),
    "statements that a macro stands for": (
        "#define MAX(a, b) ({ auto _a = a; auto _b = b; _a > _b ? _a : _b; })\n#define CLAMP(a) MAX(a, 0)\n"
        + kernel("*x = CLAMP(*x);"),
        "NVRTC takes no statements in parentheses, ({ ... }), of GNU C",
    ),
    "a name with a dollar sign": (
        "#define $TWICE(a) (2 * (a))\n" + kernel("*x = $TWICE(*x);"),
        "NVRTC takes no $ in names",
    ),
    "members by name": (
        "struct S { int a, b; };\n__device__ const S s = { .a = 1, .b = 2 };\n" + kernel("*x = s.a;"),
        "members by their names, { .a = ... }, are C++20's to NVRTC: write 'std: c++20'",
    ),
    "members by name that a macro stands for": (
        "struct S { int a, b; };\n#define MADE { .a = 1, .b = 2 }\n__device__ const S s = MADE;\n"
        + kernel("*x = s.a;"),
        "members by their names, { .a = ... }, are C++20's",
    ),
    "a texture reference that a guard keeps away": (
        kernel("*x = tex2D(t, x[1], x[2]);"),
        "where t is a texture or surface reference: CUDA 12 removed texture and surface references",
    ),
    "a macro of the build": (
        kernel("*x = TILE_WIDTH;"),
        "if the project's own build defines it (-DTILE_WIDTH), state it: 'define: {TILE_WIDTH: ...}'",
    ),
    "types that are both long to nvcc": (
        "__device__ int f(unsigned long, unsigned long); __device__ int f(long long, long long);\n"
        + kernel("*x = f(sizeof(int), 1LL);"),
        "(unsigned long, long long)\n  | ",
    ),
    "a half beside a float": (
        "#include <cuda_fp16.h>\n" + kernel("*x = *h * *x;", "float* x, __half* h"),
        "as by static_cast<float>",
    ),
    "a member of what the host's library specialises": (
        "#include <complex>\nstruct H { float x; };\nnamespace std { template <> __device__ complex<float>& "
        "complex<float>::operator=(const complex<H>&); }\n" + kernel("*x = 1;"),
        "std::complex has no specialisations here",
    ),
    "an allocator that Thrust has no more": (
        kernel("thrust::system::cuda::experimental::pinned_allocator<int> a; *x = 1;"),
        "CUDA 13 removed Thrust's experimental allocators",
    ),
    "a launch in device code": (
        kernel("") + "__global__ void l(float* x) { k<<<1, 1>>>(x); }",
        "libraries: [cudadevrt]",
    ),
}


@pytest.mark.parametrize(("source", "fix"), OTHERS.values(), ids=OTHERS.keys())
def test_what_nvrtc_cannot_know(source, fix):
    """Code of the host's is told from a mistake, with the ways to keep it from NVRTC."""
    assert fix in str(failed(source))


def test_headers_of_the_host_that_are_kept():
    """Whoever keeps host code is told what brings PyTorch's headers in."""
    source = "#ifndef NO_TORCH\n#include <torch/extension.h>\n#endif\n"
    fix = "NVRTC cannot compile PyTorch's headers, which are the host's; 'host_code: drop' cuts their includes"
    assert fix in str(failed(source, options=NvrtcOptions(host_code="keep")))


def test_a_macro_of_another_compiler_is_not_to_be_defined():
    """NVRTC's own headers read it before the source; nothing else is blamed."""
    error = failed(kernel("*x = 1;"), options=NvrtcOptions(define=(("__GNUC__", "12"),)))
    assert "such as __GNUC__, leads NVRTC's own headers astray: take it out of 'define:'" in str(error)
    assert "standard_headers" not in str(error)


@pytest.mark.parametrize(("name", "header"), [("T", "cuda_fp16.h"), ("value_type", "cuda/std/limits")])
def test_a_macro_that_headers_use_is_named(name, header):
    """NVRTC's own, which come before all else, and the toolkit's."""
    error = failed(
        f"#include <{header}>\n{kernel('*x = 1;')}", options=NvrtcOptions(define=((name, "1"), ("LIMIT", "1")))
    )
    assert f"which is not the project's, uses the name {name}: give the macro under 'define:' a longer one" in str(
        error
    )


def test_a_macro_that_a_condition_hides_has_its_place(tmp_path):
    """The file and line that define it, not a header to add."""
    (tmp_path / "words.h").write_text("#ifdef SPECIAL\n#define OWN_INLINE inline\n#endif\n")
    error = failed('#include "words.h"\nOWN_INLINE __device__ int f();\n' + kernel("*x = 1;"), root=tmp_path)
    assert "to fix: words.h:2 defines the macro OWN_INLINE where a condition holds that does not here" in str(error)


def test_a_mistake_gets_no_advice():
    """Where the message says all there is, nothing is added; the place can be clicked on."""
    error = failed("\n" + kernel("*x = 1"))
    assert str(error).splitlines()[1:4] == [
        'source.cu:2:49: error: expected a ";"',
        '  | extern "C" __global__ void k(float* x) { *x = 1 }',
        "  |                                                 ^",
    ]
    assert "to fix" not in str(error)


def test_the_place_in_a_toolkit_header_is_told_from_ones_own():
    """A header that one of the toolkit's asks for is not looked for in the project."""
    log = (
        '/x/include/thrust/complex.h(3): catastrophic error: could not open source file "nowhere.h"\n  #include\n  ^\n'
    )
    [fault] = source_faults(log, NOTHING, release=load_toolchain().release)
    assert "to fix: thrust/complex.h, of the toolkit, asks for it: " in fault


def test_many_errors_are_a_few_lines():
    """The first three are shown, and how many more there are; the error has the whole log."""
    error = failed("\n".join(f'extern "C" __global__ void k{n}(float* x) {{ *x = nothing{n}; }}' for n in range(50)))
    assert len(str(error).splitlines()) <= 20
    assert "and 47 more errors: see the error's 'log'" in str(error)
    assert error.log.count("is undefined") == 50


def test_what_follows_from_an_error_is_left_out():
    """One line of a source is one fault, whatever else NVRTC says of it."""
    error = failed(kernel("*x = 1;", "__half* x"))
    assert len(error.faults) == 1
    assert error.log.count("error:") > 1


NAMES = """
template <class T, int N> __global__ void block_sum(T* x) {}
namespace ns { template <class T> __global__ void fill(T* x) {} }
"""


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("blok_sum<float, 2>", "identifier \"blok_sum\" is undefined; did you mean 'block_sum'?"),
        ("ns::fil<int>", 'namespace "ns" has no member "fil"; did you mean \'fill\'?'),
        ("block_sum<flot, 2>", 'identifier "flot" is undefined'),
        ("block_sum<float>", 'cannot determine which instance of function template "block_sum" is intended'),
    ],
)
def test_a_mistyped_name_is_one_line(name, reason):
    """Each name has its reason, and the kernel that may have been meant."""
    error = failed(NAMES, name, "block_sum<float, 4>")
    assert str(error).splitlines()[1] == f"{name!r}: {reason}"
    assert error.bad_names == (name,)


def test_a_broken_source_is_not_blamed_on_names():
    """An error in the source hides its kernels, which is no fault of their names."""
    error = failed("#error broken\n" + NAMES, "block_sum<float, 4>")
    assert error.bad_names == ()


def test_the_compiler_behind_knows_nothing_of_it():
    """These are NVRTC's own words, seen here: a new release that changes them fails this test."""
    log = compile_raw(kernel("*x = INFINITY;")).log
    assert 'error: identifier "INFINITY" is undefined' in log


def test_overloads_for_64_bits():
    """On Linux, uint64_t is unsigned long, so a function may be for both; a typedef of another type is told."""
    pair = "__device__ int f(uint64_t a) { return 1; }\n__device__ int f(unsigned long long a) { return 2; }\n"
    compile_to_ptx(pair + kernel("*x = f(1ull);"), arch="sm_90", use_cache=False)
    fault = str(failed("#include <cstdint>\ntypedef long long int64_t;\n" + kernel("*x = 1;")))
    assert "to fix: it is long, as with nvcc: leave it to <cstdint>, also for NVRTC" in fault


@pytest.mark.parametrize("name", ["FIXED_LOCAL_SIZE", "WIDTH", "USE_FP16"])
def test_a_macro_that_the_projects_own_build_defines(name):
    """Its -D is in a Makefile that nobody here reads."""
    fault = str(failed(kernel(f"__shared__ int local[{name}]; local[0] = 1; *x = local[0];")))
    assert f"if the project's own build defines it (-D{name}), state it: 'define: {{{name}: ...}}'" in fault


@pytest.mark.parametrize("name", ["CUBLAS_STATUS_SUCCESS", "ncclFloat", "Width", "N", "INFINITE_LOOPS_x"])
def test_other_names_are_not_taken_for_macros(name):
    """Nor are constants of libraries."""
    assert "own build" not in str(failed(kernel(f"*x = {name};")))


@pytest.mark.parametrize(
    ("instruction", "arch", "fix"),
    [
        ("wgmma.fence.sync.aligned;", "sm_90", "architecture sm_90a has this: list it in the module's 'arches:'"),
        ("wgmma.fence.sync.aligned;", "sm_100", "architecture sm_90a has this: list it in the module's 'arches:'"),
        ("setmaxnreg.inc.sync.aligned.u32 240;", "sm_100", "if sm_100a does, list it in the module's 'arches:'"),
        ("setmaxnreg.inc.sync.aligned.u32 240;", "sm_80", ""),
        ("cp.async.commit_group;", "sm_75", ""),
    ],
)
def test_an_instruction_of_an_architecture_specific_target(instruction, arch, fix):
    """The architecture to list in its place is named, by NVRTC's own assembler and by ptxas."""
    source = kernel(f'asm volatile("{instruction}");')
    with pytest.raises(CompileError) as caught:
        compile_to_cubin(source, arch=arch, use_cache=False)
    assert fix in str(caught.value)
    assert ("to fix" in str(caught.value)) is bool(fix)
    if fix:
        assert f"in place of {arch}" in str(caught.value)
        (fault,) = target_faults(caught.value.log)
        assert fix in fault


def test_where_a_source_cannot_be_read_is_told_first():
    """What NVRTC says of host code follows from it: none is cut then."""
    error = failed("int f(int a) { return a; }\n__global__ void k(int* x) { *x = 1; }\nclass Q { int a;\n")
    assert error.faults[0].startswith("source.cu:3: a brace that nothing closes\n  to fix: mend it")


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [
        ("static int h(int a) { return a + 1 + 2; } __device__ int f(int x) { return missing + x; }\n", 1, 76),
        ("#define BOTH(n) int n() { return 1; } __device__ int n##d(int x) { return missing; }\nBOTH(f)\n", 2, 1),
        (f"__device__ int f(int x) {{ return {'x + ' * 60}missing; }}\n", 1, 274),
    ],
    ids=["behind what was cut", "in a macro", "in a long line"],
)
def test_an_error_is_where_the_file_has_it(source, line, column):
    """Line, column and text are the file's, whatever NVRTC is shown of it."""
    error = failed(source + kernel("*x = f(1);"))
    first, shown, mark, *_ = error.faults[0].splitlines()
    assert first == f'source.cu:{line}:{column}: error: identifier "missing" is undefined'
    text = source.splitlines()[line - 1]
    assert text[column - 1 :].startswith(shown[mark.index("^") :][:7])
    assert shown.removeprefix("  | ") in text


def test_the_use_of_a_variable_of_the_hosts_is_told():
    """The place where device code has its name comes with the place of the variable."""
    source = "static int factor = 3;\n#define F factor\n" + kernel("\n*x = F;\n")
    assert (
        failed(source)
        .faults[0]
        .startswith("source.cu:1: error: factor has no device mark, and device code uses it, in")
    )
    assert "source.cu:4" in failed(source).faults[0]


def test_lines_by_another_number_are_no_matter():
    """A file whose lines have other numbers is refused with the place that NVRTC tells."""
    assert failed("#line 700\nint f(missing*);\n" + kernel("")).faults[0].startswith("source.cu:700:7: error:")
