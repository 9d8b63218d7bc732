"""With the bindings and the compiler of CUDA 12: devices that CUDA 13 dropped, and drivers for CUDA 12.

Runs in an environment of its own, ``hatch run cu12:test``: one process has the bindings of one major.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.compiler.binary.cubin import read_cubin
from hatch_cuda_kernels.compiler.toolchain.libraries import supported_numbers
from hatch_cuda_kernels.compiler.toolchain.packages import own
from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.errors import ToolchainError
from hatch_cuda_kernels.manifest import load_manifest, parse_manifest
from hatch_cuda_kernels.plan import check_release

EXAMPLE = Path(__file__).parents[2] / "example_project"
ARCHES = "arches: [sm_61, sm_70, sm_72, sm_80, compute_60]"
SUPPORTS = '\nsupports: {devices: ["6.0", "6.1", "7.0", "7.2", "7.5", "8.6", "9.0"], driver: "12.9"}\n'

pytestmark = pytest.mark.cuda12


@pytest.fixture(scope="module")
def old_store(tmp_path_factory, isolation):
    """Return the example's store for devices from 6.0 on, with its promise proven by the build."""
    text = (EXAMPLE / "kernels.yaml").read_text().partition("# Optional: the build proves this")[0]
    text = text.replace('cuda: "13.0"', 'cuda: "12.9"') + SUPPORTS
    text = re.sub("^arches: .*", ARCHES, text, flags=re.MULTILINE)
    out = tmp_path_factory.mktemp("old") / "_kernels"
    report = build_store(parse_manifest(text, root=EXAMPLE), out)
    assert len(report.modules) == 5
    return open_store(out)


def test_the_compiler_is_of_12_9():
    """NVRTC of 12.9 compiles for Maxwell, Pascal and Volta, which no later one does."""
    assert load_toolchain().release == (12, 9)
    assert {60, 61, 62, 70, 72} <= supported_numbers()
    assert load_toolchain().headers.startswith("cccl 12.9.")


@pytest.mark.parametrize("kernel", ["saxpy", "block_sum<float, 128>", "softmax<32>", "sort_tiles<int, 128, 16>"])
@pytest.mark.parametrize("arch", ["sm_61", "sm_70", "sm_72", "sm_80"])
def test_cubins_are_for_their_devices(old_store, kernel, arch):
    """Each image is ELF for its own SM, headers of the toolkit and CUB or not."""
    image = old_store.find_image(kernel, arch=arch, driver=(12, 0), policy="prebuilt")
    assert (image.origin, image.kind, str(image.arch)) == ("prebuilt", "cubin", arch)
    assert f"sm_{read_cubin(image.data).sm}" == arch


CHOICES = {
    ("sm_60", (12, 9)): "compute_60 ptx",
    ("sm_62", (12, 9)): "compute_60 ptx",  # an integrated part takes no CUBIN of another
    ("sm_75", (12, 2)): "sm_70 cubin",
    ("sm_89", (12, 2)): "sm_80 cubin",
    ("sm_90", (12, 9)): "compute_60 ptx",
    ("sm_90", (13, 0)): "compute_60 ptx",
}


@pytest.mark.parametrize(("arch", "driver"), CHOICES)
def test_other_devices_get_what_runs_on_them(old_store, arch, driver):
    """PTX of 12.9 is for drivers of 12.9 and newer, those of CUDA 13 among them; CUBINs are for all of CUDA 12."""
    image = old_store.find_image("saxpy", arch=arch, driver=driver, policy="prebuilt")
    assert f"{image.arch} {image.kind}" == CHOICES[arch, driver]


def test_ptx_is_finished_for_an_older_driver(old_store, fresh_cache):
    """Where the driver could not, nvJitLink 12.9 finishes PTX for a device that has no CUBIN."""
    for origin in ("jitted", "cached"):
        image = old_store.find_image("saxpy", arch="sm_90", driver=(12, 4))
        assert (image.origin, str(image.arch), read_cubin(image.data).sm) == (origin, "sm_90", 90)


def test_an_instance_is_compiled_for_an_old_device(old_store, fresh_cache):
    """What no list has is compiled by NVRTC 12.9 for Pascal, too, and recorded."""
    for origin in ("jitted", "cached"):
        image = old_store.find_image("block_sum<float, 512>", arch="sm_61", driver=(12, 0))
        assert (image.origin, read_cubin(image.data).sm) == (origin, 61)


def test_a_manifest_for_cuda_13_is_refused(make_project):
    """The bindings would load the wrong libraries: the message names the extra."""
    root = make_project('{schema: 1, cuda: "13.0", arches: [sm_90], modules: {a: {source: saxpy.cu}}}')
    with pytest.raises(ToolchainError, match="the cuda-bindings found load the libraries of CUDA 12") as caught:
        check_release(load_manifest(root / "kernels.yaml"))
    assert f'"{own("build")}"' in caught.value.fix
