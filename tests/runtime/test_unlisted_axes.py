"""Combinations of axes that no manifest lists: compiled from the shipped sources and recorded, or refused."""

from __future__ import annotations

import json
import pickle

import pytest

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.errors import (
    CompileError,
    InputError,
    KernelNotFoundError,
    LaunchError,
    NoImageError,
    StoreError,
)
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.plugin.layout import wheel_inputs

pytestmark = pytest.mark.slow

MANIFEST = """
    schema: 1
    arches: [sm_90]
    modules:
      "scale_{T}-{N}":
        source: scale.cu
        matrix: {T: [float, "unsigned int"], N: [1, 2], K: [3]}
        exclude: [{T: float, N: 2}]
        options: {define: {TYPE: "{T}", COUNT: "{N}", NAME: "count_{N}"}}
        globals: [factor]
        instances: ["fill<{N}, {K}>"]
        launch: {"fill<{N}, {K}>": {grid: "{N}", block: "{K} * 32"}}
"""
SOURCE = """
    #if COUNT > 2
    #include <cuda_fp16.h>
    __device__ float larger(__half x) { return x; }
    int on_the_host() { return fopen("x", "r") != 0; }
    #endif
    __device__ int factor;
    extern "C" __global__ void scale(TYPE* x) { x[threadIdx.x] *= COUNT * factor; }
    extern "C" __global__ void NAME(TYPE* x) { *x = COUNT; }
    template <int N, int K> __global__ void fill(TYPE* x) { x[N] = K; }
"""


@pytest.fixture
def build(make_project, tmp_path):
    """Return a function that builds a manifest and returns its store."""

    def build_one(manifest=MANIFEST, *, editable=False, **files):
        root = make_project(manifest, **{"scale.cu": SOURCE, **files})
        build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out", editable=editable)
        return open_store(tmp_path / "out")

    return build_one


def entries(cache):
    """Return the descriptions of what the cache has because someone asked for it."""
    found = [json.loads(path.read_text()) for path in cache.rglob("entry.json")]
    return [entry for entry in found if "wanted" in entry]


def test_it_is_compiled_once_and_recorded(build, fresh_cache, driver):
    """With the same macros, instances and rules as if it were listed, and under the key that a build has then."""
    store = build()
    module = store.module("scale", T=" double ", N=3)
    assert (module.name, module.axes, module.is_listed) == ("scale_double-3", {"T": "double", "N": "3"}, False)
    assert module.kernels == ("count_3", "fill<3, 3>", "scale")
    image = module.find_image("scale", arch="sm_90")
    assert (image.origin, image.module) == ("jitted", "scale_double-3")
    assert sorted(symbol.name for symbol in image.kernels) == ["count_3", "fill<3, 3>", "scale"]
    for name in ("scale", "count_3", "fill<3, 3>"):
        again = open_store(store.path).module("scale", N="3", T="double").find_image(name, arch="sm_90")
        assert (again.origin, again.data) == ("cached", image.data)
    [entry] = entries(fresh_cache)
    assert (entry["module"], entry["family"], entry["axes"]) == ("scale_double-3", "scale", {"T": "double", "N": "3"})
    assert module.get_kernel("scale") is store.module("scale", T="double", N=3).get_kernel("scale")
    module.instantiate("fill", K=3)(0x10)
    assert (driver.configs[-1].grid[0], driver.configs[-1].block[0]) == (3, 96)
    assert module.get_global("factor").name == "factor"
    assert pickle.loads(pickle.dumps(module)).axes == module.axes
    listed = build(MANIFEST.replace("exclude:", "combinations: [{T: double, N: 3}]\n        exclude:"))
    assert listed.module("scale", T="double", N=3).is_listed
    assert sum('"module": "scale_double-3"' in path.read_text() for path in fresh_cache.rglob("entry.json")) == 1
    assert listed.find_image("scale", arch="sm_90", module="scale_double-3").data == image.data


def test_an_instance_of_it_is_compiled_alone(build, fresh_cache):
    """As one that a listed module does not have."""
    module = build().module("scale", T="double", N=1)
    assert {"fill<7,7>"} < {one.name for one in module.find_image("fill<7,7>", arch="sm_90").kernels}
    assert "fill<1, 3>" not in {one.name for one in module.find_image("fill<7,7>", arch="sm_90").kernels}
    assert [entry["wanted"] for entry in entries(fresh_cache)] == ["fill<7,7>"]


