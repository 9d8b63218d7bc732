"""Which source of a module a name is compiled in."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.source.closure_reader import read_closure
from hatch_cuda_kernels.source.owners import Owners

FILES = {
    "a.cu": """
        #include "shared.h"
        // fill and table are only mentioned here: __global__ void fill(int);
        extern __device__ int table[4];
        namespace one { template <class T> __global__ void twin(T* y) {} }
        __constant__ float scale;
    """,
    "b.cu": """
        #include "shared.h"
        __device__ int table[4];
        template <class T, int N> __global__ void __launch_bounds__(N) fill(T* y) { int scale = 3; y[0] = scale; }
        namespace two { struct Mine {}; template <class T> __global__ void twin(T* y) {} }
    """,
    "shared.h": "template <class T> __global__ void common(T* y) {}\n",
}


@pytest.fixture
def owners(write, tmp_path):
    """Return the owners of a module of two sources."""
    for name, text in FILES.items():
        write(name, text)
    return Owners([read_closure(tmp_path, name) for name in ("a.cu", "b.cu")])


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("fill<float, 8>", 1),
        ("one::twin<int>", 0),
        ("two::twin<int>", 1),
        ("twin<two::Mine>", 1),
        ("common<int>", 0),
        ("filll<float, 8>", 1),
        ("nowhere", 0),
    ],
)
def test_a_kernel_belongs_to_the_source_that_declares_it(owners, name, owner):
    """Namespaces and arguments decide between two; a header's belongs to the first; a typo to the closest."""
    assert owners.of_kernel(name) == owner


@pytest.mark.parametrize(("name", "owner"), [("scale", 0), ("table", 0), ("nowhere", 0)])
def test_a_variable_belongs_to_a_source_that_declares_it(owners, name, owner):
    """Local variables do not count; a declaration will do as well as the definition."""
    assert owners.of_variable(name) == owner


def test_one_source_has_every_name(write, tmp_path):
    """Nothing has to be read for that."""
    write("a.cu", "")
    assert Owners([read_closure(tmp_path, "a.cu")]).of_kernel("anything<int>") == 0
