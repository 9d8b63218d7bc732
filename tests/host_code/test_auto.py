"""``host_code: auto``, the default: host code is left out where NVRTC would refuse the source, and only there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from raw_nvrtc import compile_raw
from test_host_code import CASES

from hatch_cuda_kernels import InputError, NvrtcOptions, compile_to_cubin, compile_to_ptx, open_store
from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.build_report import render_report
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler.recipe import Recipe
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.compiler.toolchain.installed import find_toolchain
from hatch_cuda_kernels.errors import BuildError, CompileError
from hatch_cuda_kernels.host_code import said
from hatch_cuda_kernels.host_code.outline import read_outline
from hatch_cuda_kernels.includes import Project
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.options import HostCode

REPOSITORY = Path(__file__).parents[2]
KERNEL = "__global__ void k(int* p) { *p = 1; }\n"
GUARDED = "#ifndef H_H\n#define H_H\n{}\n#endif\n"


def job(root, source="k.cu", **options):
    """Return the compile of a project's source, and the closure it is of."""
    recipe = Recipe(module="k", sources=(source,), options=NvrtcOptions(**options))
    sources = read_recipe(recipe, root)
    return recipe.compile_job(recipe.units(sources)[0], SmArch.parse("sm_80"), ("cubin",)), sources


def keys(root, **options):
    """Return the key of a source's image by what becomes of host code."""
    return {str(what): job(root, host_code=what, **options)[0].key("cubin", find_toolchain()) for what in HostCode}


def project(root, text, **headers):
    """Write a source and headers."""
    for name, header in headers.items():
        (root / f"{name}.h").write_text(header)
    (root / "k.cu").write_text(text)
    return root


ALONE = {
    "marks": "__device__ int f() { if (f()) { return 1; } return 2; }\n__host__ __device__ inline int g();\n",
    "macros": "#define HD __host__ __device__\n#define FN(name) HD int name\nHD int f() { return 1; }\nFN(g)() {}\n",
    "a constant in parentheses": "enum { three = 3 };\nconst int n(three);\n",
    "guarded": "#ifndef __CUDACC_RTC__\n#include <torch/extension.h>\nint main() { k<<<1, 1>>>(0); }\n#endif\n",
    "guarded else": "#if defined(__CUDACC_RTC__)\n#else\nint main() {}\n#endif\n",
    "compilers": "#if defined(_MSC_VER)\n#elif defined(__GNUC__)\n#elif 1\n#else\n#error x\n#endif\n",
    "gcc's macro": "#define __linux__ 1\n#if defined(__linux__)\n#else\n#error x\n#endif\n",
    "unknown": "#ifdef TESTS\n#include <gtest/gtest.h>\nint main() {}\n#endif\n",
    "unknown else": "#ifdef TESTS\nint main() {}\n#elif 1\n#else\nint f();\n#endif\n",
    "unknown include": '#ifdef TESTS\n#include "host.h"\n#endif\n',
    "comment": '// int main() {}\n/* #include <torch/extension.h> */\nconst char constexpr* s = "int main() {";\n',
    "printf": 'extern "C" int printf(const char*, ...);\n',
    "constants": "const float a = 1; static const int b[] = {1};\ntemplate <class T> T v = T(1);\n",
    "statements": "struct C { __device__ C(int) {} };\n__device__ int h(int a) { C c(a); return int(a); }\n",
}


@pytest.mark.parametrize("case", ALONE)
def test_a_source_that_nvrtc_takes_is_left_alone(tmp_path, case):
    """Byte for byte, with the key it has without the option; NVRTC does take it."""
    root = project(tmp_path, ALONE[case] + KERNEL, host="int main() { return 0; }\n")
    made, sources = job(root)
    assert sources == job(root, host_code=HostCode.KEEP)[1]
    assert keys(root)["auto"] == keys(root)["keep"]
    assert compile_raw(made.program.source, headers=made.program.headers).ok


