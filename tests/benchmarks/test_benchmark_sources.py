"""The projects that the build benchmark compiles."""

import sys
from pathlib import Path

import pytest
from raw_nvrtc import compile_raw

from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.manifest import load_manifest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from build_sources import FRONT_ENDS, MATRICES, SOURCES, cub_sources, light_sources, write_project

SIZES = {"5x6": (5, 6), "30x8": (30, 8), "cub10x8": (10, 8)}


def files_of(folder):
    """Return the bytes of every file below a folder, by its path there."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("matrix", MATRICES)
def test_a_project_is_the_same_each_time(matrix, tmp_path):
    """Two runs can be compared: they compiled the same bytes."""
    write_project(matrix, tmp_path / "one")
    write_project(matrix, tmp_path / "two")
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


def test_what_was_there_is_replaced(tmp_path):
    """A project written over another has nothing of it."""
    write_project("30x8", tmp_path / "project")
    write_project("5x6", tmp_path / "project")
    write_project("5x6", tmp_path / "alone")
    assert files_of(tmp_path / "project") == files_of(tmp_path / "alone")


@pytest.mark.parametrize("front_end", FRONT_ENDS)
@pytest.mark.parametrize("matrix", MATRICES)
def test_manifests_say_what_the_name_says(matrix, front_end, tmp_path):
    """Each manifest is valid and has the matrix's modules and architectures, and PTX for the lowest."""
    project = write_project(matrix, tmp_path)
    manifest = load_manifest(tmp_path / project.manifest(front_end))
    sources, arches = SIZES[matrix]
    assert len(manifest.modules) == sources
    for module in manifest.modules:
        assert module.front_end == front_end
        assert len([arch for arch in module.arches if not arch.virtual]) == arches
        assert [str(arch) for arch in module.arches if arch.virtual] == [f"compute_{min(project.arches)}"]


@pytest.mark.parametrize("matrix", MATRICES)
def test_a_changed_header_concerns_some_modules(matrix, tmp_path):
    """The rebuild that is measured is neither of everything nor of nothing."""
    project = write_project(matrix, tmp_path)
    assert 0 < len(project.changed_modules) < len(project.modules)


def test_no_source_asks_for_its_architecture():
    """One front-end run serves all architectures only where the code is the same for all."""
    for path in SOURCES.rglob("*.cu*"):
        assert "__CUDA_ARCH__" not in path.read_text(), path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "source", "arch"),
    [
        pytest.param("softmax_1", light_sources()["softmax_1"], "sm_75", id="light"),
        pytest.param("reduce", cub_sources()["reduce"], "sm_120", id="cub", marks=pytest.mark.slow),
    ],
)
def test_sources_compile(name, source, arch):
    """A light source and a CUB-like one compile, for the lowest architecture and the highest."""
    include = [f"-I{path}" for path in (SOURCES / "include", *load_toolchain().include_dirs)]
    result = compile_raw(source.text, "-std=c++17", *include, arch=arch, expressions=source.instances)
    assert result.ok, result.log
    assert result.cubin
    assert len(set(result.lowered.values())) == len(source.instances)
