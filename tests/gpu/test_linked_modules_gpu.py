"""Modules of several sources on a device: what one source defines works in another, and kernels launch kernels."""

from __future__ import annotations

import numpy as np
import pytest
from linked_project import build_linked, write_linked

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.driver import call

MANIFEST = """
    schema: 1
    arches: [{arch}]
    modules:
      two:
        sources: [kernels/blend.cu, kernels/tables.cu]
        instances: ["fill<float>"]
        globals: [table, weights]
{options}
      tree: {{source: kernels/tree.cu, libraries: [cudadevrt], arches: [{real}]}}
"""
OPTIONS = {"objects": "", "LTO-IR": "        options: {lto: true}"}
CHILDREN = 5


@pytest.fixture(params=OPTIONS)
def build(request, tmp_path, fresh_cache):
    """Return a function that builds the store for an architecture, and a real one for what has no PTX."""

    def build_for(arch, real):
        manifest = MANIFEST.format(arch=arch, real=real, options=OPTIONS[request.param])
        project = write_linked(tmp_path / "project", manifest)
        build_linked(project, project / "out")
        return open_store(project / "out")

    return build_for


def set_float(variable, value):
    """Copy a number to a device variable."""
    host = np.array([value], np.float32)
    call("cuMemcpyHtoD", variable.address, host.ctypes.data, host.nbytes)


def assert_works(store, on_device, origin, kind):
    """Check that the kernels of both sources run, and share their functions and variables."""
    y = on_device(np.arange(4, dtype=np.float32))
    blend = store.get_kernel("blend")
    assert (blend.image.origin, blend.image.kind) == (origin, kind)
    set_float(store.get_global("weights"), 10)
    blend[1, 32](y, 4)
    assert y.numpy().tolist() == [10, 21, 34, 49]
    store.get_kernel("fill<float>")[1, 4](y, 2.5)
    assert y.numpy().tolist() == [3.5] * 4
    host = np.array([7], np.int32)
    call("cuMemcpyHtoD", store.get_global("table").address, host.ctypes.data, host.nbytes)
    store.get_kernel("fill<float>")[1, 4](y, 0.5)
    assert y.numpy().tolist() == [7.5] * 4


def test_a_prebuilt_module_of_two_sources(build, native, on_device):
    """One image has both, and one variable is what the host sets and both sources read."""
    assert_works(build(native, native), on_device, "prebuilt", "cubin")


def test_ptx_of_two_sources(build, native, on_device):
    """The driver assembles it as one program."""
    assert_works(build("compute_75", native), on_device, "prebuilt", "ptx")


def test_an_architecture_that_is_not_listed(build, foreign, on_device):
    """Both sources are compiled for this device, and linked."""
    assert_works(build(foreign, foreign), on_device, "jitted", "cubin")


@pytest.mark.parametrize("origin", ["prebuilt", "jitted"])
def test_a_kernel_that_launches_kernels(build, native, foreign, on_device, origin):
    """With the device runtime linked while the wheel was built, or here."""
    arch = native if origin == "prebuilt" else foreign
    tree = build(arch, arch).get_kernel("tree")
    assert tree.image.origin == origin
    y = on_device(np.zeros(1, np.int32))
    tree[1, 1](y, CHILDREN)
    assert y.numpy().tolist() == [32 * CHILDREN]
