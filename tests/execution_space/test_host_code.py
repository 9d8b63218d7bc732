"""Host code is cut: what stays is what nvcc compiles, whatever stands around it, and no use of what goes is silent."""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from pathlib import Path

import pytest
from test_meaning import compile_ptx

from hatch_cuda_kernels import CompileError, InputError, NvrtcOptions, compile_to_cubin, compile_to_ptx, open_store
from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler.job import Recipe
from hatch_cuda_kernels.compiler.nvrtc import run_job
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.compiler.toolchain.toolchain import find_toolchain
from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.options import HostCode

REPOSITORY = Path(__file__).parents[2]
FOLDER = Path(__file__).parent
KERNEL = "__global__ void k(int* p) { *p = 1; }\n"
CASE = re.compile(r"^=== ([^\n]*)\n(.*?)(?=^===|\Z)", re.MULTILINE | re.DOTALL)
PART = re.compile(r"^--- (\w+)\n(.*?)(?=^---|\Z)", re.MULTILINE | re.DOTALL)
CASES = {name: dict(PART.findall(body)) for name, body in CASE.findall((FOLDER / "host_code.txt").read_text())}
VALUES = {
    name: (value, text)
    for title, text in CASE.findall((FOLDER / "same_values.txt").read_text())
    for name, _, value in [title.rpartition(": ")]
}


def read(root, source="k.cu", **options):
    """Return a recipe of a project's source, and what NVRTC is shown of it."""
    recipe = Recipe(module="k", sources=(source,), options=NvrtcOptions(**options))
    return recipe, read_recipe(recipe, root)


def project(root, text, **headers):
    """Write a source and headers."""
    for name, header in headers.items():
        (root / f"{name}.h").write_text(header)
    (root / "k.cu").write_text(text)
    return root


def stored(ptx):
    """Return the constants that kernels store."""
    return re.findall(r"(?:mov\.[bu]32 \s*%r\d+|st\.global\.[bu]32 \s*\[%rd\d+\]), (\d+);", ptx)


@pytest.mark.parametrize("case", CASES)
def test_host_code_of_every_kind_compiles(tmp_path, case):
    """Beside a kernel that has nothing to do with it."""
    parts = CASES[case]
    project(tmp_path, f'#include "h.h"\n{parts["text"]}\n__global__ void last() {{}}\n', h=parts.get("header", ""))
    assert "last" in compile_ptx(tmp_path, "auto")


@pytest.mark.parametrize("host", ["", "void run(int* p);\n"], ids=["alone", "with host code"])
@pytest.mark.parametrize("case", VALUES)
def test_a_kernel_stores_the_same(tmp_path, case, host):
    """As nvcc makes of it, or NVRTC refuses the source, where it holds what is not understood."""
    value, text = VALUES[case]
    made = compile_ptx(project(tmp_path, text + host), "auto")
    assert made is None or stored(made)[-1:] == [value]


ALONE = {
    "marks": "__device__ int f() { if (f()) { return 1; } return 2; }\n__host__ __device__ inline int g();\n",
    "macros": "#define HD __host__ __device__\n#define FN(name) HD int name\nHD int f() { return 1; }\nFN(g)() {}\n",
    "a constant in parentheses": "enum { three = 3 };\nconst int n(three);\n",
    "guarded": "#ifndef __CUDACC_RTC__\n#include <torch/extension.h>\nint main() { k<<<1, 1>>>(0); }\n#endif\n",
    "guarded else": "#if defined(__CUDACC_RTC__)\n#else\nint main() {}\n#endif\n",
    "unknown": "#ifdef TESTS\n#include <gtest/gtest.h>\nint main() {}\n#endif\n",
    "comment": "// int main() {}\n/* #include <torch/extension.h> */\n",
    "constants": "static const int b[] = {1};\ntemplate <class T> constexpr T v = T(1);\n",
    "statements": "struct C { __device__ C(int) {} };\n__device__ int h(int a) { C c(a); return int(a); }\n",
}


