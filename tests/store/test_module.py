"""What a build makes of a module: one signature a name, every listed name, and nothing of whoever filled the cache."""

from __future__ import annotations

import json

import pytest

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler.binary.cubin import read_cubin
from hatch_cuda_kernels.compiler.binary.ptx import read_ptx
from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.names import normalize_name
from hatch_cuda_kernels.store.reader import StoreReader


def build(root, out):
    """Build a project's manifest and return the lines of its list of kernels, split; those of templates left out."""
    build_store(load_manifest(root / "kernels.yaml"), out)
    lines = (out / "kernels.tsv").read_text().splitlines()
    return [line.split("\t") for line in lines if not line.startswith("<")]


def problems(root, out):
    """Return what a build that fails says."""
    with pytest.raises(BuildError) as caught:
        build(root, out)
    assert not out.exists()
    return list(caught.value.problems)


def one_module(source, more=""):
    """Return a manifest of one module for two architectures."""
    return f"{{schema: 1, arches: [sm_80, sm_90], modules: {{a: {{source: {source}{more}}}}}}}"


DIFFERENT = {
    "another type": ("int x", "float x", "k(u32) for sm_80; k(f32) for sm_90"),
    "one more": ("int x", "int x, int y", "k(u32) for sm_80; k(u32, u32) for sm_90"),
    "another width": ("int* x", "int x", "k(u64) for sm_80; k(u32) for sm_90"),
}


