"""PTX and LTO-IR that no driver takes as they are: a compile comes first, and code of the slower kind says so."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cache import open_cache
from hatch_cuda_kernels.compiler.binary.cubin import read_cubin
from hatch_cuda_kernels.compiler.toolchain import libraries
from hatch_cuda_kernels.compiler.toolchain.libraries import require_ptxas
from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.errors import NoImageError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.runtime.ladder import compile_rungs

OLD_DRIVER = (12, 4)
SLOWER = "finished by nvJitLink as relocatable code, up to 1.5 times slower"


@pytest.fixture
def build(make_project, tmp_path, fresh_cache):
    """Return a function that opens the store of one module with these architectures and options."""

    def build_module(arches, options="{}"):
        manifest = f"{{schema: 1, arches: [{arches}], modules: {{m: {{source: saxpy.cu, options: {options}}}}}}}"
        build_store(load_manifest(make_project(manifest) / "kernels.yaml"), tmp_path / "out")
        return open_store(tmp_path / "out")

    return build_module


@pytest.fixture
def no_nvrtc(monkeypatch):
    """Let the ladder take this process for one without a compiler."""
    monkeypatch.setattr(compile_rungs, "_key_and_nvrtc", lambda request: "NVRTC is not installed (here)")


@pytest.fixture
def no_ptxas(monkeypatch):
    """Let the ladder find no ptxas."""
    monkeypatch.setattr(libraries, "installed_ptxas", lambda: iter(()))


def compiled(store):
    """Return the accepted candidates below the disk cache, for a device that has no image, under an old driver."""
    found = store.explain("saxpy", arch="sm_103", driver=OLD_DRIVER).candidates
    return [candidate.reason for candidate in found if candidate.origin != "prebuilt" and candidate.accepted]


def find(store):
    """Return the origin and the image for that device."""
    image = store.find_image("saxpy", arch="sm_103", driver=OLD_DRIVER)
    assert (str(image.arch), read_cubin(image.data).sm) == ("sm_103", 103)
    return image.origin


def recorded():
    """Return which tools made the images in the disk cache that a run asked for."""
    return [sorted(entry.toolchain.keys() - {"headers"}) for entry, _, _ in open_cache().entries() if entry.wanted]


@pytest.mark.slow
def test_candidates_are_in_the_order_of_the_code_they_give(build):
    """A compile of the source, then PTX by ptxas, then PTX by nvJitLink, which says that it is slower."""
    nvrtc = load_toolchain().nvrtc
    assert compiled(build("sm_80, compute_80")) == [
        f"compiled from saxpy.cu by NVRTC {nvrtc}",
        f"compute_80 ptx finished by ptxas {require_ptxas(nvrtc).version}",
        f"compute_80 ptx {SLOWER}",
    ]


@pytest.mark.slow
def test_no_tool_is_asked_for_a_device_that_it_does_not_know(build):
    """A device of a later toolkit has no image where PTX would have to be finished: explained as it is found."""
    store, release = build("compute_80"), load_toolchain().nvrtc
    with pytest.raises(NoImageError, match=f"NVRTC {release} does not know sm_199") as caught:
        store.find_image("saxpy", arch="sm_199", driver=OLD_DRIVER)
    for tool in (f"ptxas {release}", f"nvJitLink {release.rpartition('.')[0]}"):
        assert f"jitted sm_199 cubin: {tool} does not know sm_199" in str(caught.value)
    assert store.explain("saxpy", arch="sm_199", driver=OLD_DRIVER).chosen is None


@pytest.mark.slow
def test_the_source_is_compiled_where_nvrtc_is(build):
    """NvJitLink and ptxas are there, and have no part in it."""
    assert find(build("sm_80, compute_80")) == "jitted"
    assert recorded() == [["nvrtc"]]


@pytest.mark.slow
def test_without_nvrtc_ptxas_finishes_the_ptx(build, no_nvrtc, monkeypatch):
    """Its code is that of a whole program; it is recorded, and found where ptxas has gone."""
    store = build("sm_80, compute_80")
    assert find(store) == "jitted"
    assert recorded() == [["ptxas"]]
    monkeypatch.setattr(libraries, "installed_ptxas", lambda: iter(()))
    assert find(store) == "cached"
    assert "slower" not in str(store.explain("saxpy", arch="sm_103", driver=OLD_DRIVER).chosen)


@pytest.mark.slow
def test_without_both_nvjitlink_does_and_explain_says_it_is_slower(build, no_nvrtc, no_ptxas):
    """Before it is made and after it was recorded."""
    store = build("sm_80, compute_80")
    assert compiled(store) == [f"compute_80 ptx {SLOWER}"]
    assert [find(store), find(store)] == ["jitted", "cached"]
    assert recorded() == [["nvjitlink"]]
    [reason] = compiled(store)
    assert reason.startswith("compiled on ")
    assert reason.endswith(" as relocatable code, up to 1.5 times slower")


@pytest.mark.slow
def test_a_compile_comes_before_slower_code_that_was_recorded(build, no_ptxas, monkeypatch):
    """Whoever installs NVRTC later gets its code."""
    store = build("sm_80, compute_80")
    with monkeypatch.context() as without_nvrtc:
        without_nvrtc.setattr(compile_rungs, "_key_and_nvrtc", lambda request: "NVRTC is not installed (here)")
        assert find(store) == "jitted"
    assert find(store) == "jitted"
    assert sorted(recorded()) == [["nvjitlink"], ["nvrtc"]]


@pytest.mark.slow
def test_a_ptxas_that_is_too_old_for_the_ptx_is_passed_over(build, no_nvrtc, monkeypatch):
    """The next one that knows its ISA is taken."""
    found = require_ptxas(load_toolchain().nvrtc)
    old = found._replace(version="12.4.131")
    monkeypatch.setattr(libraries, "installed_ptxas", lambda: iter((old, found)))
    assert compiled(build("compute_80"))[0] == f"compute_80 ptx finished by ptxas {found.version}"


@pytest.mark.slow
def test_ltoir_is_finished_by_nvjitlink_without_nvrtc(build, no_nvrtc):
    """LTO-IR is optimized by nvJitLink, so its code is not of the slower kind."""
    store = build("compute_80", "{lto: true}")
    assert compiled(store) == ["compute_80 ltoir finished by nvJitLink"]
    assert [find(store), find(store)] == ["jitted", "cached"]
