"""``__managed__`` variables are listed like others, though NVRTC takes no name expression of one."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.store import StoreReader

MANIFEST = """
    schema: 1
    arches: [sm_80, sm_90]
    modules:
      toy: {{source: toy.cu, front_end: {front_end}, globals: [counter, "n::table", scale, "n::lut", last]}}
"""
SOURCE = """
#define ON_BOTH __managed__
{before} __managed__ int counter = 3; {behind}
__device__ float scale;
namespace n {{ ON_BOTH double table[4]; inline namespace v2 {{ ON_BOTH int lut; }} }}
namespace n {{ namespace v2 {{ namespace deep {{ ON_BOTH int last; }} }} }}
using n::deep::last;
__global__ void k(int* p) {{ *p = 1; }}
"""


SYMBOLS = ("counter", "_ZN1n5tableE", "scale", "_ZN1n2v23lutE", "_ZN1n2v24deep4lastE")


@pytest.mark.parametrize(("front_end", "before"), [("per-arch", "static"), ("lto", ""), ("ptx", "extern int x;")])
def test_a_managed_variable_is_in_every_image(make_project, fresh_cache, front_end, before):
    """By its symbol, also where no kernel uses it."""
    root = make_project(MANIFEST.format(front_end=front_end), **{"toy.cu": SOURCE.format(before=before, behind="")})
    build_store(load_manifest(root / "kernels.yaml"), root / "out")
    reader = StoreReader(root / "out")
    for record in reader.module("toy").images:
        image = reader.read_image("toy", record)
        assert all(f"\0{symbol}\0".encode() in image for symbol in SYMBOLS)


@pytest.mark.parametrize("before", ["namespace {", "namespace n { static"])
def test_a_managed_variable_without_a_known_symbol_is_an_error(make_project, fresh_cache, before):
    """In an unnamed namespace, or static in another one."""
    source = SOURCE.format(before=before, behind="}")
    root = make_project(MANIFEST.format(front_end="per-arch"), **{"toy.cu": source})
    with pytest.raises(
        BuildError, match="not in the image: &counter; a __managed__ variable in a namespace is found if"
    ):
        build_store(load_manifest(root / "kernels.yaml"), root / "out")
