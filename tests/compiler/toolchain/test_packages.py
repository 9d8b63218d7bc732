"""What users are told to install: real packages, of the right major, in a command that a shell takes as it is."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from hatch_cuda_kernels.compiler.toolchain.packages import (
    at_least,
    bindings,
    build_extra,
    curand,
    exactly,
    extra,
    pinned,
    pip_install,
    reinstall_option,
    release_requirements,
    toolchain_requirements,
)

PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def names(requirements):
    """Return the names of requirements."""
    return {Requirement(text).name for text in requirements}


def test_a_shell_hands_pip_every_requirement_as_it_is():
    """Neither < nor * nor [ reaches the shell, whichever it is: double quotes are quotes everywhere."""
    asked = [extra("jit"), pinned("crt", (13, 0)), at_least("nvjitlink", (13, 0)), bindings(12), curand((12, 9))]
    asked += [exactly("nvrtc", 13, "13.0.88"), extra("build-cu12", "0.1.0"), exactly("nvjitlink", 12, "")]
    command = pip_install(*asked, options="--upgrade")
    assert shlex.split(command) == ["python3", "-m", "pip", "install", "--upgrade", *asked]
    assert "'" not in command
    assert len(names(asked)) == 7


def test_the_extras_bring_the_same_packages():
    """What an extra lists and what a build asks for are named alike."""
    assert names(EXTRAS["jit"]) == names(release_requirements((13, 0), finishers=["nvjitlink"])) - {"cuda-bindings"}
    assert bindings(12) in EXTRAS[build_extra(12)]
    assert {build_extra(12), build_extra(13)} <= EXTRAS.keys()
    assert Requirement(bindings(13)).specifier.contains("13.5.0")
    assert Requirement(PROJECT["dependencies"][0]).name == Requirement(bindings(13)).name == "cuda-bindings"


@pytest.mark.parametrize(("major", "suffix", "crt"), [(12, "-cu12", "nvcc"), (13, "", "crt")])
def test_packages_of_cuda_12_have_other_names(major, suffix, crt):
    """They end in the major, and the compiler's own headers come with nvcc."""
    headers = f"cccl {major}.0.85, crt {major}.0.88, cudart {major}.0.96"
    assert toolchain_requirements(f"{major}.0.88", f"{major}.0.87", headers) == [
        f"nvidia-cuda-nvrtc{suffix}=={major}.0.88",
        f"nvidia-nvjitlink{suffix}=={major}.0.87",
        f"nvidia-cuda-cccl{suffix}=={major}.0.85",
        f"nvidia-cuda-{crt}{suffix}=={major}.0.88",
        f"nvidia-cuda-runtime{suffix}=={major}.0.96",
    ]


def test_an_altered_library_is_installed_again():
    """Its version is that of the package, which pip would take for installed."""
    altered = "13.0.88+0123456789abcdef"
    assert toolchain_requirements(altered, altered) == ["nvidia-cuda-nvrtc==13.0.88", "nvidia-nvjitlink==13.0.88"]
    assert toolchain_requirements("13.0.88", ptxas=altered)[1:] == ["nvidia-cuda-nvcc==13.0.88"]
    assert (reinstall_option([altered, ""]), reinstall_option(["13.0.88"])) == ("--force-reinstall", "")


def test_what_is_no_version_of_a_package_is_not_asked_for():
    """Headers that were copied to their place have a digest for a version, and others none."""
    headers = "cccl 3000001.0123456789abcdef, crt 13.0.88, others 0123456789abcdef"
    assert toolchain_requirements("13.0.88", "", headers) == ["nvidia-cuda-nvrtc==13.0.88", "nvidia-cuda-crt==13.0.88"]