@pytest.mark.parametrize("case", ALONE)
def test_a_source_without_host_code_is_left_alone(tmp_path, case):
    """Byte for byte; NVRTC does take it."""
    _, sources = read(project(tmp_path, ALONE[case] + KERNEL))
    assert sources.units[0].source == ALONE[case] + KERNEL
    assert not sources.changes
    assert compile_ptx(tmp_path, "auto")


CUT = {
    "a helper": "int blocks(int n) { return (n + 255) / 256; }\n",
    "a launch": "template <class T> void run(T* p) { k<<<1, 32>>>(p); }\n",
    "an error for other compilers": "#if defined(_MSC_VER)\n#elif defined(__GNUC__)\n#else\n#error x\n#endif\n",
    "a brace by a macro of several standard libraries": (
        "#ifdef _LIBCPP_VERSION\n#define BEGIN _LIBCPP_BEGIN_NAMESPACE_STD\n#else\n#define BEGIN namespace std {\n"
        "#endif\nBEGIN\nclass own;\n}\nint f() { return 1; }\n"
    ),
    "a member": "struct S {\n  int n;\n  int size() const { return n; }\n};\n",
    "a constructor": "struct S {\n  int n;\n  S() : n(0) {}\n  S(int a) : n(a) {}\n};\n",
    "an operator": "struct S {\n  bool operator==(const S& o) const { return &o == this; }\n};\n",
    "an attribute": "[[nodiscard]] int f() { return 1; }\n",
    "only for the host": "__host__ void run() {}\n",
    "a library": "#include <torch/extension.h>\n",
    "in a namespace": "namespace a { namespace { int f(int a) { return a; } } }\n",
    "in a branch": "#if defined(__CUDACC__) && 1\n#else\n#endif\n#ifdef __CUDACC__\nint f() { return 1; }\n#endif\n",
    "in a header": '#include "h.h"\n',
    "with variables": "int count = 0;\nint next() { return ++count; }\n",
}


@pytest.mark.parametrize("case", CUT)
def test_host_code_that_nvrtc_refuses_is_cut(tmp_path, case):
    """As ``drop`` does it, under the same key, and lines stay; without it, NVRTC refuses the source."""
    root = project(tmp_path, CUT[case] + KERNEL, h="#pragma once\n#define N 4\nvoid run(int*) {}\n")
    _, sources = read(root)
    keys = {}
    for mode in HostCode:
        one, found = read(root, host_code=mode)
        job = one.compile_job(one.units(found)[0], SmArch.parse("sm_80"), ("cubin",))
        keys[str(mode)] = job.key("cubin", find_toolchain())
    assert keys["auto"] == keys["drop"] != keys["keep"]
    assert sources.changes
    assert sources.units[0].source.count("\n") == (CUT[case] + KERNEL).count("\n")
    assert compile_ptx(root, "auto")
    assert compile_ptx(root, "keep") is None


CHANGES = """\
#include <mpi.h>
inline int blocks(int n) { return n / 2; }
struct Pair { char c; int i; } __attribute__((packed));
const float pi = 3.0f;
#ifdef __NVCC__
thread_local int made;
#endif
"""


def test_each_change_is_named_once_and_as_it_is(tmp_path):
    """``inline`` goes with a body, and is no second change."""
    _, sources = read(project(tmp_path, CHANGES))
    assert [str(change) for change in sources.changes] == [
        "k.cu:1: the include of mpi.h is cut",
        "k.cu:2: the body of blocks is cut",
        "k.cu:3: the attributes of Pair are where NVRTC heeds them",
        "k.cu:4: pi is constexpr",
        "k.cu:5: the condition __NVCC__ is decided as for nvcc",
        "k.cu:6: the value of made is cut",
    ]


