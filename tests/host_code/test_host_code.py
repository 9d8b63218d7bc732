"""``host_code: drop``: what has no device mark goes, what device code may need stays, and lines stay where they are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from raw_nvrtc import compile_raw

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler.nvrtc import compile as compile_job
from hatch_cuda_kernels.compiler.recipe import Recipe
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.host_code.closures import without_host_code
from hatch_cuda_kernels.includes import read_closure
from hatch_cuda_kernels.manifest import load_manifest, parse_manifest
from hatch_cuda_kernels.options import HostCode, NvrtcOptions

CASES = {
    name: dict(re.findall(r"^--- (\w+)\n(.*?)(?=^---|\Z)", body, re.MULTILINE | re.DOTALL))
    for name, body in re.findall(
        r"^=== ([^\n]*)\n(.*?)(?=^===|\Z)", Path(__file__).with_name("cases.txt").read_text(), re.MULTILINE | re.DOTALL
    )
}


def left(tmp_path, text, header=""):
    """Return what is left of a text whose project has a header besides."""
    (tmp_path / "h.h").write_text(header)
    (tmp_path / "k.cu").write_text(f'#include "h.h"\n{text}\n')
    return without_host_code(read_closure(tmp_path, "k.cu"))


def words(text):
    """Return a text with one space where it has some."""
    return " ".join(text.split())


@pytest.mark.parametrize("case", CASES)
def test_what_is_left(tmp_path, case):
    """By nvcc's own rule, whatever is defined; each line keeps its number."""
    parts = CASES[case]
    source = left(tmp_path, parts["text"], parts.get("header", "")).source
    assert words(source.partition("\n")[2]) == words(parts.get("left", parts["text"]))
    assert source.count("\n") == parts["text"].count("\n") + 2


def test_headers_of_host_libraries_are_not_included(tmp_path):
    """What only the host has goes; a missing header of the project's own remains, so that it is named."""
    names = ("<torch/extension.h>", '"cublas_v2.h"', "<cuda_fp16.h>", "<vector>", '"my.h"', '"a/b.pb.h"')
    names += ("<thrust/sort.h>", "<thrust/device_vector.h>", "<thrust/system/cuda/memory.h>", "<thrust/functional.h>")
    closure = left(tmp_path, "".join(f"#include {name}\n" for name in names))
    assert [str(found) for found in closure.dropped] == [
        "k.cu:2: include torch/extension.h", "k.cu:3: include cublas_v2.h", "k.cu:7: include a/b.pb.h",
        "k.cu:8: include thrust/sort.h", "k.cu:10: include thrust/system/cuda/memory.h",
    ]  # fmt: skip
    assert closure.outside == ("cuda_fp16.h", "my.h", "thrust/device_vector.h", "thrust/functional.h", "vector")