def test_a_launch_rule_reads_the_parameters_that_its_own_source_has(build, driver, make_project):
    """Macros may make others, or another order of them; and so may an edit."""
    manifest = """
        schema: 1
        arches: [sm_90]
        modules:
          "k_{TAKES}":
            source: k.cu
            matrix: {TAKES: ["int m, int n"]}
            options: {define: {TAKES: "{TAKES}"}}
            launch: {k: {grid: n, block: 32}}
    """
    source = 'extern "C" __global__ void k(int* p, TAKES) { *p = 1; }\n'
    store = build(manifest, editable=True, **{"k.cu": source})

    def grid(takes, *args, store=store):
        store.module("k", TAKES=takes).get_kernel("k")(0x10, *args)
        return driver.configs[-1].grid[0]

    assert grid("int m, int n", 7, 9) == 9
    assert grid("int n, int m", 7, 9) == 7
    assert grid("int a, int b, int n", 7, 8, 9) == 9
    with pytest.raises(LaunchError, match=r"k has an unusable launch rule \(.*'n'"):
        grid("int a", 7)
    make_project(manifest, **{"k.cu": source.replace("int* p, TAKES", "int* p, int n, int m")})
    assert grid("int m, int n", 7, 9, store=open_store(store.path)) == 7


@pytest.mark.parametrize("more", ["", 'extern "C" __global__ void fixed() {}'])
def test_a_variable_has_the_name_that_its_own_image_has(build, driver, make_project, more):
    """Macros may make kernels' names, and those of variables that only one source has follow from these."""
    manifest = """
        schema: 1
        arches: [sm_90]
        modules:
          "k_{N}":
            source: k.cu
            matrix: {N: [1]}
            options: {define: {NAME: "count_{N}", SPACE: "n{N}"}}
            globals: [hidden, "SPACE::shared"]
    """
    source = "namespace { __device__ int hidden; } namespace SPACE { __device__ int shared; }\n"
    source += 'extern "C" __global__ void NAME(int* x) { *x = hidden + SPACE::shared; }\n'
    store = build(manifest, editable=True, **{"k.cu": source + more})
    for number in (1, 2):
        for name in ("hidden", "SPACE::shared"):
            assert store.module("k", N=number).get_global(name).address
    make_project(manifest, **{"k.cu": f'extern "C" __global__ void before() {{}}\n{source}{more}'})
    assert open_store(store.path).module("k", N=1).get_global("hidden").address


def test_what_the_manifest_excludes_is_not_compiled(build, fresh_cache):
    """An error says what is wrong with the values, and what there is."""
    store = build()
    for axes, message in (
        ({"T": "float", "N": 2}, "no module 'scale' with T=float, N=2: the manifest excludes T=float, N=2"),
        ({"T": "half"}, "with T=half; the value of N is missing; T is float or unsigned int; N is 1 or 2"),
        (
            {"T": "half", "N": 1, "M": 1},
            "with T=half, N=1, M=1; M is no axis of it; T is float or unsigned int; N",
        ),
        ({"T": "a\nb", "N": 1}, r"with T='a\\nb', N=1: the value of T is not one line of plain text"),
        ({"T": float, "N": 1}, r"T takes C\+\+ text or a number, not <class 'float'>"),
        ({"T": "float", "N": [1]}, r"N takes C\+\+ text or a number, not \[1\]"),
        ({"T": "float", "N": "x y"}, "a launch rule: 'x y' is not an expression"),
    ):
        with pytest.raises(InputError, match=message):
            store.module("scale", **axes)
    with pytest.raises(KernelNotFoundError, match=r"no kernel 'scal' in .*did you mean 'scale'.*count_1, fill<1, 3>"):
        store.module("scale", T="double", N=1).find_image("scal", arch="sm_90")
    assert entries(fresh_cache) == []