def test_a_pragma_in_a_body_is_told_with_the_body(tmp_path):
    """What goes with a body has the reason of the body, so that commands can say it."""
    text = "struct H { void f() {\n#pragma pack(push, 1)\n} int x; };\n__global__ void k(int* p) { *p = sizeof(H); }\n"
    changes = read(project(tmp_path, text))[1].changes
    assert {str(change).partition(": ")[2] for change in changes} == {"the body of f is cut"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("const float pi = 3.0f;\nint f() { return 1; }\n", "host code cut in k.cu: f (k.cu:2) has no device mark"),
        ("#include <mpi.h>\n", "host code cut in k.cu: mpi.h (k.cu:1) is a header of the host's"),
        ("const float pi = 3.0f;\n", "text changed in k.cu: k.cu:1: pi is constexpr"),
    ],
)
def test_a_build_says_what_is_cut_and_why(tmp_path, text, said):
    """Where nothing is cut, nothing is called host code."""
    recipe, sources = read(project(tmp_path, text))
    assert recipe.cut_sentence(sources) == f"module 'k': {said}; host_code: keep turns this off"


def test_what_has_no_mark_is_device_code_with_default_device(tmp_path):
    """The option says so; ``drop`` can still be asked for."""
    root = project(tmp_path, f"int one() {{ return 1; }}\n{KERNEL}")
    assert not read(root, default_device=True)[1].changes
    assert read(root, default_device=True, host_code=HostCode.DROP)[1].changes


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["example_project", "benchmarks/sources"])
def test_the_repositorys_own_sources_are_left_alone(folder):
    """They were written for NVRTC."""
    root = REPOSITORY / folder
    include = tuple(path.relative_to(root).as_posix() for path in root.rglob("include") if path.is_dir())
    paths = [path.relative_to(root).as_posix() for path in root.rglob("*.cu")]
    assert paths
    for path in paths:
        assert not read(root, path, include=include)[1].changes


MIXED = '#include "h.h"\ntemplate <class T> __global__ void k(T* p) { *p = N; }\nvoid run() { k<<<1, 32>>>(0); }\n'
MANIFEST = "schema: 1\narches: [sm_80]\nmodules:\n  mixed: {source: k.cu, instances: [k<float>]}\n"


def built(tmp_path, *, editable=False):
    """Build a mixed source into a store beside its project, which is returned."""
    root = tmp_path / "project"
    root.mkdir()
    project(root, MIXED, h="#include <mpi.h>\n#define N 3\n")
    (root / "kernels.yaml").write_text(MANIFEST)
    build_store(load_manifest(root / "kernels.yaml"), tmp_path / "store", editable=editable)
    return root


@pytest.mark.slow
def test_check_and_inspect_list_the_same_changes(tmp_path, fresh_cache, capsys):
    """As JSON always, in words where somebody asked for the cut."""
    root = built(tmp_path)
    changes = [("h.h", 1, "include", "mpi.h"), ("k.cu", 3, "body", "run")]
    words = ["h.h:1: the include of mpi.h is cut", "k.cu:3: the body of run is cut"]
    manifest = root / "kernels.yaml"
    capsys.readouterr()
    assert main(["check", "--json", str(manifest)]) == 0
    checked = json.loads(capsys.readouterr().out)["changes"]
    assert main(["inspect", "--json", str(tmp_path / "store")]) == 0
    (inspected,) = json.loads(capsys.readouterr().out)["modules"].values()
    assert [tuple(change.values()) for change in checked] == [("mixed", *change) for change in changes]
    assert [tuple(change.values()) for change in inspected["changes"]] == changes
    for code, listed in (("auto", 0), ("drop", 2)):
        manifest.write_text(f"options: {{host_code: {code}}}\n{MANIFEST}")
        assert main(["check", str(manifest)]) == 0
        out = capsys.readouterr().out
        assert [f"module 'mixed': {line}" in out for line in words].count(True) == listed
        assert ("host code cut in k.cu and 1 header: run (k.cu:3) has no device mark" in out) == (code == "auto")


