"""What a manifest promises is enforced by the build and recorded in the store."""

from __future__ import annotations

import json

import pytest

from hatch_cuda_kernels.arch import ComputeCapability, SmArch
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.image import Symbol
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.store.image_record import ImageRecord
from hatch_cuda_kernels.store.promises.model import Promises, Supports, read_promises
from hatch_cuda_kernels.store.promises.spills import find_spills
from hatch_cuda_kernels.verify.promises import targets

#: 40 values that are all alive at once do not fit into 32 registers.
SPILLING = """
extern "C" __global__ void crowd(float* y) {
    float a[40];
    #pragma unroll
    for (int i = 0; i < 40; i++) a[i] = y[i * 32];
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < 40; i++)
        #pragma unroll
        for (int j = 0; j < 40; j++) a[i] = a[i] * a[j] + 1.0f;
    #pragma unroll
    for (int i = 0; i < 40; i++) y[i] = a[i];
}
"""
MANIFEST = """
schema: 1
arches: [sm_90, compute_90]
options: {maxrregcount: 32}
max_spill_bytes: %s
modules:
  calm: {source: saxpy.cu}
  crowded: {source: crowd.cu%s}
"""


def build(make_project, out, top, module=""):
    """Build the project with one kernel that spills and one that does not."""
    root = make_project(MANIFEST % (top, module), **{"crowd.cu": SPILLING})
    build_store(load_manifest(root / "kernels.yaml"), out)
    return out


def test_a_build_with_spills_over_the_limit_fails(make_project, tmp_path):
    """The kernel, the architecture and the bytes are named, and nothing is written; PTX has no spills."""
    with pytest.raises(BuildError) as caught:
        build(make_project, tmp_path / "out", 0)
    (problem,) = caught.value.problems
    assert problem.startswith("kernels.yaml:8:3: modules.crowded: the kernel 'crowd' spills ")
    assert " bytes per thread for sm_90 (" in problem
    assert not (tmp_path / "out").exists()


def test_a_module_may_spill_more_than_the_others(make_project, tmp_path, capsys):
    """The module's limit replaces the manifest's; both are recorded, and ``verify`` holds the store to them."""
    out = build(make_project, tmp_path / "out", 0, ", max_spill_bytes: 100000")
    assert dict(read_promises(out).max_spill_bytes) == {"calm": 0, "crowded": 100000}
    assert main(["verify", str(out)]) == 0
    assert "ok       spills         2 CUBINs" in capsys.readouterr().out
    assert main(["verify", str(out), "--max-spill-bytes", "0"]) == 1
    assert "crowded/crowded.sm_90.cubin: the kernel 'crowd' spills" in capsys.readouterr().out


def test_spills_that_are_not_known_are_no_promise(make_project):
    """Where the assembler did not say, a limit cannot be proven."""
    image = ImageRecord("a.cubin", "cubin", SmArch(9, 0), "", 0, (9, 0), resources={"k": {"registers": 8}})
    (gap,) = find_spills(0, [Symbol("kernel", "k")], [image])
    assert str(gap).startswith(
        "a.cubin: the spills of the kernel 'kernel' for sm_90 are not recorded; the limit is 0 bytes; "
    )


def test_without_promises_nothing_is_recorded(make_project, tmp_path):
    """A manifest that promises nothing leaves no file."""
    root = make_project("{schema: 1, arches: [sm_90], modules: {a: {source: saxpy.cu}}}")
    build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out")
    assert not (tmp_path / "out" / "promises.json").exists()
    assert read_promises(tmp_path / "out") == Promises()


def test_promises_survive_the_file(tmp_path):
    """What is written is read."""
    devices = (ComputeCapability(8, 0), ComputeCapability(12, 1))
    for driver in (None, (13, 0)):
        supports = Supports(devices=devices, driver=driver)
        promises = Promises(supports=supports, max_spill_bytes={"a": 0}, max_wheel_size=5)
        (tmp_path / "promises.json").write_text(promises.text())
        assert read_promises(tmp_path) == promises


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", "[" * 100_000, '{"schema": 2}', '{"schema": 1, "supports": {"devices": ["9"]}}',
        '{"schema": 1, "supports": 5}',
    ],
)  # fmt: skip
def test_damaged_promises_are_refused(tmp_path, text):
    """A promise that cannot be read is not one that is kept."""
    (tmp_path / "promises.json").write_text(text)
    with pytest.raises(ValueError, match=r"cannot be read|schema 2 is not 1"):
        read_promises(tmp_path)


def test_an_edited_manifest_is_recorded_again(make_project, tmp_path):
    """A rebuild that compiles nothing still records the new promise."""
    for devices in ('["9.0"]', '["9.0", "10.0"]'):
        manifest = "{schema: 1, arches: [sm_90, compute_90], modules: {a: {source: saxpy.cu}}, supports: {devices: %s}}"
        root = make_project(manifest % devices)
        build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out")
        recorded = json.loads((tmp_path / "out" / "promises.json").read_text())
        assert recorded == {"schema": 1, "supports": {"devices": json.loads(devices)}}


@pytest.mark.parametrize(
    ("arch", "devices", "release", "expected"),
    [
        ("compute_80", [], (13, 0), "sm_80 sm_121"),
        ("compute_80", ["7.5", "8.0", "8.9", "12.0"], (13, 0), "sm_80 sm_89 sm_120"),
        ("compute_80", ["7.5"], (13, 0), "sm_80"),
        ("compute_90a", [], (13, 0), "sm_90a"),
        ("compute_90a", ["9.0", "10.0"], (13, 0), "sm_90a"),
        ("compute_100f", [], (13, 0), "sm_100f sm_103"),
        ("compute_70", [], (13, 0), "sm_75 sm_121"),
        ("compute_70", ["8.0"], (12, 9), "sm_70 sm_80"),
    ],
)
def test_ptx_is_assembled_for_whoever_takes_it(arch, devices, release, expected):
    """For its own architecture, for each promised device it suits, and without a promise for the newest one."""
    promised = [ComputeCapability.parse(device) for device in devices]
    assert " ".join(map(str, targets(SmArch.parse(arch), promised, release))) == expected
