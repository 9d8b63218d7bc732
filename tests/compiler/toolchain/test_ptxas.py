"""Which ptxas goes with NVRTC: of a wheel, or of a toolkit on this machine; and what it takes when there is none."""

from __future__ import annotations

import shutil

import pytest
from wheels import digest

from hatch_cuda_kernels.compiler.toolchain import libraries
from hatch_cuda_kernels.compiler.toolchain.libraries import bindings_major, find_library, find_ptxas, require_ptxas
from hatch_cuda_kernels.compiler.toolchain.packages import release_requirements
from hatch_cuda_kernels.compiler.toolchain.toolchain import Toolchain, load_toolchain
from hatch_cuda_kernels.errors import ToolchainError

needs_13 = pytest.mark.skipif(bindings_major() == 12, reason="the site is made as wheels of CUDA 13 are")
SAYS = "#!/bin/sh\necho 'Cuda compilation tools, release {}, V{}'\n"


@pytest.fixture
def elsewhere(monkeypatch):
    """Take away every ptxas that this machine has outside of wheels."""
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "")


@pytest.fixture
def toolkit(write, elsewhere):
    """Return a function that puts a toolkit's ptxas somewhere; it runs only to state its version."""

    def put(folder, version):
        path = write(f"{folder}/bin/ptxas", SAYS.format(version.rpartition(".")[0], version))
        path.chmod(0o755)
        return path

    return put


@pytest.fixture
def no_wheel(monkeypatch):
    """Let no wheel bring ptxas."""
    monkeypatch.setattr(libraries, "find_library", lambda stem: None)


@pytest.fixture
def wheel(write, tmp_path, monkeypatch):
    """Return a function that installs a wheel with ptxas where this process looks first."""

    def install(version, text="the assembler"):
        record = f"nvidia/cu13/bin/ptxas,{digest(b'the assembler')},13\n"
        write(f"site/nvidia_cuda_nvcc-{version}.dist-info/RECORD", record)
        monkeypatch.syspath_prepend(tmp_path / "site")
        return write("site/nvidia/cu13/bin/ptxas", text)

    return install


def test_the_wheel_of_the_release_that_compiles_brings_it():
    """The tests' own environment has NVRTC and ptxas of one release."""
    nvrtc = load_toolchain().nvrtc
    found = require_ptxas(nvrtc)
    assert found.path == find_library("ptxas")
    assert found.version.split(".")[:2] == nvrtc.split(".")[:2]


@needs_13
def test_a_wheel_of_another_patch_will_do_and_of_another_release_will_not(wheel, elsewhere):
    """A requirement pins the release, so the patch level is the package index's business."""
    path = wheel("13.0.99")
    assert find_ptxas("13.0.88")[:2] == (path, "13.0.99")
    assert find_ptxas("13.0.88+0123456789abcdef")[:2] == (path, "13.0.99")
    assert find_ptxas("13.1.12") is None


@needs_13
def test_an_altered_program_is_another_version(wheel, elsewhere):
    """A file that is not the listed one has a digest after the version."""
    wheel("13.0.88", "somebody's own")
    version = find_ptxas("13.0.88").version
    assert version.startswith("13.0.88+")
    assert len(version) == len("13.0.88+") + 16


@pytest.mark.parametrize("variable", ["CUDA_HOME", "CUDA_PATH", "PATH"])
def test_a_toolkits_is_taken_for_its_own_build_only(toolkit, no_wheel, monkeypatch, tmp_path, variable):
    """Nothing pins the version of a toolkit, so it has to be that of NVRTC to the last number."""
    path = toolkit("cuda", "13.0.88")
    monkeypatch.setenv(variable, str(tmp_path / "cuda" / ("bin" if variable == "PATH" else "")))
    assert find_ptxas("13.0.88")[:2] == (path, "13.0.88")
    assert find_ptxas("13.0.99") is None


def test_a_fitting_toolkit_is_taken_behind_one_that_does_not_fit(toolkit, no_wheel, monkeypatch, tmp_path):
    """One that does not run, and one of another release, are passed over."""
    toolkit("broken", "13.0.88").write_text("no program\n")
    toolkit("new", "13.4.12")
    path = toolkit("old", "12.9.86")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "broken"))
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "new"))
    monkeypatch.setenv("PATH", str(tmp_path / "old/bin"))
    assert find_ptxas("12.9.86").path == path


@pytest.mark.parametrize(
    ("nvrtc", "requirement"), [("13.0.88", "nvidia-cuda-nvcc==13.0.*"), ("12.9.86", "nvidia-cuda-nvcc-cu12==12.9.*")]
)
def test_a_missing_ptxas_names_the_package(no_wheel, elsewhere, nvrtc, requirement):
    """The command installs ptxas of NVRTC's release, the same that a build asks for."""
    with pytest.raises(ToolchainError, match=r"ptxas of CUDA 1[23]\.[09] is not installed") as caught:
        require_ptxas(nvrtc)
    assert caught.value.fix == f'python3 -m pip install "{requirement}"'
    assert release_requirements(tuple(map(int, nvrtc.split(".")[:2])), finishers=["ptxas"]).count(requirement) == 1


def test_it_counts_where_it_finishes_a_compile_and_nowhere_else(no_wheel, toolkit, monkeypatch, tmp_path):
    """Keys and records of other compiles do not change when ptxas comes, goes or changes."""
    monkeypatch.setenv("PATH", str(toolkit("cuda", "13.0.88").parent))
    found = Toolchain("13.0.88", nvjitlink="13.0.88")
    own, linked, assembled = (found.of_compile(None, finisher=tool) for tool in ("nvrtc", "nvjitlink", "ptxas"))
    assert own.to_json() == {"nvrtc": "13.0.88", "headers": ""}
    assert linked.to_json() == {**own.to_json(), "nvjitlink": "13.0.88"}
    assert assembled.to_json() == {**own.to_json(), "ptxas": "13.0.88"}
    assert assembled.key_part == {**own.key_part, "ptxas": "13.0.88"}
    shutil.rmtree(tmp_path / "cuda")
    assert found.of_compile(None, finisher="nvrtc") == own
    assert assembled.of_compile(None, finisher="ptxas") == assembled
