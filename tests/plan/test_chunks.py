"""``chunk``: a large matrix compiled as several programs, which nobody who uses the store has to know."""

from __future__ import annotations

import json

import pytest
from jobs import watch_jobs
from own_cache import copy_with_cache, own_cache

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.errors import KernelNotFoundError, ManifestError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.plan import make_plan

SOURCE = """
template <int N> __global__ void fill(int* y) { for (int i = 0; i < N; ++i) y[i] = i; }
extern "C" __global__ void clear(int* y) { *y = 0; }
"""
MANIFEST = """
schema: 1
arches: [sm_80, sm_90]
max_spill_bytes: 0
stubs: _kernels.pyi
modules:
  m: {{source: a.cu, instances: ["fill<{{N}}>"], matrix: {{N: [{values}]}}, kernels: [clear], {more}}}
"""
NAMES = [f"fill<{n}>" for n in (1, 2, 3, 4, 5)]


def manifest_of(count, more="chunk: 2"):
    """Return a manifest whose module has so many instances, in chunks of two."""
    return MANIFEST.format(values=", ".join(map(str, range(1, count + 1))), more=more)


@pytest.fixture
def project(make_project):
    """Return a function that writes a project whose module has so many instances, in chunks of two."""
    return lambda *what: make_project(manifest_of(*what), **{"a.cu": SOURCE})


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return a folder with a project of five instances, its store in ``out``, and the cache of its build."""
    folder = tmp_path_factory.mktemp("five")
    (folder / "a.cu").write_text(SOURCE)
    (folder / "kernels.yaml").write_text(manifest_of(5))
    with own_cache(folder):
        build(folder, folder / "out")
    return folder


@pytest.fixture
def five(built, tmp_path, monkeypatch):
    """Return a copy of that folder, with a cache of its own."""
    return copy_with_cache(built, tmp_path / "five", monkeypatch)


def build(root, out):
    """Build a project's store."""
    return build_store(load_manifest(root / "kernels.yaml"), out, workers=1)


@pytest.fixture
def ran(monkeypatch):
    """Return the list of what builds of this test compile, as ``module arch``."""
    return watch_jobs(monkeypatch, lambda job: f"{job.module} {job.arch}")


@pytest.mark.slow
@pytest.mark.parametrize("front_end", ["per-arch", "lto", "ptx"])
def test_every_kernel_is_found_as_if_there_were_no_chunks(project, tmp_path, fresh_cache, front_end):
    """By its name alone, or with the manifest's module; each in an image that has it, and listed once."""
    build(project(5, f"chunk: 2, front_end: {front_end}"), tmp_path / "out")
    store = open_store(tmp_path / "out")
    assert sorted(store.kernels) == sorted(["clear", *NAMES])
    for name in ("clear", *NAMES):
        for module in (None, "m"):
            image = store.find_image(name, arch="sm_90", module=module)
            assert (image.origin, str(image.arch)) == ("prebuilt", "sm_90")
            lowered = "clear" if name == "clear" else f"_Z4fillILi{name[5]}EEvPi"
            assert f".text.{lowered}".encode() in image.data
    files = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.cubin"))
    chunks = ("m", "m.2", "m.3")
    assert files == sorted(f"{chunk}/{chunk}.{arch}.cubin" for chunk in chunks for arch in ("sm_80", "sm_90"))
    with pytest.raises(KernelNotFoundError):
        store.find_image("fill<1>", arch="sm_90", module="other")


@pytest.mark.slow
def test_an_unlisted_instance_is_compiled_as_ever(five):
    """Also where the module is named."""
    store = open_store(five / "out")
    for module in (None, "m"):
        assert store.find_image("fill<77>", arch="sm_90", module=module).origin in {"jitted", "cached"}


@pytest.mark.slow
def test_a_device_without_an_image_compiles_the_chunk_only(five):
    """The kernel's own program is compiled for it, with the two instances it has."""
    image = open_store(five / "out").find_image("fill<3>", arch="sm_120")
    assert (image.origin, str(image.arch)) == ("jitted", "sm_120")
    assert [f"ILi{n}EEvPi".encode() in image.data for n in (1, 2, 3, 4, 5)] == [False, False, True, True, False]