def test_spaces_count_in_strings_and_nowhere_else(build):
    """An image whose string has other spaces than were asked for is none that was asked for."""
    manifest = """
        schema: 1
        arches: [sm_90]
        modules:
          "k_{TEXT}_{T}":
            source: k.cu
            matrix: {TEXT: ["a, b"], T: ["pair< int >"]}
            options: {define: {TYPE: "{T}", TEXT: '"{TEXT}"'}}
    """
    source = 'template <class T> struct pair {}; extern "C" __global__ void k(TYPE*, char* x) { *x = TEXT[2]; }\n'
    store = build(manifest, **{"k.cu": source})
    assert store.module("k", TEXT="a, b", T="pair<int>").is_listed
    other = store.module("k", TEXT="c ,d", T="pair<float >")
    assert other.axes == {"TEXT": "c ,d", "T": "pair<float>"}
    for axes, known in (({"TEXT": "a,b", "T": "pair<int>"}, "a, b"), ({"TEXT": "c, d", "T": "pair<float>"}, "c ,d")):
        with pytest.raises(InputError, match=f"TEXT is '{known}', and not '{axes['TEXT']}', and spaces count, because"):
            store.module("k", **axes)


def test_a_message_lists_some_of_many_values(build):
    """The first ones, and how many more there are."""
    manifest = f"""
        schema: 1
        arches: [sm_90]
        modules:
          "k_{{N}}": {{source: k.cu, matrix: {{N: [{", ".join(map(str, range(23)))}]}}, instances: ["k<{{N}}>"]}}
    """
    store = build(manifest, **{"k.cu": "template <int N> __global__ void k(int* x) { *x = N; }\n"})
    with pytest.raises(InputError, match=r"no module 'k' with no axis; N is 0 or 1 or .* or 19 or 3 more$"):
        store.module("k")


def test_where_nothing_may_be_compiled_the_line_to_add_is_told(build, monkeypatch):
    """Explained or asked for, and quoted as YAML needs it."""
    module = build().module("scale", T="thrust::complex<float>", N=1)
    monkeypatch.setenv("HATCH_CUDA_KERNELS_JIT", "0")
    line = """write {T: "thrust::complex<float>", N: 1} under 'combinations:' of 'scale_{T}-{N}' in the package's"""
    with pytest.raises(NoImageError, match="JIT=0 forbids compiling") as caught:
        module.find_image("scale", arch="sm_90")
    assert line in str(caught.value)
    explained = str(module.explain("scale", arch="sm_90"))
    assert "module 'scale_thrust_complex_float-1' is 'scale' with T=thrust::complex<float>, N=1" in explained
    assert line in explained


def test_headers_that_macros_name_are_shipped_if_they_are_declared(build, tmp_path):
    """Another one is told by its name."""
    manifest = """
        schema: 1
        arches: [sm_90]
        modules:
          "scale_{T}":
            source: scale.cu
            headers: ["tables/*.h"]
            matrix: {T: [float, double]}
            options: {include: [inc], define: {TYPE: "{T}", TABLE: '"tables/{T}.h"', OTHER: '"other_{T}.h"'}}
    """
    source = '#include TABLE\n#if WITH\n#include OTHER\n#endif\nextern "C" __global__ void scale(TYPE* x) { *x = F; }\n'
    tables = {f"tables/{name}.h": f'#include "deep_{name}.h"\n' for name in ("float", "double", "int", "short")}
    deep = {f"tables/deep_{name}.h": "#define F 2\n" for name in ("float", "double", "int")}
    deep |= {"tables/deep_short.h": "#define F 2\n#define WITH 1\n"}
    others = {f"inc/other_{name}.h": "" for name in ("float", "double", "short")}
    store = build(manifest, **{"scale.cu": source}, **tables, **deep, **others)
    assert store.module("scale", T="int").find_image("scale", arch="sm_90").origin == "jitted"
    with pytest.raises(CompileError, match=r'cannot open source file "other_short\.h"'):
        store.module("scale", T="short").find_image("scale", arch="sm_90")
    assert not (store.path / "project.source" / "inc" / "other_short.h").exists()
    root = tmp_path / "project"
    in_sdist = wheel_inputs(load_manifest(root / "kernels.yaml"), root)
    assert {"tables/int.h", "tables/deep_int.h", "tables/short.h"} < in_sdist.keys()
    assert "inc/other_short.h" not in in_sdist
    assert main(["verify", str(store.path), "--rebuild"]) == 0
    (store.path / "project.source" / "tables" / "int.h").write_text("")
    assert main(["verify", str(store.path)]) == 1
    with pytest.raises(StoreError, match=r"int\.h: this source does not match the digest"):
        open_store(store.path).module("scale", T="int").find_image("scale", arch="sm_80")