@pytest.mark.slow
def test_an_attribute_that_may_be_another_is_an_error_with_the_place(tmp_path, fresh_cache, capsys):
    """Before a build, too, where NVRTC ignores the attribute and nvcc does not."""
    header = "#if __CUDA_ARCH__ > 800\n#define PACKED __attribute__((packed))\n#else\n#define PACKED\n#endif\n"
    text = f'#include "h.h"\n#define ALL(...) __VA_ARGS__\nALL(struct S {{ char a; double b; }} PACKED;)\n{KERNEL}'
    project(tmp_path, text, h=header)
    manifest = tmp_path / "kernels.yaml"
    manifest.write_text("schema: 1\narches: [sm_80]\nmodules: {k: {source: k.cu}}\n")
    for command in (["check"], ["build", "--out", str(tmp_path / "store")]):
        assert main([*command, str(manifest)]) == 1
        assert "k.cu:3: nvcc and NVRTC read the attributes here in different ways" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("editable", [False, True])
def test_a_store_compiles_what_the_build_compiles(tmp_path, fresh_cache, editable):
    """At run time, and to verify a rebuild, host code is cut as it was in the build."""
    built(tmp_path, editable=editable)
    store = open_store(tmp_path / "store")
    assert store.find_image("k<float>", arch="sm_80").origin == "prebuilt"
    assert store.find_image("k<double>", arch="sm_80").origin == "jitted"
    assert main(["verify", str(tmp_path / "store"), "--rebuild"]) == 0


@pytest.mark.slow
def test_an_edit_of_host_code_leaves_an_editable_install_as_it_is(tmp_path, fresh_cache):
    """No device code changed on a line of its own, so the image still counts."""
    root = built(tmp_path, editable=True)
    (root / "k.cu").write_text(MIXED.replace("32", "64"))
    store = open_store(tmp_path / "store")
    assert store.find_image("k<float>", arch="sm_80").origin == "prebuilt"


def test_a_missing_mark_is_named():
    """It is what a beginner meets first."""
    text = 'float twice(float x) { return 2 * x; }\nextern "C" __global__ void k(float* p) { *p = twice(*p); }\n'
    with pytest.raises(CompileError, match=r"(?s)twice.*mark it __device__"):
        compile_to_cubin(text, arch="sm_80", use_cache=False)


def test_an_overload_of_the_host_is_found_as_by_nvcc():
    """A call that means it fails, and goes to no other."""
    functions = "float f(float x) { return x; }\n__device__ double f(double x) { return x; }\n"
    ptx = compile_to_ptx(functions + "__global__ void k(double* p) { *p = f(*p); }", arch="sm_80", use_cache=False)
    assert b".visible .entry" in ptx.image
    with pytest.raises(CompileError, match=r"f \(source.cu:1\)"):
        compile_to_cubin(functions + "__global__ void k(float* p) { *p = f(*p); }", arch="sm_80", use_cache=False)


@pytest.mark.slow
def test_the_name_of_a_host_function_brings_no_header(tmp_path):
    """It is refused as with nvcc, and does not become a type of the toolkit's that happens to have the name."""
    project(tmp_path, "float half(float x) { return x / 2; }\n__global__ void k(float* p) { *p = half(*p); }\n")
    (tmp_path / "kernels.yaml").write_text("{schema: 1, arches: [sm_90], modules: {k: {source: k.cu}}}")
    with pytest.raises(BuildError, match="half"):
        build_store(load_manifest(tmp_path / "kernels.yaml"), tmp_path / "store")


def test_a_missing_header_of_the_projects_is_not_taken_for_the_systems(tmp_path):
    """What it defines may decide what kernels do; the system's are included in angle brackets."""
    names = ('"error.h"', '"parallel/tile.cuh"', '"sys/queue.h"', "<error.h>", "<sys/queue.h>", "<yaml>")
    _, sources = read(project(tmp_path, "".join(f"#include {name}\n" for name in names) + KERNEL))
    assert [(found.line, found.name) for found in sources.changes] == [(4, "error.h"), (5, "sys/queue.h")]


CLOCKS = '#include "h.h"\nvoid about() { printf(__DATE__ " " __TIME__); }\n__global__ void k() {}\n'