@pytest.mark.parametrize(("old", "new", "versions"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_a_signature_that_differs_by_architecture_fails_the_build(make_project, tmp_path, old, new, versions):
    """The store records one signature a name: a launch would pass wrong arguments on the other architecture."""
    source = f"""
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void k({new}) {{}}
#else
extern "C" __global__ void k({old}) {{}}
#endif
"""
    root = make_project(one_module("k.cu"), **{"k.cu": source})
    [problem] = problems(root, tmp_path / "out")
    assert problem.startswith(
        f"kernels.yaml:1:47: modules.a: kernel 'k' is not the same on all architectures: {versions}; "
    )


def test_one_name_for_two_functions_fails_the_build(make_project, tmp_path):
    """A C++ kernel that is another overload on another architecture cannot be one name."""
    source = "#if __CUDA_ARCH__ >= 900\n__global__ void k(int) {}\n#else\n__global__ void k(float) {}\n#endif\n"
    root = make_project(one_module("k.cu"), **{"k.cu": source})
    assert "_Z1kf(f32) for sm_80; _Z1ki(u32) for sm_90" in problems(root, tmp_path / "out")[0]


def test_pointers_and_integers_of_their_width_are_one_signature(make_project, tmp_path):
    """Only newer architectures' PTX says which parameter is a pointer; then it is one for all."""
    root = make_project("{schema: 1, arches: [sm_80, sm_100], modules: {a: {source: saxpy.cu}}}")
    assert [line[3] for line in build(root, tmp_path / "out")] == ["ptr,ptr,u32,f32"]


def test_every_listed_spelling_is_found(make_project, tmp_path):
    """Two instances that are one function are two names of one kernel."""
    source = "#define BLOCK 256\ntemplate <int N> __global__ void f(int* x) { *x = N; }\n"
    root = make_project(one_module("f.cu", ', instances: ["f<256>", "f<BLOCK>", "f< BLOCK >"]'), **{"f.cu": source})
    lines = build(root, tmp_path / "out")
    assert [line[0] for line in lines] == ["f<256>", "f<BLOCK>"]
    assert len({line[2] for line in lines}) == 1


@pytest.mark.parametrize("count", [0, 3, 20_000])
def test_a_kernel_is_found_in_a_list_of_any_length(tmp_path, count):
    """A list of many kernels is mapped, a short one read."""
    keys = [f"k{number:06}" for number in range(count)]
    (tmp_path / "kernels.tsv").write_text("".join(f"{key}\tm\t{key}_\tu64\t{key}\n" for key in keys))
    reader = StoreReader(tmp_path)
    assert isinstance(reader._kernels, bytes) == (count < 20_000)
    for key in keys[:: max(count // 7, 1)]:
        assert [line.lowered for line in reader.find(key)] == [f"{key}_"]
    assert reader.find("k9") == []


def test_a_module_without_a_kernel_fails_the_build(make_project, tmp_path):
    """Templates that nobody instantiates leave an empty image, and the message says what to list."""
    source = "template <int N> __global__ void f(int* x) { *x = N; }\n"
    root = make_project(one_module("f.cu"), **{"f.cu": source})
    [problem] = problems(root, tmp_path / "out")
    assert problem.startswith(
        "kernels.yaml:1:47: modules.a: no kernel is in the image; list a template's instances under"
    )


@pytest.mark.slow
def test_an_image_from_the_cache_takes_the_name_of_its_module(make_project, tmp_path, fresh_cache):
    """A renamed module, or an equal one, never shows the name under which its image was first compiled."""
    build(make_project(one_module("saxpy.cu").replace("{a:", "{before:")), tmp_path / "before")
    root = make_project(one_module("saxpy.cu").replace("{a:", "{after:"))
    report = build_store(load_manifest(root / "kernels.yaml"), tmp_path / "after")
    assert not report.compiled
    assert {entry.module for built in report.modules for entry in built.entries} == {"after"}
    index = json.loads((tmp_path / "after/after/index.json").read_text())
    assert [image["file"] for image in index["images"]] == ["after.sm_80.cubin", "after.sm_90.cubin"]
    assert (tmp_path / "after/after/after.sm_80.cubin").is_file()


@pytest.mark.slow
def test_names_are_spelled_as_this_manifest_spells_them(make_project, tmp_path, fresh_cache):
    """An image that the cache has under another spelling is listed under the spelling asked for now."""
    files = {"f.cu": "template <int N> __global__ void f(int* x) { *x = N; }\n"}
    build(make_project(one_module("f.cu", ', instances: ["f< 1 >"]'), **files), tmp_path / "one")
    root = make_project(one_module("f.cu", ', instances: ["f<1>"]'), **files)
    assert [line[4] for line in build(root, tmp_path / "two")] == ["f<1>"]


@pytest.mark.slow
def test_headers_that_play_no_part_are_not_recorded(make_project, tmp_path, fresh_cache, monkeypatch):
    """A source without toolkit headers gives the same store whether they are installed or not, and whoever compiled."""
    root = make_project(one_module("saxpy.cu"))
    for name, change in (("with", {}), ("without", {"headers": ""})):
        toolchain = load_toolchain()._replace(**change)
        monkeypatch.setattr("hatch_cuda_kernels.build.find_toolchain", lambda value=toolchain: value)
        build(root, tmp_path / name)
        index = json.loads((tmp_path / name / "a/index.json").read_text())
        assert index["toolchain"] == {"nvrtc": load_toolchain().nvrtc, "headers": ""}


@pytest.mark.slow
def test_headers_that_play_a_part_are_recorded(make_project, tmp_path):
    """With a toolkit header, the index says which version of them was compiled."""
    source = '#include <cuda_fp16.h>\nextern "C" __global__ void k(__half* x) { *x = 1; }\n'
    build(make_project(one_module("k.cu"), **{"k.cu": source}), tmp_path / "out")
    assert json.loads((tmp_path / "out/a/index.json").read_text())["toolchain"] == {
        "nvrtc": load_toolchain().nvrtc, "headers": load_toolchain().headers,
    }  # fmt: skip


CUB = """
#include <cub/block/block_scan.cuh>
template <class Scan> __global__ void scan(int* data) {
    __shared__ typename Scan::TempStorage storage;
    Scan(storage).InclusiveSum(data[threadIdx.x], data[threadIdx.x]);
}
__global__ void plain(cub::BlockScan<int, 64>::TempStorage* p) { *reinterpret_cast<int*>(p) = 1; }
"""
SCAN = "scan<cub::BlockScan<int, 128>>"


@pytest.fixture(scope="module")
def renamed(tmp_path_factory, slow):
    """Return a store whose kernels' lowered names hold CUB's namespace, which names the architecture compiled for."""
    root = tmp_path_factory.mktemp("renamed")
    (root / "k.cu").write_text(CUB)
    (root / "kernels.yaml").write_text(
        f'{{schema: 1, arches: [sm_80, sm_90, compute_90], modules: {{m: {{source: k.cu, instances: ["{SCAN}"]}}}}}}'
    )
    build_store(load_manifest(root / "kernels.yaml"), root / "_kernels")
    return root / "_kernels"


@pytest.mark.parametrize("name", [SCAN, "plain"])
def test_a_kernel_has_one_name_though_each_image_has_its_own_lowered_name(renamed, name):
    """CCCL's namespaces list the architectures; a look-up by the manifest's name finds each image's own symbol."""
    store, reader = open_store(renamed), StoreReader(renamed)
    [line] = reader.find(normalize_name(name))
    found = set()
    for record in reader.module("m").images:
        image = store.find_image(name, arch=str(record.arch.real), policy="prebuilt")
        assert image.arch.real == record.arch.real
        lowered = reader.lowered(line, record.sha256)
        data = reader.read_image("m", record)
        held = read_cubin(data).kernels if record.kind == "cubin" else read_ptx(data.decode()).entries
        assert lowered in held
        assert f"SM_{record.arch.number}0" in lowered
        found.add(lowered)
        if image.kind == record.kind:
            assert {symbol.lowered for symbol in image.kernels or (line,)} == {lowered}
    assert len(found) == 2


def test_verify_and_inspect_know_lowered_names_of_each_image(renamed, capsys):
    """The release gate passes, and what a user is shown has the resources of every image."""
    assert main(["verify", str(renamed), "--rebuild"]) == 0
    capsys.readouterr()
    assert main(["inspect", str(renamed), "--json"]) == 0
    module = json.loads(capsys.readouterr().out)["modules"]["m"]
    listed = {kernel["lowered"] for kernel in module["kernels"].values()}
    cubins = [image for image in module["images"] if image["kind"] == "cubin"]
    assert [image["resources"].keys() == listed for image in cubins] == [True, True]
    assert [set(image.get("lowered", {})) for image in cubins] == [set(), set(map(normalize_name, module["kernels"]))]