def test_host_code_that_only_its_values_read_is_cut(build):
    """By the rules, and where NVRTC refuses more."""
    source = """
        #define CHOICE_(T) USE_##T
        #define CHOICE(T) CHOICE_(T)
        #define USE_int 1
        #if CHOICE(TYPE)
        #include <vector>
        std::vector<int> numbers() { return {read_file()}; }
        namespace n { unknown::T f(int b) { return {}; } }
        #endif
        extern "C" __global__ void k(TYPE* x) { *x = 1; }
    """
    manifest = """
        schema: 1
        arches: [sm_90]
        modules: {"k_{T}": {source: k.cu, matrix: {T: [float]}, options: {define: {TYPE: "{T}"}}}}
    """
    store = build(manifest, **{"k.cu": source})
    ask = lambda: open_store(store.path).module("k", T="int").find_image("k", arch="sm_90").origin  # noqa: E731
    assert [ask(), ask()] == ["jitted", "cached"]


def test_modules_of_several_programs_and_sources(build):
    """Of one in chunks, an instance is compiled alone; one that is linked is linked again."""
    manifest = """
        schema: 1
        arches: [sm_90]
        modules:
          "chunk_{T}":
            source: c.cu
            chunk: 1
            matrix: {T: [float], N: [1, 2]}
            instances: ["fill<{T}, {N}>"]
            options: {define: {TYPE: "{T}"}}
          "linked_{T}": {sources: [a.cu, b.cu], matrix: {T: [float]}, options: {define: {TYPE: "{T}"}}}
          "{T}_*": {source: "star/*.cu", matrix: {T: [float]}, options: {define: {TYPE: "{T}"}}}
    """
    files = {
        "c.cu": "template <class T, int N> __global__ void fill(T* p) { *p = N; }\n__global__ void one(TYPE* p) {}\n",
        "a.cu": '__device__ TYPE g(TYPE);\nextern "C" __global__ void k(TYPE* p) { *p = g(1); }\n',
        "b.cu": "__device__ TYPE g(TYPE x) { return x + 1; }\n",
        "star/x.cu": 'extern "C" __global__ void x(TYPE* p) { *p = 1; }\n',
    }
    store = build(manifest, **files)
    found = store.module("chunk", T="int").find_image("fill<int,2>", arch="sm_90")
    assert {symbol.name for symbol in found.kernels} == {"fill<int,2>", "one"}
    for family, kernel, name in (("linked", "k", "linked_int"), ("x", "x", "int_x"), ("chunk", "one", "chunk_int")):
        modules = [open_store(store.path).module(family, T="int") for _ in range(2)]
        assert [module.find_image(kernel, arch="sm_90").origin for module in modules] == ["jitted", "cached"]
        assert modules[0].name == name


def test_an_editable_install_compiles_it_from_the_project(build, make_project, fresh_cache):
    """Edits count, and so do files that no listed combination reads."""
    store = build(editable=True)
    ask = lambda: open_store(store.path).module("scale", T="double", N=4).find_image("count_4", arch="sm_90").origin  # noqa: E731
    assert [ask(), ask()] == ["jitted", "cached"]
    make_project(MANIFEST, **{"scale.cu": SOURCE.replace("= COUNT;", "= COUNT + 1;")})
    assert [ask(), ask()] == ["jitted", "cached"]


def test_a_note_of_what_was_read_does_not_outlive_what_it_says(build, fresh_cache):
    """A store with another source, or a damaged note, is read anew."""
    build().module("scale", T="double", N=3).find_image("scale", arch="sm_90")
    [note] = (fresh_cache / "notes").glob("as-asked-*")
    note.write_text(json.dumps(json.loads(note.read_text()) | {"units": 3}))
    store = build()
    assert store.module("scale", T="double", N=3).find_image("scale", arch="sm_90").origin == "cached"
    changed = build(**{"scale.cu": SOURCE.replace("= COUNT;", "= COUNT + 1;")})
    assert changed.module("scale", T="double", N=3).find_image("scale", arch="sm_90").origin == "jitted"
    source = changed.path / "project.source" / "scale.cu"
    source.write_text(SOURCE)
    with pytest.raises(Exception, match="this source does not match the digest in the index"):
        open_store(changed.path).module("scale", T="int", N=3).find_image("scale", arch="sm_90")