@pytest.mark.parametrize(
    "header", ["void when() { puts(__TIME__); }\n", "#define NOW __TIME__\nvoid when() { puts(NOW); }\n"]
)
def test_the_time_of_a_build_in_host_code_is_no_matter(tmp_path, header):
    """What is cut may ask for it; what NVRTC is shown may not, as each build would give another image."""
    project(tmp_path, CLOCKS, h=header)
    assert read(tmp_path)
    with pytest.raises(InputError) as caught:
        read(tmp_path, host_code=HostCode.KEEP)
    lines = [line.partition(" differs")[0] for line in str(caught.value).splitlines()]
    assert lines == ["h.h:1: __TIME__", "k.cu:2: __DATE__", "k.cu:2: __TIME__"]


def test_device_code_may_not_use_the_time_of_the_build(tmp_path):
    """Also where a macro stands for it."""
    project(tmp_path, '#define NOW "at " __TIME__\n__global__ void k() { printf(NOW); }\n')
    with pytest.raises(InputError, match=r"k\.cu:1: __TIME__ differs in each build"):
        read(tmp_path)


def test_long_conditions_take_no_time(tmp_path):
    """Whatever they name: one that cannot be decided lets both branches count."""
    words = " || ".join(f"SOME_LONG_NAME_OF_A_MACRO_{at}" for at in range(40))
    text = f"#if {words} || !defined(OTHER)\nint f() {{ return 1; }}\n#endif\n{KERNEL}"
    assert [found.name for found in read(project(tmp_path, text))[1].changes] == ["f"]


DOUBLED = "".join(f"#define A{n} A{n - 1} A{n - 1}\n#define F{n}(x) F{n - 1}(x) F{n - 1}(x)\n" for n in range(1, 23))
TOO_LONG = "k.cu:47: this use of a macro becomes more than 262,144 tokens"


@pytest.mark.parametrize(
    ("condition", "first", "said"),
    [
        ("A22 0", "1 +", ""),  # that is what it is for nvcc and NVRTC alike
        ("A22 0", "__CUDA_ARCH__ +", ""),
        ("A22 __CUDA_ARCH__", "__GNUC__ +", TOO_LONG),
        ("A22 0", "defined(__GNUC__) +", TOO_LONG),
        ("A22 __CUDA_ARCH__", "__has_builtin(__builtin_trap) +", TOO_LONG),
        ("F22(1) 0", "x +", ""),
        ("F22(__GNUC__) __CUDA_ARCH__", "x +", TOO_LONG),
        ("F0( " * 30_000, "x", ""),
        ("__has_builtin(f + " * 30_000 + "__CUDA_ARCH__", "", "k.cu:47: __has_builtin without an operand"),
        ("__has_include(" * 30_000, "", TOO_LONG),
    ],
)
def test_conditions_that_never_end_are_left_to_nvrtc_or_refused(tmp_path, condition, first, said):
    """Four million tokens, or parentheses that nothing closes: what nvcc makes of one is not guessed."""
    text = f"#define A0 {first}\n#define F0(x) {first}\n" + DOUBLED
    start = time.process_time()
    cut = read(project(tmp_path, f"{text}#if {condition}\n#endif\n{KERNEL}"))[1].units[0].cut
    assert time.process_time() - start < 10
    assert cut.unread == said
    assert not cut.edits


@pytest.mark.parametrize(
    "text",
    [
        "namespace n { template <class T> struct ",
        "template <class T> concept",
        "void f() __attribute__",
        "using namespace",
        "using namespace ::",
        "namespace a =",
        "namespace a = ::;",
        "CHOICE()\n#if CHOICE)\n#include <vector>\n#endif\n",
    ],
)
def test_a_text_that_ends_too_early_is_left_to_nvrtc(text):
    """It says what is wrong with most of these, and takes some of them."""
    with suppress(CompileError):
        assert [kernel.name for kernel in compile_to_ptx(f"{KERNEL}{text}", arch="sm_90").kernels] == ["k"]


