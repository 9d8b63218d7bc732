"""Which way a module's images are made, by what its manifest says and its source includes."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.compiler.route import Route, choose_route
from hatch_cuda_kernels.options import NvrtcOptions

CUB = ("cub/block/block_reduce.cuh",)
ROUTES = {
    "plain": ({}, "per-arch", (), Route("cubin", "nvrtc")),
    "toolkit headers without constants": ({}, "per-arch", ("cuda_fp16.h", "mma.h"), Route("cubin", "nvrtc")),
    "fixed-width integers": ({}, "per-arch", ("cuda/std/cstdint",), Route("cubin", "nvrtc")),
    "CUB": ({}, "per-arch", CUB, Route("ptx", "ptxas")),
    "libcu++": ({}, "per-arch", ("cuda_fp16.h", "cuda/std/cmath"), Route("ptx", "ptxas")),
    "cooperative groups": ({}, "per-arch", ("cooperative_groups/reduce.h",), Route("ptx", "ptxas")),
    "debug": ({"debug": True}, "per-arch", CUB, Route("cubin", "nvrtc")),
    "shared PTX": ({}, "ptx", (), Route("ptx", "ptxas", shared=True)),
    "shared PTX with CUB": ({}, "ptx", CUB, Route("ptx", "ptxas", shared=True)),
    "shared LTO-IR": ({}, "lto", CUB, Route("ltoir", "nvjitlink", shared=True)),
    "LTO-IR": ({"lto": True}, "per-arch", CUB, Route("ltoir", "nvjitlink")),
    "LTO-IR of one run": ({"lto": True}, "lto", (), Route("ltoir", "nvjitlink", shared=True)),
}


@pytest.mark.parametrize(("options", "front_end", "outside", "route"), ROUTES.values(), ids=ROUTES.keys())
def test_route(options, front_end, outside, route):
    """The table of ``choose_route``, row by row."""
    assert choose_route(NvrtcOptions(**options), front_end=front_end, outside=outside) == route
