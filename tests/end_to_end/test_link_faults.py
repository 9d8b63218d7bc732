"""What a build says of sources that do not fit together: symbols as the source has them, and whose they are."""

from __future__ import annotations

import pytest
from linked_project import problems_of_build, write_linked

from hatch_cuda_kernels.errors import ManifestError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.plan import make_plan

MODULE = """\
schema: 1
arches: [sm_80, sm_90]
modules:
  two:
    sources: [kernels/blend.cu, {other}]
    options: {{lto: {lto}}}
"""
WHERE = "kernels.yaml:4:3: modules.two: module 'two' for sm_80, sm_90: "
EMPTY = 'extern "C" __global__ void empty() {}'
TEMPLATES = """
template <class T> __device__ __noinline__ T twice(T x) { return x + x; }
template <class T> __global__ void run(T* y) { *y = twice(*y); }
"""
INSTANCE = "template __global__ void run(int*);\n"
AGAIN = """
    __device__ int table[4];
    namespace shared { __device__ float square(float x) { return x; } }
"""


@pytest.mark.slow
@pytest.mark.parametrize("lto", ["false", "true"])
def test_an_undefined_symbol_is_named_with_its_user(tmp_path, lto):
    """It is spelled as C++ does, once for all architectures."""
    manifest = MODULE.format(other="empty.cu", lto=lto)
    (problem,) = problems_of_build(write_linked(tmp_path, manifest, **{"empty.cu": EMPTY}))
    user = "kernels/blend.cu uses shared::square(float), which nothing defines"
    fix = "list the source that defines it under 'sources:', or the library that has it under 'libraries:'"
    assert problem.startswith(f"{WHERE}the sources cannot be linked\n{user}; {fix}\n")


def test_every_user_of_every_undefined_symbol_is_named(tmp_path):
    """Two sources use the function, one the variable."""
    source = '#include "kernels/shared.h"\nextern "C" __global__ void other(float* y) { *y = shared::square(1); }'
    manifest = MODULE.format(other="other.cu", lto="false")
    (problem,) = problems_of_build(write_linked(tmp_path, manifest, **{"other.cu": source}))
    assert "kernels/blend.cu and other.cu use shared::square(float), which nothing defines" in problem
    assert "kernels/blend.cu uses table, which nothing defines" in problem


@pytest.mark.slow
@pytest.mark.parametrize(("lto", "symbols"), [("false", ["shared::square(float)", "table"]), ("true", ["table"])])
def test_a_symbol_defined_twice_names_both_sources(tmp_path, lto, symbols):
    """NvJitLink would take the first definition of an object, and the build would not be told."""
    manifest = MODULE.format(other="kernels/tables.cu, again.cu", lto=lto)
    (problem,) = problems_of_build(write_linked(tmp_path, manifest, **{"again.cu": AGAIN}))
    assert problem.startswith(f"{WHERE}the sources cannot be linked\n")
    for symbol in symbols:
        assert f"{symbol} is defined in kernels/tables.cu and in again.cu; define it in one of them" in problem


def test_templates_that_two_sources_instantiate_are_no_repeats(tmp_path):
    """Each has them, and the linker takes one."""
    manifest = "schema: 1\narches: [sm_80]\nmodules: {t: {sources: [a.cu, b.cu]}}\n"
    caller = 'extern "C" __global__ void a(int* y) { *y = twice(*y); }\n'
    files = {"a.cu": f"{TEMPLATES}{caller}{INSTANCE}", "b.cu": f"{TEMPLATES}{INSTANCE}"}
    assert problems_of_build(write_linked(tmp_path, manifest, **files)) == []


def test_a_name_that_no_source_has_is_told_at_its_place(tmp_path):
    """With the kernel that may have been meant, whichever source has it."""
    manifest = (
        "schema: 1\narches: [sm_80]\nmodules:\n  two:\n    sources: [kernels/blend.cu, kernels/tables.cu]\n"
        "    instances: ['fil<float>', 'fill<float>']\n    globals: [tabel]\n"
    )
    undefined = 'for sm_80: identifier "{}" is undefined'
    assert problems_of_build(write_linked(tmp_path, manifest)) == [
        f"kernels.yaml:6:17: modules.two.instances[0]: 'fil<float>', {undefined.format('fil')}; did you mean 'fill'?",
        f"kernels.yaml:7:15: modules.two.globals[0]: '&tabel', {undefined.format('tabel')}",
    ]


def test_a_single_source_is_told_about_sources_and_libraries(tmp_path):
    """Where the whole program lacks a definition, the manifest's keys for it are named."""
    manifest = "schema: 1\narches: [sm_80]\nmodules: {a: {source: kernels/blend.cu}, b: {source: kernels/tree.cu}}\n"
    first, second = problems_of_build(write_linked(tmp_path, manifest))
    assert "nothing defines shared::square(float); list the source that defines it under 'sources:'" in first
    assert "link CUDA's device runtime: 'libraries: [cudadevrt]'" in second


@pytest.mark.slow
def test_what_only_the_host_has_is_told_to_be_the_hosts(tmp_path):
    """The standard headers declare it, so that code for both sides compiles; a kernel that calls it does not link."""
    kernel = '#include <vector>\nextern "C" __global__ void k(std::vector<int>* v) { v->push_back(2); }\n'
    for arch in ("sm_80", "compute_80"):
        manifest = f"schema: 1\narches: [{arch}]\nmodules: {{k: {{source: k.cu}}}}\n"
        problem = " ".join(problems_of_build(write_linked(tmp_path / arch, manifest, **{"k.cu": kernel})))
        assert "nothing defines std::vector<int, std::allocator<int>>::push_back(int&&); it is the host's" in problem
        assert "#ifndef __CUDACC_RTC__" in problem


#: Keys of a module, and what is refused before anything is compiled.
REFUSED = {
    "front_end: ptx, sources: [kernels/blend.cu, kernels/tables.cu]": (
        "front_end: ptx starts from PTX, which cannot be linked; write front_end: lto"
    ),
    "chunk: 1, sources: [kernels/blend.cu, kernels/tables.cu]": (
        "chunk is for modules of one source; leave it out, and put instances into separate sources"
    ),
    "source: kernels/tree.cu, libraries: [cudadevrt], arches: [sm_80, compute_90]": (
        "compute_90 is PTX, which is linked from LTO-IR, and cudadevrt has none; list real architectures only, under "
        "'arches:' of this module"
    ),
    "options: {debug: true}, sources: [kernels/blend.cu, kernels/tables.cu], arches: [compute_90]": (
        "compute_90 is PTX, which is linked from LTO-IR: debug: true asks for unoptimized code, and lto: true "
        "optimizes; leave one of them out"
    ),
}


@pytest.mark.parametrize("keys", REFUSED)
def test_what_cannot_be_linked_is_refused_at_its_module(tmp_path, keys):
    """The message says what to write, and where."""
    project = write_linked(tmp_path, f"schema: 1\nmodules:\n  two: {{{keys}}}\n")
    with pytest.raises(ManifestError) as caught:
        make_plan(load_manifest(project / "kernels.yaml"))
    assert caught.value.problems == (f"kernels.yaml:3:3: modules.two: {REFUSED[keys]}",)