def test_a_name_that_a_macro_makes_is_no_secret(tmp_path):
    """Where the architecture decides the condition, too, nothing is put in its place."""
    text = f"#define CAT(a, b) a##b\n#if CAT(__GNU, C__) > 5 && __CUDA_ARCH__ > 800\n#endif\n{KERNEL}"
    found = read(project(tmp_path, text))[1].units[0].cut.unread
    assert found == "k.cu:2: this condition depends on the compiler in several ways"


@pytest.mark.parametrize("head", ["int a = ", "void ", "__global__ void f() { int a = "])
def test_calls_that_nothing_closes_take_no_time(tmp_path, head):
    """Of each, no parenthesis is looked for to the end of the text."""
    start = time.process_time()
    read(project(tmp_path, f"#define F(x) x\n{head}{'F( ' * 30_000};\n"))
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "around",
    ["__global__ void k(int* p) {\n%s\n*p = n;\n}", "struct A {\n%s\n};\n__global__ void k(A* p) {}",
     "__constant__ int t[] =\n%s\n;", "__constant__ int t[] = {\n%s\n};", "enum E {\n%s\n};"],
)  # fmt: skip
def test_what_is_included_inside_a_declaration_is_no_host_code(tmp_path, around):
    """Variables of a function or members of a class have no mark; nor does what such a text includes in turn."""
    text = f'namespace a {{\n#include "host.h"\n}}\n{around}\n' % '#include "part.h"'
    project(tmp_path, text, host="int host = 1;\n")
    project(tmp_path, (tmp_path / "k.cu").read_text(), part='int n;\nstatic const int m = 3;\n#include "more.h"\n')
    project(tmp_path, (tmp_path / "k.cu").read_text(), more="float x;\n")
    headers = {name.rpartition("/")[2]: text for name, text in read(tmp_path)[1].units[0].headers}
    assert "1" not in headers["host.h"]
    assert "int n;\nstatic const int m = 3;" in headers["part.h"]
    assert headers["more.h"] == "float x;\n"


def test_a_guarded_header_is_read_where_it_was_first(tmp_path):
    """A function may include what a namespace has included before: nothing of it is read again."""
    text = '#include "h.h"\n__global__ void k(int* p) {\n#include "h.h"\n}\n'
    _, sources = read(project(tmp_path, text, h="#pragma once\nint f() { return 1; }\n"))
    assert [(found.path, found.name) for found in sources.changes] == [("h.h", "f")]


DETECTED = """
template <class T> T&& made();
template <class T, class = void> struct Has { static constexpr int value = 7; };
template <class T> struct Has<T, decltype((void)EXPRESSION)> { static constexpr int value = 8; };
"""
STORED = "__global__ void k(int* p) { *p = VALUE; }\nvoid run(int* p) { k<<<1, 1>>>(p); }\n"

