"""The toolkit release: the packages it takes, and what is said when another one is found."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.toolchain.packages import own
from hatch_cuda_kernels.compiler.toolchain.toolchain import Toolchain, load_toolchain
from hatch_cuda_kernels.errors import BuildError, ToolchainError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.plan import check_release


@pytest.fixture
def check(make_project, monkeypatch):
    """Return a function that checks a manifest of one module, as though another NVRTC were here."""

    def run(text, *, nvrtc=None, bindings=None):
        root = make_project(f"{{schema: 1, {text}, modules: {{a: {{source: saxpy.cu}}}}}}")
        if nvrtc is not None:
            monkeypatch.setattr("hatch_cuda_kernels.plan.plan.find_toolchain", lambda: Toolchain(nvrtc))
        if bindings is not None:
            monkeypatch.setattr("hatch_cuda_kernels.plan.plan.bindings_major", lambda: bindings)
        return check_release(load_manifest(root / "kernels.yaml"))

    return run


def test_the_release_found_is_the_one_stated(check):
    """Nothing is said where all is well."""
    major, minor = load_toolchain().release
    assert check(f'cuda: "{major}.{minor}", arches: [sm_90, compute_90]') == []


def test_ptx_of_a_newer_release_is_a_warning(check):
    """An unstated release takes the NVRTC found, and PTX that asks for a newer driver is told with the way out."""
    [warning] = check("arches: [sm_90, compute_80]", nvrtc="13.2.51")
    assert warning.startswith("PTX written by NVRTC 13.2 needs a driver for CUDA 13.2 or newer; ")
    assert warning.endswith('with cuda: "13.0" in kernels.yaml it would need 13.0')


def test_cubins_of_a_newer_release_need_no_warning(check):
    """Without PTX the release found asks for no newer driver."""
    assert check("arches: [sm_90]", nvrtc="13.2.51") == []


def test_an_architecture_this_nvrtc_lacks_fails_the_build(make_project, monkeypatch):
    """An architecture that only a newer NVRTC compiles is reported at each module that lists it."""
    root = make_project(
        "{schema: 1, arches: [sm_107, sm_90], modules: {a: {source: saxpy.cu}, b: {source: saxpy.cu, arches: [sm_80]}}}"
    )
    manifest = load_manifest(root / "kernels.yaml")
    assert SmArch(10, 7) in manifest.modules[0].arches
    with pytest.raises(BuildError) as caught:
        check_release(manifest)
    [problem] = caught.value.problems
    assert problem.startswith("kernels.yaml:1:")
    assert problem.endswith(f"modules.a: sm_107 is unknown to NVRTC {load_toolchain().nvrtc}")


BINDINGS = {
    "12.9 with the bindings of 13": ('cuda: "12.9", arches: [sm_70]', 13, "build-cu12", '"cuda-bindings>=12.9,<13"'),
    "13.0 with the bindings of 12": ('cuda: "13.0", arches: [sm_90]', 12, "build", '"cuda-bindings>=13,<14"'),
}


@pytest.mark.parametrize(("text", "bindings", "extra", "requirement"), BINDINGS.values(), ids=BINDINGS.keys())
def test_bindings_of_another_major_name_the_extra(check, text, bindings, extra, requirement):
    """Whoever has the wrong bindings reads what to write into pyproject.toml, and what to install without isolation."""
    with pytest.raises(
        ToolchainError, match=f"the cuda-bindings found load the libraries of CUDA {bindings}"
    ) as caught:
        check(text, bindings=bindings)
    assert f'write "{own(extra)}" into build-system.requires' in caught.value.fix
    assert requirement in caught.value.fix
