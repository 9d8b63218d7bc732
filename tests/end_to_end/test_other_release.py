"""A store of one CUDA major, read and resolved in a process that has the bindings and the compiler of the other.

The stores in ``golden/stores`` are of CUDA 12.9 and 13.0, and of schema 1, in which each module has its own sources:
older stores stay readable. They were built in both environments: ``hatch-cuda-kernels build --out 13.0
kernels-13.0.yaml`` there, and the same with 12.9. Keys that change are a reason to build them again.

``iterators`` was built with CUDA 13.0, too, in schema 2. Its one toolkit header asks for ``<iterator>`` in 12.9, not in
13.0, so the store does not ship that.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.cache import open_cache
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler.binary.cubin import read_cubin
from hatch_cuda_kernels.compiler.toolchain.libraries import bindings_major
from hatch_cuda_kernels.compiler.toolchain.packages import pip_install
from hatch_cuda_kernels.errors import NoImageError
from hatch_cuda_kernels.runtime.ladder import compile_rungs

HERE = bindings_major()
OTHER = "12.9" if HERE == 13 else "13.0"
STORE = Path(__file__).parents[1] / "golden" / "stores" / OTHER

#: By device and driver: what the store alone offers first. Neither the bindings nor NVRTC have a say in it.
CHOICES = {
    "12.9": {
        ("sm_61", (12, 0)): "sm_61 cubin",
        ("sm_62", (12, 9)): "compute_60 ptx",
        ("sm_86", (12, 2)): "sm_80 cubin",
        ("sm_90", (12, 9)): "compute_60 ptx",
        ("sm_90", (13, 0)): "compute_60 ptx",
    },
    "13.0": {
        ("sm_80", (12, 9)): "sm_80 cubin",
        ("sm_86", (13, 0)): "sm_80 cubin",
        ("sm_90", (13, 0)): "sm_90 cubin",
        ("sm_120", (13, 0)): "compute_80 ptx",
    },
}[OTHER]


@pytest.fixture
def store(fresh_cache):
    """Return the store of the other major; nothing is recorded yet."""
    return open_store(STORE)


def run(capsys, *args):
    """Run a command with ``--json``; return its exit status and what it printed."""
    status = main([*map(str, args), "--json"])
    return status, json.loads(capsys.readouterr().out)


def reasons(capsys, kernel, arch, driver):
    """Return what ``explain`` says of each candidate, by origin, architecture and kind."""
    _, told = run(capsys, "explain", kernel, "--package", STORE, "--arch", arch, "--driver", driver)
    return {(one["origin"], one["arch"], one["kind"]): one["reason"] for one in told["candidates"]}


def test_inspect_shows_the_other_toolchain(capsys):
    """Reading takes no compiler: kernels, images, and what compiled them."""
    module = run(capsys, "inspect", STORE)[1]["modules"]["scale"]
    assert module["toolchain"]["nvrtc"].startswith(f"{OTHER}.")
    assert set(module["kernels"]) == {"scale", "fill<float, 8>"}
    assert len(module["images"]) == 3


@pytest.mark.parametrize(("arch", "driver"), CHOICES)
def test_prebuilt_images_are_chosen_by_device_and_driver(store, arch, driver):
    """The ladder asks the device and its driver, never which CUDA is installed here."""
    image = store.find_image("scale", arch=arch, driver=driver, policy="prebuilt")
    assert f"{image.arch} {image.kind}" == CHOICES[arch, driver]


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "policy"), [("scale", "exact"), ("fill<double, 4>", "compatible")])
def test_a_jit_uses_the_nvrtc_here(store, kernel, policy):
    """What is not prebuilt is compiled from the shipped source by this NVRTC, and recorded as its work."""
    for origin in ("jitted", "cached"):
        image = store.find_image(kernel, arch="sm_86", driver=(HERE, 0), policy=policy)
        assert (image.origin, str(image.arch), read_cubin(image.data).sm) == (origin, "sm_86", 86)
    (entry, _, _) = next(iter(open_cache().entries()))
    assert entry.toolchain["nvrtc"].startswith(f"{HERE}.")


@pytest.mark.slow
def test_a_device_that_this_nvrtc_does_not_know(store):
    """CUDA 13 dropped Pascal, CUDA 12.9 precedes 11.0: without an image there is a reason."""
    arch = {13: "sm_61", 12: "sm_110"}[HERE]
    with pytest.raises(NoImageError, match=rf"NVRTC {HERE}\.\d+\.\d+ does not know {arch}"):
        store.find_image("fill<double, 4>", arch=arch, driver=(13, 0))


@pytest.mark.slow
def test_ptx_that_is_not_newer_is_finished(store, capsys, monkeypatch):
    """PTX of 12.9 is finished by the tools of 13 for a driver that cannot; PTX of 13.0 is beyond those of 12.9."""
    monkeypatch.setattr(compile_rungs, "_key_and_nvrtc", lambda request: "NVRTC is not installed (here)")
    told = reasons(capsys, "scale", "sm_100", "12.8")
    if HERE == 13:
        assert told["prebuilt", "compute_60", "ptx"] == "written as PTX ISA 8.8, the driver knows up to 8.7"
        image = store.find_image("scale", arch="sm_100", driver=(12, 8))
        assert (image.origin, read_cubin(image.data).sm) == ("jitted", 100)
        (entry, _, _) = next(iter(open_cache().entries()))
        assert entry.toolchain["ptxas"].startswith("13.")
    else:
        assert told["prebuilt", "compute_80", "ptx"] == "written as PTX ISA 9.0, the driver knows up to 8.7"
        assert told["jitted", "sm_100", "cubin"] == "written as PTX ISA 9.0, nvJitLink 12.9 knows up to 8.8"


@pytest.mark.slow
def test_promote_finds_what_was_compiled_here(store, capsys, tmp_path):
    """An instance that another NVRTC compiled for this package counts as missing from it."""
    store.find_image("fill<double, 4>", arch="sm_86", driver=(HERE, 0))
    project = shutil.copytree(STORE.parent, tmp_path / "project")
    status, told = run(capsys, "promote", "--package", STORE, project / f"kernels-{OTHER}.yaml")
    assert status == 0
    assert [(miss["kernel"], miss["arch"]) for miss in told["misses"]] == [("fill<double, 4>", "sm_86")]
    assert '"fill<double, 4>"' in told["diff"]


@pytest.mark.slow
def test_a_jit_takes_the_standard_headers_that_the_toolkit_here_asks_for(fresh_cache, capsys, tmp_path):
    """What the release of the build did not need is this package's; the next process and promote find the result."""
    folder = STORE.with_name("iterators")
    assert '"iterator"' not in (folder / "standard_headers.json").read_text()
    for kernel in ("is_contiguous<float*>", "is_contiguous<double*>"):
        found = [open_store(folder).find_image(kernel, arch="sm_90").origin for _ in range(3)]
        assert found == ["jitted", "cached", "cached"]
    project = shutil.copytree(STORE.parent, tmp_path / "project")
    status, told = run(capsys, "promote", "--package", folder, project / "iterators.yaml")
    assert status == 0
    assert {miss["kernel"] for miss in told["misses"]} == {"is_contiguous<float*>", "is_contiguous<double*>"}


