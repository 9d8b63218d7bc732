"""Nothing that no kernel refers to is in a finished image, whichever route made it; the exceptions are listed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hatch_cuda_kernels import NvrtcOptions, compile_to_cubin, open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.compiler.binary.cubin import read_cubin
from hatch_cuda_kernels.compiler.binary.ptx import read_ptx
from hatch_cuda_kernels.manifest import load_manifest

SOURCE = """
__device__ int zero[1000];
__device__ int plain[100] = {1, 2, 3};
static __constant__ int table[100] = {1, 2, 3};
namespace n { __constant__ float hidden[30] = {1}; constexpr int squares[] = {1, 4, 9}; }
template <class T> __device__ T value[20] = {T(1)};
template __device__ int value<int>[20];
__device__ int* pointer = plain;
__device__ void dead() { zero[0] = 1; }
__device__ void (*calls)() = dead;
__device__ int used[10] = {1};
__device__ int behind[10] = {3};
__device__ int* used_pointer = behind;
__device__ int set[4];
extern "C" __global__ void k(int* p) { *p = used[*p] + *used_pointer; }
extern "C" __global__ void grow(int* p) { used_pointer = p + used[*p]++; }
"""
NEEDED = {"used", "behind", "used_pointer"}
ROUTES = {
    "per-arch": ("front_end: per-arch", "sm_80, sm_90, compute_80"),
    "shared PTX": ("front_end: ptx", "sm_80, sm_90, compute_80"),
    "shared LTO-IR": ("front_end: lto", "sm_80, sm_90, compute_80"),
    "LTO-IR": ("options: {lto: true}", "sm_80, sm_90"),
    "lineinfo": ("options: {lineinfo: true}", "sm_80, sm_90"),
}


def variables(data, kind):
    """Return the variables of an image, by lowered name."""
    return {*(read_cubin(data) if kind == "cubin" else read_ptx(data.decode())).variables}


@pytest.fixture
def built(make_project, tmp_path):
    """Return a function that builds the source by a route and returns its store."""

    def build(more, arches):
        module = f"{{source: k.cu, globals: [set], {more}}}"
        root = make_project(f"{{schema: 1, arches: [{arches}], modules: {{m: {module}}}}}")
        (root / "k.cu").write_text(SOURCE)
        build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out", workers=1)
        return open_store(tmp_path / "out")

    return build


@pytest.mark.parametrize("route", ROUTES)
def test_an_image_has_what_its_kernels_need(built, route, slow):
    """Variables that kernels lead to, and those under ``globals``: no table, no function of one, nothing besides."""
    store = built(*ROUTES[route])
    found = [store.find_image("k", arch=arch, policy="prebuilt") for arch in ("sm_80", "sm_90")]
    assert [variables(image.data, image.kind) for image in found] == [{*NEEDED, "set"}] * len(found)


def test_shipped_lto_ir_is_finished_like_a_builds(built, fresh_cache, slow):
    """An architecture that only LTO-IR serves gets an image without what the kernels do not need."""
    store = built("options: {lto: true}", "compute_80")
    image = store.find_image("k", arch="sm_90")
    assert (image.origin, variables(image.data, "cubin")) == ("jitted", {*NEEDED, "set"})


@pytest.mark.slow
def test_what_debuggers_show_stays(built):
    """With ``debug: true``, the image has every variable, as NVRTC writes it."""
    image = built("options: {debug: true}", "sm_90").find_image("k", arch="sm_90")
    assert variables(image.data, "cubin") > {*NEEDED, "set", "zero", "table"}


@pytest.mark.slow
def test_at_run_time_ptxas_has_no_part(built, fresh_cache):
    """A compile at run time gives NVRTC's own CUBIN: what it gives must not depend on whether ptxas is installed."""
    image = built("front_end: per-arch", "sm_80").find_image("k", arch="sm_90", policy="exact")
    assert (image.origin, "zero" in variables(image.data, "cubin")) == ("jitted", True)
    assert "zero" in variables(compile_to_cubin(SOURCE, arch="sm_90").image, "cubin")
    lto = replace(NvrtcOptions(), lto=True)
    assert variables(compile_to_cubin(SOURCE, arch="sm_90", options=lto).image, "cubin") == NEEDED
