"""A project of two sources that need each other, and one whose kernel launches another; short ways to build them."""

from __future__ import annotations

import textwrap

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.manifest import load_manifest

__all__ = ["FILES", "build_linked", "objects_of", "problems_of_build", "write_linked"]

#: ``blend.cu`` calls a function and reads a variable of ``tables.cu``, which has a template.
FILES = {
    "kernels/blend.cu": """
        #include "shared.h"
        __constant__ float weights[4];
        extern "C" __global__ void blend(float* y, int n) {
            if (threadIdx.x < n) y[threadIdx.x] = shared::square(y[threadIdx.x]) + table[threadIdx.x & 3] * weights[0];
        }
        __global__ void common(float* y, float x) { *y = x; }
    """,
    "kernels/tables.cu": """
        #include "shared.h"
        __device__ int table[4] = {1, 2, 3, 4};
        __device__ int unused[100];
        namespace shared { __device__ float square(float x) { return x * x; } }
        template <class T> __global__ void fill(T* y, T x) { y[threadIdx.x] = x + table[0]; }
        __global__ void common(float* y, int x) { *y = x; }
    """,
    "kernels/shared.h": """
        #pragma once
        extern __device__ int table[4];
        namespace shared { __device__ float square(float x); }
    """,
    "kernels/tree.cu": """
        #include <cuda_device_runtime_api.h>
        extern "C" __global__ void leaf(int* y) { atomicAdd(y, 1); }
        extern "C" __global__ void tree(int* y, int children) { leaf<<<children, 32>>>(y); }
    """,
}


def write_linked(folder, manifest, **files):
    """Write the project with a manifest and more files, named with ``/`` as ``_of_``, and return its folder."""
    for name, text in {**FILES, **{name.replace("_of_", "/"): text for name, text in files.items()}}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    (folder / "kernels.yaml").write_text(textwrap.dedent(manifest))
    return folder


def build_linked(project, out, **options):
    """Build a project's store and return its report."""
    return build_store(load_manifest(project / "kernels.yaml"), out, **options)


def problems_of_build(project):
    """Return every problem of a build that fails, as text."""
    try:
        build_linked(project, project / "out")
    except BuildError as error:
        return list(error.problems)
    return []


def objects_of(image):
    """Return the symbols of a CUBIN that the project's sources define: functions and variables."""
    from hatch_cuda_kernels.compiler.binary.cubin import read_cubin

    found = read_cubin(image)
    assert not found.relocatable
    return {*found.kernels}, {*found.variables}