BINDINGS = {13: '"cuda-bindings>=12.9,<13"', 12: '"cuda-bindings>=13,<14"'}[HERE]


def test_verify_proves_what_it_can(capsys):
    """All but the assembly needs no compiler; that says which bindings and nvJitLink prove it."""
    status, told = run(capsys, "verify", STORE)
    states = {check["check"]: check["state"] for check in told["checks"]}
    assert (status, [name for name, state in states.items() if state == "failed"]) == (1, ["assembly"])
    (finding,) = next(check["findings"] for check in told["checks"] if check["check"] == "assembly")
    problem, wheel = {
        13: (r"does not know sm_61: it cannot prove that this assembles", '"nvidia-nvjitlink-cu12>=12.9,<13"'),
        12: (r"written by CUDA 13.0: nvJitLink 12.9 cannot prove that it assembles", '"nvidia-nvjitlink>=13.0,<14"'),
    }[HERE]
    assert problem in finding["problem"]
    assert finding["fix"] == f"{pip_install()} {BINDINGS} {wheel}"
    assert run(capsys, "verify", STORE, "--skip", "assembly")[0] == 0


def test_rebuild_needs_the_recorded_toolchain(capsys):
    """Another release gives other bytes, so it is not tried: the command brings bindings and NVRTC together."""
    status, told = run(capsys, "verify", STORE, "--rebuild", "--skip", "assembly")
    (finding,) = next(check["findings"] for check in told["checks"] if check["check"] == "rebuild")
    nvrtc = {13: "nvidia-cuda-nvrtc-cu12==12.9.", 12: "nvidia-cuda-nvrtc==13.0."}[HERE]
    assert status == 1
    assert finding["problem"].startswith(f"was compiled by nvrtc {OTHER}.")
    assert finding["fix"].startswith(f"{pip_install()} {BINDINGS} {nvrtc}")
