"""The promise of ``supports:``: every gap is named with the change that closes it."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.arch import ComputeCapability, SmArch
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.image import Symbol
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.store.image_record import ImageRecord
from hatch_cuda_kernels.store.promises.model import Supports
from hatch_cuda_kernels.store.promises.supports import find_gaps

KERNELS = (Symbol("k", "k"), Symbol("other", "_Z5otheri"))


def image(arch, *, kind=None, isa=(9, 0), lacks=()):
    """Return an image of an architecture, its kind by that."""
    parsed = SmArch.parse(arch)
    return ImageRecord(
        file="", kind=kind or ("ptx" if parsed.virtual else "cubin"), arch=parsed, sha256="", bytes=0, ptx_isa=isa,
        lacks=lacks,
    )  # fmt: skip


def gaps(device, *images, driver=None):
    """Return the gaps of one promised device."""
    supports = Supports(devices=(ComputeCapability.parse(device),), driver=driver)
    return [str(gap) for gap in find_gaps(supports, KERNELS, images)]


KEPT = {
    "exact CUBIN": ("9.0", [image("sm_90")], None),
    "CUBIN of a lower minor": ("8.6", [image("sm_80")], None),
    "PTX": ("12.0", [image("compute_80")], None),
    "PTX of an ISA the driver knows": ("12.0", [image("compute_80")], (13, 0)),
    "a CUBIN of the driver's major": ("8.0", [image("sm_80", isa=(8, 8))], (12, 0)),
    "a CUBIN of an older major": ("8.0", [image("sm_80", isa=(8, 8))], (13, 0)),
    "suffixed CUBIN": ("9.0", [image("sm_90a")], None),
    "kernels in two images": ("9.0", [image("sm_90", lacks=("k",)), image("compute_90", lacks=("_Z5otheri",))], None),
}


@pytest.mark.parametrize(("device", "images", "driver"), KEPT.values(), ids=KEPT.keys())
def test_a_kept_promise_has_no_gap(device, images, driver):
    """An image that the run side would take keeps the promise."""
    assert gaps(device, *images, driver=driver) == []


NONE = "there is no image for the promised device"
STATE = 'state cuda: "12.9" in the manifest'
ONE_MORE = "compile it for sm_90 too, or take 9.0 out of 'supports:'"
BROKEN = {
    "another major": (
        "9.0", [image("sm_80")], None,
        f"{NONE} 9.0; add sm_90 to the module's 'arches:'",
    ),
    "lower minor": (
        "8.0", [image("sm_86"), image("compute_86")], None,
        f"{NONE} 8.0; add sm_80 to the module's 'arches:'",
    ),
    "PTX too new": (
        "12.0", [image("compute_80")], (12, 8),
        f"{NONE} 12.0 (compute_80 PTX has ISA 9.0, a driver for CUDA 12.8 knows up to 8.7); {STATE}",
    ),
    "CUBIN of a newer CUDA major": (
        "8.6", [image("sm_80")], (12, 4),
        f"{NONE} 8.6 (the sm_80 CUBIN is of CUDA 13 and needs a driver for CUDA 13); {STATE}",
    ),
    "a driver that no release compiles for": (
        "8.6", [image("sm_80")], (11, 8),
        (f"{NONE} 8.6 (the sm_80 CUBIN is of CUDA 13 and needs a driver for CUDA 13); promise a newer driver, "
        "or take 8.6 out of 'supports:'"),
    ),
    "a device that the driver's major does not know": (
        "11.0", [image("sm_110")], (12, 9),
        (f"{NONE} 11.0 (the sm_110 CUBIN is of CUDA 13 and needs a driver for CUDA 13); promise a newer driver, "
        "or take 11.0 out of 'supports:'"),
    ),
    "PTX too new within a major": (
        "12.0", [image("compute_80", isa=(9, 1))], (13, 0),
        (f"{NONE} 12.0 (compute_80 PTX has ISA 9.1, a driver for CUDA 13.0 knows up to 9.0); add sm_120 to the "
        "module's 'arches:', or state cuda: \"13.0\" in the manifest"),
    ),
    "LTO-IR needs nvJitLink": (
        "9.0", [image("compute_80", kind="ltoir")], None,
        f"{NONE} 9.0; add sm_90 to the module's 'arches:'",
    ),
    "suffix": (
        "10.0", [image("sm_90a")], None,
        f"{NONE} 10.0; add sm_100a to the module's 'arches:'",
    ),
    "device that has no such suffix": (
        "8.0", [image("sm_90a")], None,
        f"{NONE} 8.0; add sm_80 to the module's 'arches:'",
    ),
    "device that CUDA 13 has dropped": (
        "7.0", [image("sm_80")], None,
        f"{NONE} 7.0; add sm_70 to the module's 'arches:', with cuda: \"12.9\"",
    ),
    "device that does not exist": (
        "3.9", [image("sm_80")], None,
        f"{NONE} 3.9; take it out of 'supports:': no known CUDA release compiles sm_39",
    ),
    "one kernel": (
        "9.0", [image("sm_90", lacks=("_Z5otheri",))], None,
        f"the kernel 'other' is in no image for the promised device 9.0; {ONE_MORE}",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("device", "images", "driver", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_a_gap_names_the_device_and_the_change(device, images, driver, message):
    """A device that an image of the store cannot serve is a sentence that says what to write."""
    assert gaps(device, *images, driver=driver) == [message]


def test_a_gap_fails_the_build_at_each_module(make_project, tmp_path):
    """A promise that the images do not keep is reported where it is made, for every module; nothing is written."""
    manifest = """
        schema: 1
        arches: [sm_80, compute_80]
        modules:
          a: {source: saxpy.cu}
          b: {source: saxpy.cu, arches: [sm_80, sm_90]}
        supports: {devices: ["8.6", "9.0"], driver: "12.9"}
    """
    root = make_project(manifest)
    with pytest.raises(BuildError) as caught:
        build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out")
    assert [problem.partition(" (")[0] for problem in caught.value.problems] == [
        f"kernels.yaml:7:22: supports.devices[0]: {NONE} 8.6 in module 'a'",
        f"kernels.yaml:7:22: supports.devices[0]: {NONE} 8.6 in module 'b'",
        f"kernels.yaml:7:29: supports.devices[1]: {NONE} 9.0 in module 'a'",
        f"kernels.yaml:7:29: supports.devices[1]: {NONE} 9.0 in module 'b'",
    ]
    assert not (tmp_path / "out").exists()
    make_project(manifest.replace('"12.9"', '"13.0"'))
    assert build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out").modules