TAKEN_OUT = {
    "a helper": "int blocks(int n) { return (n + 255) / 256; }\n",
    "a launch": "template <class T> void run(T* p) { k<<<1, 32>>>(p); }\n",
    "only declared": "void run(int* p);\n",
    "an error for other compilers": "#if defined(_MSC_VER)\n#elif defined(__GNUC__)\n#else\n#error x\n#endif\n",
    "a member": "struct S {\n  int n;\n  int size() const { return n; }\n};\n",
    "a constructor": "struct S {\n  int n;\n  S() : n(0) {}\n};\n",
    "an operator": "struct S {\n  bool operator==(const S& o) const { return &o == this; }\n};\n",
    "an attribute": "[[nodiscard]] int f() { return 1; }\n",
    "constexpr": "constexpr int two() { return 2; }\n",
    "only for the host": "__host__ void run() {}\n",
    "a library": "#include <torch/extension.h>\n",
    "in a namespace": "namespace a { namespace { int f(int a) { return a; } } }\n",
    "in a branch": "#if defined(__CUDACC__) && 1\n#else\n#endif\n#ifdef __CUDACC__\nint f() { return 1; }\n#endif\n",
    "in a header": '#include "h.h"\n',
    "with variables": "int count = 0;\nint next() { return ++count; }\n",
}


@pytest.mark.parametrize("case", TAKEN_OUT)
def test_host_code_that_nvrtc_refuses_is_left_out(tmp_path, case):
    """As ``drop`` does it, under the same key; without it, NVRTC refuses the source."""
    root = project(tmp_path, TAKEN_OUT[case] + KERNEL, h=GUARDED.format("#define N 4\nvoid run(int*) {}"))
    made, sources = job(root)
    assert sources == job(root, host_code=HostCode.DROP)[1]
    assert sources.dropped
    assert keys(root)["auto"] == keys(root)["drop"] != keys(root)["keep"]
    assert compile_raw(made.program.source, headers=made.program.headers).ok
    kept = job(root, host_code=HostCode.KEEP)[0].program
    assert not compile_raw(kept.source, headers=kept.headers).ok


def test_a_header_that_may_not_be_read_is_no_reason(tmp_path):
    """What makes its guard a closed one may be elsewhere: in another file, or in the manifest."""
    header = GUARDED.format("int main() { return 0; }")
    root = project(tmp_path, f'#include "a.h"\n#include "h.h"\n{KERNEL}', a="#define H_H\n", h=header)
    assert not job(root)[1].dropped
    root = project(tmp_path, f'#include "h.h"\n{KERNEL}', h=header)
    assert job(root)[1].dropped
    assert not job(root, define=(("H_H", None),))[1].dropped


def test_what_has_no_mark_is_device_code_with_default_device(tmp_path):
    """The option says so; ``drop`` can still be asked for."""
    root = project(tmp_path, f"int one() {{ return 1; }}\n{KERNEL}")
    assert keys(root, default_device=True)["auto"] == keys(root, default_device=True)["keep"]
    assert job(root, default_device=True, host_code=HostCode.DROP)[1].dropped


@pytest.mark.parametrize("case", CASES)
def test_it_never_touches_what_nvrtc_takes(tmp_path, case):
    """Over all the texts that ``drop`` is tested with."""
    parts = CASES[case]
    root = project(tmp_path, f'#include "h.h"\n{parts["text"]}\n', h=parts.get("header", ""))
    kept, sources = job(root, host_code=HostCode.KEEP)
    if compile_raw(kept.program.source, headers=kept.program.headers).ok:
        assert job(root)[1] == sources


@pytest.mark.parametrize("folder", ["example_project", "benchmarks/sources"])
def test_the_repositorys_own_sources_are_left_alone(folder):
    """They were written for NVRTC."""
    root = REPOSITORY / folder
    include = tuple(path.relative_to(root).as_posix() for path in root.rglob("include") if path.is_dir())
    paths = [path.relative_to(root).as_posix() for path in root.rglob("*.cu")]
    assert paths
    for path in paths:
        assert job(root, path, include=include)[1] == job(root, path, include=include, host_code=HostCode.KEEP)[1]


