"""Fixtures for tests on a CUDA device: real stores for it, and device memory without any framework."""

from __future__ import annotations

import ctypes
import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.driver import (
    call,
    compute_capability,
    current_context_id,
    current_device,
    driver_version,
    primary_context,
)
from hatch_cuda_kernels.store.texts import DIGESTS_FILE, digests_text

SOURCE = """
#include "scale.h"
__constant__ float d_bias[4];
extern "C" __global__ void saxpy(float* y, const float* x, int n, float a) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void bias(float* y) { y[threadIdx.x] = SCALE * d_bias[threadIdx.x]; }
template <typename T, int N> __global__ void fill(T* y, T value) { if (threadIdx.x < N) y[threadIdx.x] = value; }
"""

MANIFEST = """
schema: 1
arches: [{arches}]
modules:
  basics:
    source: basics.cu
    instances: ["fill<float, 8>"]
    globals: [d_bias]
    launch: {{saxpy: {{grid: "ceil_div(n, 256)", block: 256}}}}
    options: {{include: [include]}}
"""


class DeviceArray:
    """A float32 array on the device, by the CUDA array interface."""

    def __init__(self, values):
        host = np.ascontiguousarray(values)
        self.shape, self.dtype, self.nbytes = host.shape, host.dtype, max(host.nbytes, 1)
        self.address = int(call("cuMemAlloc", self.nbytes))
        call("cuMemcpyHtoD", self.address, host.ctypes.data, host.nbytes)

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "version": 3}

    def numpy(self):
        """Return the values, after everything launched so far."""
        host = np.empty(self.shape, self.dtype)
        call("cuCtxSynchronize")
        call("cuMemcpyDtoH", host.ctypes.data, self.address, host.nbytes)
        return host


def pytest_collection_modifyitems(items):
    """Use JAX last in this process.

    With several devices, whatever it makes or frees leaves that device current, and Python frees things in a circle at
    any time. It also ends captures of other frameworks.
    """
    files = {"test_both_frameworks_gpu.py", "test_jax_call.py"}
    items.sort(key=lambda item: item.path.name in files or "jax" in item.name)


@pytest.fixture(autouse=True)
def context(device):
    """Make device 0's context current, as a framework would have. JAX leaves the device current that it used last."""
    if current_device().ordinal != 0:
        call("cuCtxSetCurrent", primary_context(0))
    return current_context_id()


@pytest.fixture
def on_device():
    """Return the function that puts values on the device."""
    return DeviceArray


@pytest.fixture(scope="session")
def native(device):
    """Return this device's real architecture, such as ``sm_90``."""
    major, minor = compute_capability(0)
    return f"sm_{major}{minor}"


@pytest.fixture(scope="session")
def foreign(native):
    """Return a real architecture that this device cannot run."""
    return "sm_80" if not native.startswith("sm_8") else "sm_90"


@pytest.fixture(scope="session")
def driver(device):
    """Return the CUDA version of the driver."""
    return driver_version()


@pytest.fixture
def build(tmp_path):
    """Return a function that builds a store of the ``basics`` module for some architectures."""
    from hatch_cuda_kernels.build import build_store
    from hatch_cuda_kernels.manifest import load_manifest

    def build_for(*arches, name="store"):
        root = tmp_path / f"{name}-project"
        (root / "include").mkdir(parents=True)
        (root / "include" / "scale.h").write_text("#define SCALE 2.0f\n")
        (root / "basics.cu").write_text(SOURCE)
        (root / "kernels.yaml").write_text(MANIFEST.format(arches=", ".join(arches)))
        out = tmp_path / name
        build_store(load_manifest(root / "kernels.yaml"), out)
        return open_store(out)

    return build_for


@pytest.fixture
def relabel():
    """Return a function that changes a store's images behind its back: an index that lies, with true digests."""

    def change(store, listed, **labels):
        index_path = Path(store.path) / "basics" / "index.json"
        index = json.loads(index_path.read_text())
        record = next(image for image in index["images"] if image["arch"] == listed)
        data = labels.pop("data", None)
        if data is not None:
            (index_path.parent / record["file"]).write_bytes(data)
            record |= {"sha256": sha256(data).hexdigest(), "bytes": len(data)}
        record |= labels
        index_path.write_text(json.dumps(index))
        (Path(store.path) / DIGESTS_FILE).write_text(digests_text(Path(store.path)))
        return open_store(store.path)

    return change


@pytest.fixture
def stream(context):
    """Yield a non-blocking stream of the driver."""
    handle = call("cuStreamCreate", 1)
    yield handle
    call("cuStreamDestroy", handle)


@pytest.fixture
def pinned():
    """Return a function that makes a numpy array in pinned host memory."""

    def make(values):
        values = np.ascontiguousarray(values)
        pointer = call("cuMemHostAlloc", values.nbytes, 0)
        buffer = (ctypes.c_char * values.nbytes).from_address(int(pointer))
        array = np.frombuffer(buffer, dtype=values.dtype).reshape(values.shape)
        array[...] = values
        return array

    return make
