"""A warm cache accepts nothing that a cold build refuses: what is taken from it passes every check again."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.errors import BuildError, HatchCudaKernelsError
from hatch_cuda_kernels.manifest import load_manifest

KERNELS = """
#include "n.h"
#ifdef FAIL
#error the author said so
#endif
__device__ int table[4];
template <int N> __global__ void k(int* y) { *y = N; }
extern "C" __global__ void many(double* y) {
    double kept[64];
    for (int i = 0; i < 64; ++i) kept[i] = y[i];
    __syncthreads();
    for (int i = 0; i < 64; ++i) y[i] = kept[i] * kept[63 - i];
}
"""
BROKEN_FOR_90 = """
extern "C" __global__ void old(int* y) {
#if __CUDA_ARCH__ >= 900
    asm("no_such_instruction;");
#endif
}
"""
GOOD = "source: k.cu, instances: ['k<5 - -1>'], options: {maxrregcount: 32}"
#: What was built before, by the manifest that is refused afterwards; ``{}`` is what differs between the two.
CASES = {
    "other tokens of a name": ("{source: k.cu, instances: ['k<5 - -1>']}", "{source: k.cu, instances: ['k<5 --1>']}"),
    "a kernel that is not there": (f"{{{GOOD}}}", f"{{{GOOD}, kernels: [missing]}}"),
    "an instance that is not there": (f"{{{GOOD}}}", "{source: k.cu, instances: ['k<5 - -1>', 'm<1>']}"),
    "a variable that is not there": (f"{{{GOOD}}}", f"{{{GOOD}, globals: [missing]}}"),
    "one more spill than is allowed": (f"{{{GOOD}}}", f"{{{GOOD}, max_spill_bytes: 0}}"),
    "another architecture": ("{source: old.cu, arches: [sm_80]}", "{source: old.cu, arches: [sm_80, sm_90]}"),
    "PTX that nothing takes": ("{source: old.cu, arches: [sm_80]}", "{source: old.cu, arches: [compute_90]}"),
    "a macro": (f"{{{GOOD}}}", "{source: k.cu, options: {define: {FAIL: 1}}}"),
    "a promise": (f"{{{GOOD}}}", f"{{{GOOD}}}\nsupports: {{devices: ['9.0']}}"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("accepted", "refused"), CASES.values(), ids=CASES.keys())
def test_a_warm_build_refuses_what_a_cold_one_does(make_project, tmp_path, monkeypatch, accepted, refused):
    """The same problems, word for word, from an empty cache and from one that a near manifest has filled."""

    def build(module, cache):
        monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(tmp_path / cache))
        files = {"k.cu": KERNELS, "old.cu": BROKEN_FOR_90, "n.h": "#define COUNT 1\n"}
        root = make_project(f"schema: 1\narches: [sm_80]\nmodules:\n  m: {module}\n", **files)
        return build_store(load_manifest(root / "kernels.yaml"), tmp_path / f"store-{cache}", executor=None, workers=1)

    with pytest.raises(HatchCudaKernelsError) as cold:
        build(refused, "cold")
    build(accepted, "warm")
    with pytest.raises(type(cold.value)) as warm:
        build(refused, "warm")
    assert str(warm.value) == str(cold.value)


@pytest.mark.slow
def test_a_header_that_is_broken_and_mended(make_project, tmp_path, fresh_cache):
    """An edit back and forth is refused and accepted each time; the mended one compiles nothing."""
    manifest = f"schema: 1\narches: [sm_80]\nmodules:\n  m: {{{GOOD}}}\n"

    def build(text):
        root = make_project(manifest, **{"k.cu": KERNELS, "n.h": text})
        return build_store(load_manifest(root / "kernels.yaml"), tmp_path / "store", workers=1)

    build("#define COUNT 1\n")
    for _ in range(2):
        with pytest.raises(BuildError, match=r"n\.h:1:2: error: #error directive: broken"):
            build("#error broken\n")
        assert build("#define COUNT 1\n").compiled == frozenset()