MIXED = '#include "h.h"\ntemplate <class T> __global__ void k(T* p) { *p = N; }\nvoid run() { k<<<1, 32>>>(0); }\n'
MANIFEST = "schema: 1\narches: [sm_80]\nmodules:\n  mixed: {source: k.cu, instances: [k<float>]}\n"
SAID = "module 'mixed': host code left out of k.cu and 1 header: run (k.cu:3) has no device mark"


def built(tmp_path, *, editable=False):
    """Return a project and the report of its build, into a store beside it."""
    root = tmp_path / "project"
    root.mkdir()
    project(root, MIXED, h="#include <mpi.h>\n#define N 3\n")
    (root / "kernels.yaml").write_text(MANIFEST)
    return root, build_store(load_manifest(root / "kernels.yaml"), tmp_path / "store", editable=editable)


def test_commands_say_what_is_left_out(tmp_path, capsys):
    """Once a module, with the reason and the way to turn it off; all of it with ``--json``."""
    root, report = built(tmp_path)
    assert render_report(report).count(SAID) == 1
    manifest, store = str(root / "kernels.yaml"), str(tmp_path / "store")
    assert main(["check", manifest]) == 0
    checked = capsys.readouterr().out
    assert checked.count(f"{SAID}; host_code: keep turns this off\n") == 1
    assert "h.h:1" not in checked
    assert main(["check", manifest, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {"module": "mixed", "path": "h.h", "line": 1, "kind": "include", "name": "mpi.h"} in data["dropped"]
    assert any(SAID in note for note in data["notes"])
    assert main(["inspect", store]) == 0
    assert SAID in capsys.readouterr().out
    assert main(["inspect", store, "--json"]) == 0
    dropped = json.loads(capsys.readouterr().out)["modules"]["mixed"]["dropped"]
    assert {"path": "k.cu", "line": 3, "kind": "function", "name": "run"} in dropped
    assert main(["explain", "k<float>", "--package", store, "--arch", "sm_80"]) == 0
    assert SAID in capsys.readouterr().out


@pytest.mark.parametrize("editable", [False, True])
def test_a_store_compiles_what_the_build_compiles(tmp_path, fresh_cache, editable):
    """Under one key: the image that the build cached is the one a process finds for another policy."""
    built(tmp_path, editable=editable)
    store = open_store(tmp_path / "store")
    assert store.find_image("k<float>", arch="sm_80").origin == "prebuilt"
    assert store.find_image("k<double>", arch="sm_80").origin == "jitted"
    assert main(["verify", str(tmp_path / "store"), "--rebuild"]) == 0


def test_an_edit_of_host_code_leaves_an_editable_install_as_it_is(tmp_path, fresh_cache):
    """No device code changed on a line of its own, so the image still counts; new host code is left out, too."""
    root, _ = built(tmp_path, editable=True)
    (root / "k.cu").write_text(MIXED.replace("32", "64"))
    store = open_store(tmp_path / "store")
    assert store.find_image("k<float>", arch="sm_80").origin == "prebuilt"


def test_a_missing_name_says_that_it_was_left_out():
    """A forgotten mark is what a beginner meets first."""
    text = 'float twice(float x) { return 2 * x; }\nextern "C" __global__ void k(float* p) { *p = twice(*p); }\n'
    with pytest.raises(CompileError) as raised:
        compile_to_ptx(text, arch="sm_80", use_cache=False)
    message = str(raised.value)
    assert 'identifier "twice" is undefined' in message
    assert "to fix: twice (source.cu:1) was left out as host code" in message
    assert "mark it __device__" in message


OVERLOADS = {
    "of other arguments": "Half f(Half x) { return x; }\n__device__ double f(double x) { return x; }\n",
    "a template": (
        "namespace n { Half f(Half x) { return x; }\ntemplate <class T> __device__ T f(T x) { return x; } }\n"
    ),
}


@pytest.mark.parametrize("functions", OVERLOADS.values(), ids=OVERLOADS.keys())
def test_an_overload_that_device_code_may_mean_is_not_left_out(tmp_path, functions):
    """Else a call would go to another function, where nvcc refuses it: a mark is lacking, or drop says that none is."""
    root = project(tmp_path, f"typedef __m128 Half;\n{functions}{KERNEL}")
    assert keys(root)["auto"] == keys(root)["keep"] != keys(root)["drop"]
    with pytest.raises(CompileError, match=r"(?s)f.*mark it __device__.*'host_code: drop'"):
        compile_to_ptx((root / "k.cu").read_text(), arch="sm_80", use_cache=False)


def test_an_overload_with_known_types_stays_declared(tmp_path):
    """So a call that means it fails, as with nvcc, and goes to no other."""
    functions = "float f(float x) { return x; }\n__device__ double f(double x) { return x; }\n"
    ptx = compile_to_ptx(functions + "__global__ void k(double* p) { *p = f(*p); }", arch="sm_80", use_cache=False)
    assert b".visible .entry" in ptx.image
    with pytest.raises(CompileError, match=r"f \(source.cu:1\) was left out"):
        compile_to_cubin(functions + "__global__ void k(float* p) { *p = f(*p); }", arch="sm_80", use_cache=False)


APART = {
    "the same arguments": "float f(float x) { return x; }\n__device__ float f(float x);\n",
    "another number": "float f(float x, int n) { return x; }\n__device__ double f(double x) { return x; }\n",
    "another namespace": (
        "namespace cpu { float f(float x) { return x; } }\n__device__ double f(double x) { return x; }\n"
    ),
    "a kernel": "void k(float x) {}\n",
}


@pytest.mark.parametrize("functions", APART.values(), ids=APART.keys())
def test_what_device_code_cannot_mean_is_left_out(tmp_path, functions):
    """Wrappers of kernels, and functions of other namespaces or with other numbers of arguments."""
    assert job(project(tmp_path, f"int main() {{ return 0; }}\n{functions}{KERNEL}"))[1].dropped


def test_the_name_of_a_host_function_brings_no_header(tmp_path):
    """It is refused as with nvcc, and does not become a type of the toolkit's that happens to have the name."""
    text = "float half(float x) { return x / 2; }\n__global__ void k(float* p) { *p = half(*p); }\n"
    load_manifest(_manifest(tmp_path, text))
    with pytest.raises(BuildError, match="half"):
        build_store(load_manifest(tmp_path / "kernels.yaml"), tmp_path / "store")


def _manifest(root, text):
    (root / "kernels.yaml").write_text("{schema: 1, arches: [sm_90], modules: {k: {source: k.cu}}}")
    return project(root, text) / "kernels.yaml"


def test_the_words_are_three(tmp_path):
    """Another one is a problem of the manifest."""
    project(tmp_path, KERNEL)
    (tmp_path / "kernels.yaml").write_text("modules: {k: {source: k.cu, options: {host_code: skip}}}\n")
    with pytest.raises(InputError, match="auto"):
        load_manifest(tmp_path / "kernels.yaml")


def test_sources_of_a_project_share_what_is_read_of_a_header(tmp_path, monkeypatch):
    """It is read once, however many sources include it, unless one of them defines a macro that it uses."""
    read = []
    monkeypatch.setattr(said, "read_outline", lambda text, macros: read.append(text) or read_outline(text, macros))
    (tmp_path / "h.h").write_text(GUARDED.format("int twice(int n) { return 2 * n; }\nMADE\n"))
    before = {"a": "", "b": "", "c": "#define OTHER 1\n", "d": "#define MADE void f() {}\n"}
    for name, text in before.items():
        (tmp_path / f"{name}.cu").write_text(f'{text}#include "h.h"\n{KERNEL}')
    shared = Project(tmp_path)
    dropped = {}
    for name in before:
        recipe = Recipe(module="k", sources=(f"{name}.cu",), options=NvrtcOptions())
        dropped[name] = [found.name for found in read_recipe(recipe, tmp_path, project=shared).dropped]
        assert dropped[name] == [found.name for found in read_recipe(recipe, tmp_path).dropped]
    assert dropped == {"a": ["twice"], "b": ["twice"], "c": ["twice"], "d": ["twice", "MADE"]}
    headers = [text for text in read if "twice" in text]
    assert len(headers) == len(dropped) + 2  # one for each that reads alone, and two for those that share
