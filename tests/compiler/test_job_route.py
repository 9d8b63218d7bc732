"""Which way a module's images are made, by what its manifest says and its source includes."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.compiler.job import Recipe, choose_finisher
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.options import NvrtcOptions

CUB = ("cub/block/block_reduce.cuh",)
ROUTES = {
    "plain": ({}, "per-arch", (), "nvrtc"),
    "toolkit headers without constants": ({}, "per-arch", ("cuda_fp16.h", "mma.h"), "nvrtc"),
    "fixed-width integers": ({}, "per-arch", ("cuda/std/cstdint",), "nvrtc"),
    "CUB": ({}, "per-arch", CUB, "ptxas"),
    "libcu++": ({}, "per-arch", ("cuda_fp16.h", "cuda/std/cmath"), "ptxas"),
    "cooperative groups": ({}, "per-arch", ("cooperative_groups/reduce.h",), "ptxas"),
    "tables": ({}, "per-arch", (), "ptxas"),
    "tables and debug": ({"debug": True}, "per-arch", (), "nvrtc"),
    "debug": ({"debug": True}, "per-arch", CUB, "nvrtc"),
    "shared PTX": ({}, "ptx", (), "ptxas"),
    "shared PTX with CUB": ({}, "ptx", CUB, "ptxas"),
    "shared LTO-IR": ({}, "lto", CUB, "nvjitlink"),
    "LTO-IR": ({"lto": True}, "per-arch", CUB, "nvjitlink"),
    "LTO-IR of one run": ({"lto": True}, "lto", (), "nvjitlink"),
}


@pytest.mark.parametrize("row", ROUTES)
def test_route(row):
    """The table of ``choose_finisher``, row by row."""
    options, front_end, outside, route = ROUTES[row]
    found = choose_finisher(NvrtcOptions(**options), front_end=front_end, outside=outside, tables="tables" in row)
    assert found == route


TABLES = {
    "constant": ("__constant__ float t[3];", True),
    "constant in a macro": ("#define TABLE __constant__\nTABLE int t;", True),
    "device": ("static __device__ const float4 t[2] = {};", True),
    "device zero": ("__device__ int counter;", True),
    "template": ("template <class T> __device__ T t = T(1);", True),
    "constexpr array": ("namespace n { inline constexpr unsigned char s_box[] = {1, 2}; }", True),
    "aligned": ("alignas(16) __device__ __align__(16) int t[4] = {1};", True),
    "global": ("__constant__ int known[4]; namespace n { __device__ float4 seen; }", False),
    "beside a global": ("__constant__ int known[4]; __device__ float other;", True),
    "constexpr": ("constexpr int N = 3; const float PI = 3.14f;", False),
    "function": ("__device__ inline int f(int* p) { int t[3] = {}; return t[0]; }", False),
    "operator": ("struct A { __device__ A& operator=(const A&); __device__ int operator[](int i) const; };", False),
    "constexpr operator": ("struct A { constexpr int operator[](int i) const; };", False),
}


@pytest.mark.parametrize("case", TABLES)
def test_tables_are_seen_in_the_text_of_sources_and_headers(tmp_path, case):
    """Variables for device code, and arrays: what NVRTC keeps although no kernel uses it."""
    text, found = TABLES[case]
    (tmp_path / "k.cu").write_text(text)
    (tmp_path / "includes.cu").write_text('#include "k.cu"\n#include <cuda_fp16.h>\n')
    for source in ("k.cu", "includes.cu"):
        recipe = Recipe(module="m", sources=(source,), options=NvrtcOptions())
        assert read_recipe(recipe, tmp_path).declared.defines_tables(("known", "n::seen")) is found