def test_a_projects_own_copy_of_a_host_library_is_not_read(tmp_path):
    """Device code uses nothing of it; a header there with a device mark is the project's."""
    for path, text in {
        "third_party/fmt/include/fmt/format.h": '#include "base.h"\nstruct R { int f() { return g(); } };',
        "third_party/fmt/include/fmt/base.h": "namespace fmt { inline int g(); }",
        "gtest/sizes.h": "#define SIZE 3\n",
        "spdlog/device.cuh": "__device__ int here() { return 1; }",
        "k.cu": '#include <fmt/format.h>\n#include "spdlog/device.cuh"\n#include "gtest/sizes.h"\n'
        "template <> struct fmt::formatter<int> {};\nvoid show() { fmt::print(1); }\n"
        "__global__ void k(int* p) { *p = here() + SIZE; }\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    closure = without_host_code(read_closure(tmp_path, "k.cu", include=["third_party/fmt/include"]))
    assert [name.rpartition("/")[2] for name, _ in closure.headers] == ["sizes.h", "device.cuh"]
    assert [str(found) for found in closure.dropped][:1] == ["k.cu:1: include third_party/fmt/include/fmt/format.h"]
    assert compile_raw(closure.source, headers=closure.headers).ok


def test_of_a_projects_own_boost_only_what_is_the_hosts_is_left_out(tmp_path):
    """Its other parts are used by device code, too; includes that macros of its own name are no matter."""
    boost = tmp_path / "own/boost"
    boost.mkdir(parents=True)
    (boost / "stacktrace.hpp").write_text('#include "config.hpp"\nnamespace boost { int trace(); }\n')
    (boost / "config.hpp").write_text('#define NAMED "integer.hpp"\n#include NAMED\n')
    (boost / "integer.hpp").write_text("namespace boost { typedef int integer; }\n")
    source = "#include <boost/stacktrace.hpp>\n#include <boost/integer.hpp>\n"
    (tmp_path / "k.cu").write_text(source + "__global__ void k(boost::integer* p) { *p = 1; }\n")
    closure = without_host_code(read_closure(tmp_path, "k.cu", include=["own"]))
    assert [str(found) for found in closure.dropped] == ["k.cu:1: include own/boost/stacktrace.hpp"]
    assert compile_raw(closure.source, headers=closure.headers).ok


def test_a_missing_header_of_the_projects_is_not_taken_for_the_systems(tmp_path):
    """What it defines may decide what kernels do; the system's are included in angle brackets."""
    names = ('"error.h"', '"parallel/tile.cuh"', '"sys/queue.h"', "<error.h>", "<sys/queue.h>", "<yaml>")
    closure = left(tmp_path, "".join(f"#include {name}\n" for name in names))
    assert [str(found) for found in closure.dropped] == ["k.cu:5: include error.h", "k.cu:6: include sys/queue.h"]
    for name in names[:3]:
        assert f"#include {name}" in closure.source


MIXED = """\
#include <ATen/ATen.h>
#include "h.h"
struct Box {
    float w;
    Box(float a) : w(a) { count++; }
    static int count;
    DEV float twice() const { return 2 * w; }
};
int Box::count = 0;
constexpr int four() { return 4; }
template <typename T> __global__ void scale(T* p, Box b) { p[threadIdx.x] *= b.twice() * four(); }
__global__ void line(int* p) { *p = __LINE__; }
at::Tensor run(at::Tensor x) { scale<float><<<1, 32>>>(x.data_ptr<float>(), Box(1)); return x; }
"""
BY_HAND = """\
#define DEV __device__
#line 3
struct Box {
    float w;
    DEV Box(float a);

    DEV float twice() const { return 2 * w; }
};

DEV constexpr int four() { return 4; }
template <typename T> __global__ void scale(T* p, Box b) { p[threadIdx.x] *= b.twice() * four(); }
__global__ void line(int* p) { *p = __LINE__; }
"""


def test_kernels_are_what_they_are_without_host_code(tmp_path):
    """A mixed file gives the machine code of one from which the host code was removed by hand."""
    (tmp_path / "h.h").write_text("#define DEV __device__\nvoid helper(int);\n")
    (tmp_path / "k.cu").write_text(MIXED)
    closure = without_host_code(read_closure(tmp_path, "k.cu"))
    names = ("scale<float>", "line")
    made = compile_raw(closure.source, name=closure.program_name, headers=closure.headers, expressions=names)
    assert made.ok, made.log
    by_hand = compile_raw(BY_HAND, name=closure.program_name, expressions=names)
    assert by_hand.ok, by_hand.log
    assert made.ptx == by_hand.ptx


@pytest.mark.parametrize("parameter", ["const P& p = P::DEFAULT", "P p = P::DEFAULT", "P&& p = P::made()"])
def test_a_class_can_be_made_as_with_nvcc_but_not_in_device_code(tmp_path, parameter):
    """Where a default names what is dropped, the constructor still has one; no call of it is left out in silence."""
    host = (
        f"struct P {{ int a; static const P& DEFAULT; static P made(); }}; struct L {{ L({parameter}) {{}} int b; }};"
    )
    kernel = "__global__ void k(int* p) {{ {} *p = __is_constructible(L) + sizeof(L); }}"
    closures = [left(tmp_path, f"{host}\n{kernel.format(line)}") for line in ("", "L l;")]
    made, refused = (compile_raw(one.source, headers=one.headers) for one in closures)
    assert made.ok, made.log
    assert re.findall(r"mov\.u32 \s*%r\d+, (\d+);", made.ptx) == ["5"]
    assert not refused.ok
    assert "Unresolved extern function" in refused.log


MANIFEST = """\
schema: 1
arches: [sm_80]
options: {host_code: drop}
modules:
  mixed: {source: k.cu, instances: ["scale<float>"]}
  kept: {source: k.cu, options: {host_code: keep}}
"""


CLOCKS = """\
#include "h.h"
void about() { printf(__DATE__ " " __TIME__); }
__global__ void k() {}
"""


@pytest.mark.parametrize("option", ["keep", "drop"])
@pytest.mark.parametrize(
    "header", ["void when() { puts(__TIME__); }\n", "#define NOW __TIME__\nvoid when() { puts(NOW); }\n"]
)
def test_the_time_of_a_build_in_host_code_is_no_matter(tmp_path, option, header):
    """What is dropped may ask for it; what NVRTC is shown may not, as each build would give another image."""
    (tmp_path / "h.h").write_text(header)
    (tmp_path / "k.cu").write_text(CLOCKS)
    recipe = Recipe(module="m", sources=("k.cu",), options=NvrtcOptions(host_code=HostCode(option)))
    wanted = ["h.h:1: __TIME__", "k.cu:2: __DATE__", "k.cu:2: __TIME__"] if option == "keep" else []
    if not wanted:
        assert read_recipe(recipe, tmp_path)
        return
    with pytest.raises(InputError) as caught:
        read_recipe(recipe, tmp_path)
    lines = str(caught.value).splitlines()
    assert [line.partition(" differs")[0] for line in lines] == wanted
    assert read_recipe(recipe, tmp_path, clocks=True).files


def test_the_time_of_a_build_behind_a_guard_is_no_matter(tmp_path):
    """What NVRTC is not shown; the other branch of the guard counts, and lines are right."""
    host = "#if A\nconst char* a = __DATE__;\n#endif"
    guarded = f"#ifndef __CUDACC_RTC__\n{host}\n#else\n{{}}\n#endif\n__global__ void k() {{{{}}}}\n"
    recipe = Recipe(module="m", sources=("k.cu",), options=NvrtcOptions())
    (tmp_path / "k.cu").write_text(guarded.format("// #ifndef __CUDACC_RTC__"))
    assert read_recipe(recipe, tmp_path)
    (tmp_path / "k.cu").write_text(guarded.format("__device__ auto t = __TIME__;"))
    with pytest.raises(InputError, match=r"k\.cu:6: __TIME__ differs in each build[^\n]*\Z"):
        read_recipe(recipe, tmp_path)


def test_device_code_may_not_use_the_time_of_the_build(tmp_path):
    """Also where a macro stands for it."""
    (tmp_path / "k.cu").write_text('#define NOW "at " __TIME__\n__global__ void k() { printf(NOW); }\n')
    recipe = Recipe(module="m", sources=("k.cu",), options=NvrtcOptions(host_code=HostCode.DROP))
    with pytest.raises(InputError, match=r"k\.cu:1: __TIME__ differs in each build"):
        read_recipe(recipe, tmp_path)


def test_the_manifest_says_so_and_the_key_knows(tmp_path):
    """A module inherits the option or states its own; images with and without are told apart."""
    (tmp_path / "h.h").write_text("#define DEV __device__\n")
    (tmp_path / "k.cu").write_text(MIXED)
    kept, mixed = parse_manifest(MANIFEST, root=tmp_path).modules
    assert kept.options.canonical() == {"host_code": "keep"}
    assert mixed.options.canonical() == {"host_code": "drop"}
    assert mixed.options == type(mixed.options).from_canonical({"host_code": "drop"})
    assert "run" in read_recipe(kept.recipe, tmp_path).units[0].source
    assert "run" not in read_recipe(mixed.recipe, tmp_path).units[0].source


def test_check_lists_what_is_dropped(tmp_path, capsys):
    """With file and line, as text and as JSON."""
    (tmp_path / "h.h").write_text("#define DEV __device__\nint helper();\n")
    (tmp_path / "k.cu").write_text(MIXED)
    (tmp_path / "kernels.yaml").write_text(MANIFEST.replace("  kept: {source: k.cu, options: {host_code: keep}}\n", ""))
    assert main(["check", str(tmp_path / "kernels.yaml")]) == 0
    out = capsys.readouterr().out
    assert "module 'mixed', host code: h.h:2: function helper\n" in out
    assert "module 'mixed', host code: k.cu:1: include ATen/ATen.h\n" in out
    assert "module 'mixed', host code: k.cu:5: the body of Box::Box\n" in out
    assert "module 'mixed', host code: k.cu:10: four is marked __host__ __device__\n" in out
    assert main(["check", str(tmp_path / "kernels.yaml"), "--json"]) == 0
    dropped = json.loads(capsys.readouterr().out)["dropped"]
    assert {"module": "mixed", "path": "k.cu", "line": 13, "kind": "function", "name": "run"} in dropped


def test_a_store_compiles_more_from_the_source_it_ships(tmp_path, fresh_cache):
    """At run time, and to verify a rebuild, host code is dropped as it was in the build."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "h.h").write_text("#define DEV __device__\n")
    (project / "k.cu").write_text(MIXED)
    (project / "kernels.yaml").write_text(MANIFEST.replace("  kept: {source: k.cu, options: {host_code: keep}}\n", ""))
    build_store(load_manifest(project / "kernels.yaml"), tmp_path / "store")
    store = open_store(tmp_path / "store")
    assert store.find_image("scale<float>", arch="sm_80").origin == "prebuilt"
    assert store.find_image("scale<double>", arch="sm_80").origin == "jitted"
    assert main(["verify", str(tmp_path / "store"), "--rebuild"]) == 0


def test_a_projects_own_libcudacxx_stays_as_it_is(tmp_path):
    """It knows NVRTC; its other libraries have functions of the host's. Ours asks for it, too, where it is implied."""
    files = {
        "cccl/cuda/std/detail/__config": "#define _CCCL_OWN 1\n",
        "cccl/cuda/std/ctime": "#pragma once\n#include <cuda/std/detail/__config>\n"
        "#ifdef __CUDACC_RTC__\nusing time_t = long long int;\nstruct timespec { time_t tv_sec; };\n#endif\n",
        "cccl/cuda/std/__cccl/version.h": "#define CCCL_VERSION 3004003\n",
        "cccl/thrust/sort.h": "#include <cuda/std/detail/__config>\ninline void sort() {}\n",
        "k.cu": "#include <thrust/sort.h>\n__global__ void k(int* p) { *p = _CCCL_OWN + sizeof(std::tm); }\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    options = NvrtcOptions(include=("cccl",), host_code=HostCode.DROP)
    recipe = Recipe(module="k", sources=("k.cu",), options=options)
    sources = read_recipe(recipe, tmp_path)
    assert {(found.path, found.kind) for found in sources.dropped} == {("cccl/thrust/sort.h", "function")}
    assert compile_job(recipe.job(sources, SmArch.parse("sm_90"), ("cubin",))).kernels


def test_long_conditions_take_no_time(tmp_path):
    """Whatever they name: words are read once."""
    words = " || ".join(f"SOME_LONG_NAME_OF_A_MACRO_{at}" for at in range(40))
    text = f"#if {words} || !defined(OTHER)\nint f();\n#endif\n__global__ void k() {{}}\n"
    assert "int f();" not in left(tmp_path, text).source


@pytest.mark.parametrize(
    "around",
    ["__global__ void k(int* p) {\n%s\n*p = n;\n}", "struct A {\n%s\n};\n__global__ void k(A* p) {}",
     "__constant__ int t[] =\n%s\n;", "__constant__ int t[] = {\n%s\n};", "enum E {\n%s\n};"],
)  # fmt: skip
def test_what_is_included_inside_a_declaration_is_no_host_code(tmp_path, around):
    """Variables of a function or members of a class have no mark; nor does what such a text includes in turn."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "part.h").write_text('int n;\nstatic int m = 3;\n#include "more.h"\n')
    (tmp_path / "inner" / "more.h").write_text("float x;\n")
    (tmp_path / "host.h").write_text("int host;\n")
    part = '#include "inner/part.h"'
    headers = dict(left(tmp_path, f'namespace a {{\n#include "host.h"\n}}\n{around % part}\n').headers)
    headers = {name.rpartition("/")[2]: text for name, text in headers.items()}
    assert headers["host.h"].strip() == ""
    assert "int n;\nstatic int m = 3;" in headers["part.h"]
    assert headers["more.h"] == "float x;\n"


def test_a_guarded_header_is_read_where_it_was_first(tmp_path):
    """A function may include what a namespace has included before: nothing of it is read again."""
    text = '__global__ void k(int* p) {\n#include "h.h"\n}'
    assert [str(found) for found in left(tmp_path, text, "#pragma once\nint f();\n").dropped] == ["h.h:2: function f"]
