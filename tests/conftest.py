"""Fixtures: an isolated cache, small projects, and the example project's store built once."""

from __future__ import annotations

import os
import textwrap
from functools import cache
from typing import TYPE_CHECKING

import pytest
from front_ends import EXAMPLE, REPOSITORY, build_wheel

from hatch_cuda_kernels.compiler.toolchain.wheels import bindings_major
from hatch_cuda_kernels.driver import no_device_reason

if TYPE_CHECKING:
    from pathlib import Path

SAXPY = """
extern "C" __global__ void saxpy(float* y, const float* x, unsigned int n, float a) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""


@pytest.fixture(scope="session", autouse=True)
def isolation(tmp_path_factory):
    """Give the whole run a cache folder of its own and an environment without the package's variables."""
    saved = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("HATCH_CUDA_KERNELS_")}
    os.environ["HATCH_CUDA_KERNELS_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    yield
    del os.environ["HATCH_CUDA_KERNELS_CACHE_DIR"]
    os.environ.update(saved)


@pytest.fixture
def fresh_cache(tmp_path, monkeypatch):
    """Return the path of an empty cache folder that this test alone uses."""
    path = tmp_path / "fresh-cache"
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(path))
    return path


@pytest.fixture
def make_project(tmp_path):
    """Return a function that writes a project's files and returns its folder."""

    def make(manifest: str, /, **files: str) -> Path:
        root = tmp_path / "project"
        root.mkdir(exist_ok=True)
        (root / "kernels.yaml").write_text(textwrap.dedent(manifest))
        for name, text in {"saxpy.cu": SAXPY, **files}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return root

    return make


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a text file under the test's folder, making its parents."""

    def write_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    return write_file


@pytest.fixture(scope="session")
def example_store(tmp_path_factory, isolation):
    """Return the folder of the example project's store, built in this process; for CUDA 12 with its bindings."""
    from hatch_cuda_kernels.build import build_store
    from hatch_cuda_kernels.manifest import parse_manifest

    out = tmp_path_factory.mktemp("example") / "_kernels"
    text = (EXAMPLE / "kernels.yaml").read_text()
    if bindings_major() == 12:
        text = text.replace('cuda: "13.0"', 'cuda: "12.9"')
    build_store(parse_manifest(text, root=EXAMPLE), out)
    return out


@pytest.fixture(scope="session")
def plugin_wheel(tmp_path_factory):
    """Return the folder with this package's own wheel, as an index of packages offers it."""
    out = tmp_path_factory.mktemp("plugin")
    build_wheel(REPOSITORY, out)
    return out


@pytest.fixture(scope="session")
def device():
    """Mark the test ``gpu``: it is skipped, with the driver's reason, where there is no CUDA device."""


def pytest_collection_modifyitems(items):
    """Mark tests by the fixtures they use."""
    for item in items:
        if "device" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.gpu)


def pytest_runtest_setup(item):
    """Skip what cannot run here; in one place, so that the summary has a line a reason in place of one a test."""
    for name, why_not in (("gpu", _no_gpu), ("cuda12", _no_cuda12)):
        if item.get_closest_marker(name) and (reason := why_not()):
            pytest.skip(reason)


@cache
def _no_gpu():
    reason = no_device_reason()
    return reason and f"needs a CUDA device: {reason}"


@cache
def _no_cuda12():
    return "" if bindings_major() == 12 else "needs cuda-bindings 12: hatch run cu12:test"