#: A source, the expression that its kernel stores, and the constant that nvcc makes of it.
OBSERVED = {
    "a member": (
        f"struct S {{ int n; int size() const {{ return n; }} }};{DETECTED}", "made<T>().size()", "Has<S>::value", 8
    ),
    "a member by its address": (
        f"struct S {{ int n; int rows() const {{ return n; }} }};{DETECTED}", "&T::rows", "Has<S>::value", 8
    ),
    "a function": (
        f"struct S {{ int n; }}; int area(S s) {{ return s.n; }}{DETECTED}", "area(made<T>())", "Has<S>::value", 8
    ),
    "an operator": (
        f"struct S {{ bool operator==(const S& o) const {{ return &o == this; }} }};{DETECTED}",
        "(made<T>() == made<T>())", "Has<S>::value", 8,
    ),
    "a conversion": (
        "struct S { operator int() const { return 1; } }; S made(); __device__ char is(int); __device__ int is(...);",
        "", "sizeof(is(made()))", 1,
    ),
    "an overload": (
        "struct Two { char c[2]; }; Two test(int) { return {}; } __device__ char test(double) { return 0; }",
        "", "sizeof(test(1))", 2,
    ),
    "a type behind the name": (
        f"struct S {{ auto rows() const -> int {{ return 1; }} }};{DETECTED}", "made<T>().rows()", "Has<S>::value", 8
    ),
    "a type that the body tells": (
        f"struct S {{ auto rows() const {{ return 1; }} }};{DETECTED}", "made<T>().rows()", "Has<S>::value", 8
    ),
    "a template for some types": (
        "template <bool B> struct If {}; template <> struct If<true> { typedef int type; }; struct S { int n; };"
        "template <class T, class = typename If<(sizeof(T) > 2)>::type> int rank(const T&) { return 1; }"
        + DETECTED, "rank(made<T>())", "Has<S>::value + 10 * Has<char>::value", 78
    ),
    "by a macro": (
        "struct S { typedef int N; using M = N; M rows(M a) { return a; } };"
        "#define TYPE(x) decltype((void)x)\n#define ASK(x) TYPE(made<T>().x)\n"
        + DETECTED.replace("decltype((void)EXPRESSION)", "ASK(rows(1))"),
        "", "Has<S>::value", 8,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", OBSERVED)
def test_what_is_asked_of_host_functions_is_answered_as_by_nvcc(tmp_path, case):
    """Their bodies go, and their heads tell."""
    text, expression, value, wanted = OBSERVED[case]
    text = text.replace("EXPRESSION", expression).replace("#define", "\n#define")
    made = compile_ptx(project(tmp_path, f"{text}\n{STORED.replace('VALUE', value)}"), "auto")
    assert stored(made) == [str(wanted)]


def test_a_concept_is_what_it_is_to_nvcc(tmp_path):
    """Its requirements count as what is asked."""
    text = (
        "struct S { int n; int rows() const { return n; } };\n"
        "template <class T> concept Sized = requires(T t) { t.rows(); };\n"
        "__global__ void k(int* p) { if constexpr (Sized<S>) *p = 8; else *p = 7; }\n"
    )
    recipe, sources = read(project(tmp_path, text), std="c++20")
    ptx = run_job(recipe.job(sources, SmArch.parse("sm_90"), ("ptx",))).images["ptx"].decode()
    assert stored(ptx) == ["8"]


@pytest.mark.parametrize("parameter", ["const P& p = P::DEFAULT", "P p = P::DEFAULT", "P&& p = P::made()"])
def test_a_class_can_be_made_as_with_nvcc_but_not_in_device_code(tmp_path, parameter):
    """Where a default names what is cut, the constructor still has one; no call of it is left out in silence."""
    host = (
        "struct P { int a; static const P& DEFAULT; static P made(); };\n"
        f"struct L {{ L({parameter}) {{ b++; }} int b; }};"
    )
    kernel = "__global__ void k(int* p) {{ {} *p = __is_constructible(L) + sizeof(L); }}"
    made, refused = (compile_ptx(project(tmp_path, f"{host}\n{kernel.format(line)}"), "auto") for line in ("", "L l;"))
    assert stored(made) == ["5"]
    assert refused is None


ELSEWHERE = {
    "a member's overload": (
        "struct S { int f(float x) { return 1; } __device__ int f(double x) { return 2; } };", "S().f(1.0f)"
    ),
    "a base's member": (
        "struct B { __device__ int f() { return 1; } }; struct D : B { int f() { return 2; } };", "D().f()"
    ),
    "a default argument": (
        "int f(float x, int n = 0) { return 1; } __device__ int f(double x) { return 2; }", "f(1.0f)"
    ),
    "an outer namespace": (
        "__device__ int f(int) { return 1; } namespace a { int f(long) {} __device__ int g() { return f(0); }}",
        "a::g()",
    ),
    "the toolkit's": (
        "namespace a { float max(float a, float b) { return 1; } __device__ float g() { return max(1.0f, 2.0f); } }",
        "a::g()"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ELSEWHERE)
def test_no_call_goes_to_another_function(case):
    """As with nvcc, it is refused; the message says what lacks a mark."""
    functions, value = ELSEWHERE[case]
    text = f"{functions}\n{STORED.replace('VALUE', value)}"
    with pytest.raises(CompileError, match=r"mark it __device__"):
        compile_to_cubin(text, arch="sm_80", use_cache=False, options=NvrtcOptions())
