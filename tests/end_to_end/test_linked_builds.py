"""Linked modules through the front ends of a build: on a Dask cluster, and from an sdist to a wheel."""

from __future__ import annotations

import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest
from dask_cluster import run_cluster
from front_ends import PYPROJECT
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from linked_project import build_linked, write_linked
from raw_nvrtc import compile_raw

MANIFEST = """
    schema: 1
    arches: [sm_80, sm_90, compute_80]
    modules:
      two:
        sources: [kernels/blend.cu, kernels/tables.cu]
        instances: ["fill<float>"]
        globals: [table]
      tree: {source: kernels/tree.cu, libraries: [cudadevrt, lib/more.cubin], arches: [sm_90]}
"""


@pytest.fixture
def project(tmp_path):
    """Return a project with a library of its own and the hook for wheel and sdist."""
    (tmp_path / "project/lib").mkdir(parents=True)
    more = compile_raw("__device__ int more(int x) { return x + 1; }", "-dc", arch="sm_90").cubin
    (tmp_path / "project/lib/more.cubin").write_bytes(more)
    settings = PYPROJECT.replace("targets.wheel.hooks", "hooks")
    files = {"pyproject.toml": settings, "p/__init__.py": ""}
    return write_linked(tmp_path / "project", MANIFEST, **files)


def test_a_cluster_gives_the_same_store(project, tmp_path, slow, monkeypatch):
    """Sources are compiled and linked by workers; the libraries travel with the jobs."""
    pytest.importorskip("distributed")
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(tmp_path / "cache-here"))
    build_linked(project, tmp_path / "here")
    (tmp_path / "cluster").mkdir()
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(tmp_path / "cache-there"))
    with run_cluster(tmp_path / "cluster") as cluster:
        cluster.add()
        build_linked(project, tmp_path / "there", executor=f"dask:{cluster.address}")
    assert files_of(tmp_path / "there") == files_of(tmp_path / "here")


@pytest.mark.slow
def test_a_wheel_from_the_sdist_is_the_same(project, tmp_path, monkeypatch):
    """The sdist carries every source and library."""
    monkeypatch.chdir(project)
    wheel = build(WheelBuilder, project)
    with tarfile.open(build(SdistBuilder, project)) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    assert (unpacked / "lib/more.cubin").is_file()
    monkeypatch.chdir(unpacked)
    assert members(build(WheelBuilder, unpacked)) == members(wheel)


def build(builder, root):
    """Build an artifact in this process and return its path."""
    return Path(next(builder(str(root)).build(directory=str(root / "dist"), versions=["standard"])))


def members(wheel):
    """Return what is in a wheel."""
    with ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def files_of(folder):
    """Return what is in each file below a folder."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
