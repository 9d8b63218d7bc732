"""Modules by the values of axes on a device: listed or not, each has its own types, constants and variables."""

from __future__ import annotations

import numpy as np
import pytest

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.driver import call
from hatch_cuda_kernels.manifest import load_manifest

MANIFEST = """
    schema: 1
    arches: [{arch}]
    modules:
      "scale_{{T}}_{{N}}":
        source: scale.cu
        matrix: {{T: [float, int], N: [2], K: [1]}}
        globals: [own::factor]
        instances: ["fill<{{N}}, {{K}}>"]
        launch: {{scale: {{grid: 1, block: n}}, "fill<{{N}}, {{K}}>": {{grid: 1, block: "{{N}} * 2"}}}}
        options: {{define: {{TYPE: "{{T}}", COUNT: "{{N}}"}}}}
"""
SOURCE = """
    namespace own { __device__ int factor = 1; }
    extern "C" __global__ void scale(TYPE* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= COUNT * own::factor; }
    template <int N, int K> __global__ void fill(TYPE* x) { x[threadIdx.x] = N + (TYPE)K / 2; }
"""


@pytest.fixture
def store(make_project, tmp_path, native, fresh_cache):
    """Return a store for the device with two combinations."""
    root = make_project(MANIFEST.format(arch=native), **{"scale.cu": SOURCE})
    build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out")
    return open_store(tmp_path / "out")


@pytest.mark.parametrize(("kind", "count", "dtype", "origin"), [
    ("float", 2, np.float32, "prebuilt"), ("int", 2, np.int32, "prebuilt"),
    ("double", 3, np.float64, "jitted"), ("long long", "3", np.int64, "jitted"),
])  # fmt: skip
def test_each_combination_computes_with_its_values(store, on_device, kind, count, dtype, origin):
    """By the manifest's rules, with its own variable, and from the cache the next time."""
    module = store.module("scale", T=kind, N=count)
    x = on_device(np.arange(6, dtype=dtype))
    scale = module.get_kernel("scale")
    assert scale.image.origin == origin
    scale(x, 6)
    assert x.numpy().tolist() == [int(count) * i for i in range(6)]
    five = np.array([5], np.int32)
    call("cuMemcpyHtoD", module.get_global("own::factor").address, five.ctypes.data, five.nbytes)
    scale(x, 6)
    assert x.numpy().tolist() == [5 * int(count) ** 2 * i for i in range(6)]
    y = on_device(np.zeros(2 * int(count), dtype))
    module.instantiate("fill", K=1)(y)
    half = dtype(1) / 2 if issubclass(dtype, np.floating) else 0
    assert y.numpy().tolist() == [int(count) + half] * (2 * int(count))
    again = open_store(store.path).module("scale", T=kind, N=count).get_kernel("scale")
    assert again.image.origin == ("cached" if origin == "jitted" else origin)