@pytest.mark.slow
def test_an_added_instance_compiles_the_last_chunk_only(project, tmp_path, fresh_cache, ran):
    """Chunks are filled in order, so what was before it stays as it was."""
    build(project(5), tmp_path / "out")
    assert sorted(set(ran)) == [f"{chunk} {arch}" for chunk in ("m", "m.2", "m.3") for arch in ("sm_80", "sm_90")]
    ran.clear()
    build(project(6), tmp_path / "out")
    assert ran == ["m.3 sm_80", "m.3 sm_90"]
    ran.clear()
    build(project(7), tmp_path / "out")
    assert ran == ["m.4 sm_80", "m.4 sm_90"]


@pytest.mark.slow
def test_verify_passes_and_builds_the_same_again(five, capsys):
    """Every check knows chunks, the promises of their module too."""
    status = main(["verify", "--rebuild", "--json", str(five / "out")])
    report = json.loads(capsys.readouterr().out)
    assert (status, [check for check in report["checks"] if check["findings"]]) == (0, [])
    assert {"6 CUBINs", "6 images compiled again"} <= {
        f"{check['checked']} {check['what']}" for check in report["checks"]
    }


@pytest.mark.slow
def test_the_stub_knows_no_chunks(five, project, tmp_path):
    """Editors see the one module of the manifest, and one type for all its instances."""
    root = project(5, "packing: none")
    build(root, tmp_path / "out")
    assert (five / "_kernels.pyi").read_text() == (root / "_kernels.pyi").read_text()


@pytest.mark.slow
def test_a_failing_instance_is_reported_at_its_place(make_project, tmp_path, fresh_cache):
    """Wherever it was compiled, the manifest's line is named."""
    manifest = "schema: 1\narches: [sm_80]\nmodules:\n  m:\n    source: a.cu\n    chunk: 1\n    instances:\n"
    root = make_project(f'{manifest}      - "fill<1>"\n      - "fell<2>"\n', **{"a.cu": SOURCE})
    with pytest.raises(Exception, match=r"kernels.yaml:9:9: modules.m.instances\[1\]: 'fell<2>'"):
        build(root, tmp_path / "out")


def test_chunks_and_variables_contradict_each_other(project):
    """A variable that the host sets would be one of several."""
    root = project(5, "chunk: 2, globals: [scale]")
    with pytest.raises(ManifestError, match=r"kernels.yaml:.*modules.m: each chunk is a separate program"):
        make_plan(load_manifest(root / "kernels.yaml"))


@pytest.mark.slow
def test_what_a_chunk_lacked_is_promoted_to_its_module(five, monkeypatch):
    """The patch is for the manifest's module, whichever chunk's kernel was compiled."""
    monkeypatch.chdir(five)
    store = open_store(five / "out")
    for name, arch in (("fill<3>", "sm_120"), ("fill<9>", "sm_80")):
        assert store.find_image(name, arch=arch).origin == "jitted"
    assert main(["promote", "--package", str(five / "out"), "--apply"]) == 0
    text = (five / "kernels.yaml").read_text()
    assert "arches: [sm_80, sm_90, sm_120]" in text
    assert "matrix: {N: [1, 2, 3, 4, 5, 9]}" in text


@pytest.mark.parametrize(("count", "chunk", "sizes"), [(5, 2, [2, 2, 1]), (4, 2, [2, 2]), (1, 9, [1]), (3, 1, [1] * 3)])
def test_chunks_hold_no_more_than_was_said(project, count, chunk, sizes):
    """The instances, in their order, cut where a program is full."""
    plan = make_plan(load_manifest(project(count, f"chunk: {chunk}") / "kernels.yaml"))
    assert [len(planned.module.instances) for planned in plan] == sizes
    assert [named.text for planned in plan for named in planned.module.instances] == NAMES[:count]
