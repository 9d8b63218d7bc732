"""The ladder with real images on a real driver: the table proposes, the driver decides."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hatch_cuda_kernels.errors import NoImageError
from hatch_cuda_kernels.runtime.ladder import compile_rungs

#: ``extern "C" saxpy`` and the rest of ``basics.cu``, written by NVRTC 13.5 for compute_80: ``.version 9.5``.
NEWER_PTX = Path(__file__).with_name("basics.nvrtc-13.5.compute_80.ptx")


def run_saxpy(store, on_device):
    """Launch saxpy, compare with numpy, and return the kernel."""
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    out = on_device(y)
    kernel = store.get_kernel("saxpy")
    kernel[4, 256](out, on_device(x), 1000, 2.5)
    np.testing.assert_allclose(out.numpy(), 2.5 * x + y)
    return kernel


def test_prebuilt_cubin(build, native, on_device):
    """An exact CUBIN is taken first and runs."""
    kernel = run_saxpy(build(native, "compute_75"), on_device)
    assert (kernel.image.origin, str(kernel.image.arch), kernel.image.kind) == ("prebuilt", native, "cubin")


def test_prebuilt_ptx(build, foreign, on_device):
    """Without a CUBIN for the device, the driver assembles the PTX."""
    kernel = run_saxpy(build(foreign, "compute_75"), on_device)
    assert (kernel.image.origin, kernel.image.kind) == ("prebuilt", "ptx")


def test_unlisted_architecture_is_compiled_and_recorded(build, foreign, native, on_device, fresh_cache):
    """A store without this architecture compiles once; another store object then finds the record."""
    store = build(foreign)
    kernel = run_saxpy(store, on_device)
    assert (kernel.image.origin, str(kernel.image.arch)) == ("jitted", native)
    assert store.explain("saxpy").chosen.origin == "cached"


def test_second_process_hits_the_cache(build, foreign, fresh_cache):
    """What one process compiled, the next one loads."""
    store = build(foreign)
    code = (
        "import sys; from hatch_cuda_kernels import open_store; from pathlib import Path;"
        "print(open_store(Path(sys.argv[1])).get_kernel('saxpy').image.origin)"
    )
    command = [sys.executable, "-c", code, str(store.path)]
    origins = [subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip() for _ in range(2)]
    assert origins == ["jitted", "cached"]


def test_unlisted_instance_is_compiled_under_its_real_name(build, native, on_device, fresh_cache):
    """An instance the manifest does not list is compiled, found by its lowered name, and runs."""
    out = on_device(np.zeros(4, np.int32))
    kernel = build(native).get_kernel("fill<int, 4>")
    kernel[1, 32](out, -7)
    assert kernel.lowered == "_Z4fillIiLi4EEvPT_S0_"
    assert out.numpy().tolist() == [-7] * 4


def test_foreign_cubin_that_claims_to_fit_is_passed_over(build, relabel, native, foreign, on_device):
    """An index that lies is found out by the driver (209), and the PTX below serves."""
    store = relabel(build(foreign, "compute_75"), foreign, arch=native)
    kernel = run_saxpy(store, on_device)
    assert kernel.image.kind == "ptx"
    refused = store.explain("saxpy").candidates[0]
    assert not refused.accepted
    assert "CUDA_ERROR_NO_BINARY_FOR_GPU (209)" in refused.reason


def test_ptx_newer_than_the_driver_is_refused_by_the_table(build, relabel, driver, on_device, fresh_cache):
    """PTX of an ISA that the driver does not know is not tried; the JIT to a CUBIN serves."""
    if driver >= (13, 5):
        pytest.skip(f"the driver (CUDA {driver}) knows this PTX")
    store = relabel(build("compute_80"), "compute_80", data=NEWER_PTX.read_bytes(), ptx_isa="9.5")
    kernel = run_saxpy(store, on_device)
    assert kernel.image.origin == "jitted"
    reasons = [candidate.reason for candidate in store.explain("saxpy").candidates]
    assert any("written as PTX ISA 9.5" in reason for reason in reasons)


def test_ptx_newer_than_the_driver_is_refused_by_the_driver(build, relabel, driver, on_device, fresh_cache):
    """Where the index hides the ISA, the driver says 222 and the next rung serves."""
    if driver >= (13, 5):
        pytest.skip(f"the driver (CUDA {driver}) knows this PTX")
    store = relabel(build("compute_80"), "compute_80", data=NEWER_PTX.read_bytes())
    kernel = run_saxpy(store, on_device)
    assert kernel.image.origin == "jitted"
    assert "CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)" in str(store.explain("saxpy"))


def test_no_image_names_every_candidate(build, foreign, monkeypatch, fresh_cache):
    """Where nothing runs and compiling is off, the error lists all candidates and what to do."""
    monkeypatch.setenv("HATCH_CUDA_KERNELS_JIT", "0")
    with pytest.raises(NoImageError) as caught:
        build(foreign).get_kernel("saxpy")
    assert [candidate.origin for candidate in caught.value.candidates] == ["prebuilt", "cached", "jitted"]
    assert "unset HATCH_CUDA_KERNELS_JIT" in str(caught.value)


def test_ptx_newer_than_the_driver_is_finished_by_a_new_enough_nvjitlink(
    build, relabel, driver, on_device, fresh_cache, monkeypatch
):
    """Without NVRTC, what has the PTX's own release makes a CUBIN of it that the older driver runs; it is recorded."""
    from hatch_cuda_kernels.compiler.toolchain.libraries import nvjitlink_version

    if driver >= (13, 5) or nvjitlink_version() < (13, 5):
        pytest.skip(f"needs nvJitLink 13.5 (here {nvjitlink_version()}) and an older driver (here {driver})")
    monkeypatch.setattr(compile_rungs, "_key_and_nvrtc", lambda request: "NVRTC is not installed (here)")
    store = relabel(build("compute_80"), "compute_80", data=NEWER_PTX.read_bytes(), ptx_isa="9.5")
    assert store.explain("saxpy").chosen.reason.startswith("compute_80 ptx finished by ")
    assert run_saxpy(store, on_device).image.origin == "jitted"
    assert store.explain("saxpy").chosen.origin == "cached"
