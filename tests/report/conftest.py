"""Two wheels whose kernels differ, and the pages that report on them."""

from __future__ import annotations

import zipfile

import pytest

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.manifest import load_manifest

MANIFEST = """\
schema: 1
arches: [sm_80, sm_90, compute_80]
options: {maxrregcount: REGISTERS}
supports: {devices: ["8.0", "9.0"], driver: "13.0"}
max_wheel_size: 100000
modules:
  sums: {source: sums.cu, instances: ["sum<{N}>"], matrix: {N: [4, 64]}, packing: none}
  saxpy: {source: saxpy.cu, max_spill_bytes: 8}
"""
SUMS = """
template <int N> __global__ void sum(const float* x, float* y) {
    float all[N];
    for (int i = 0; i < N; ++i) all[i] = x[i * blockDim.x + threadIdx.x];
    __syncthreads();
    float total = 0;
    for (int i = 0; i < N; ++i) for (int j = 0; j < N; ++j) total += all[i] * all[j] * (i ^ j);
    for (int i = 0; i < N; ++i) y[i * blockDim.x + threadIdx.x] = total * all[i];
}
"""
SAXPY = 'extern "C" __global__ void saxpy(float* y, const float* x, float a) { y[threadIdx.x] += a * x[threadIdx.x]; }'


def make_wheel(folder, version, registers):
    """Return a wheel of a small store, compiled with a bound on registers."""
    root = folder / version
    root.mkdir()
    (root / "kernels.yaml").write_text(MANIFEST.replace("REGISTERS", str(registers)))
    (root / "sums.cu").write_text(SUMS)
    (root / "saxpy.cu").write_text(SAXPY)
    store = root / "small" / "_kernels"
    build_store(load_manifest(root / "kernels.yaml"), store)
    wheel = folder / f"small-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(store.rglob("*")):
            archive.write(path, path.relative_to(root))
        archive.writestr("small/__init__.py", "")
        archive.writestr(f"small-{version}.dist-info/METADATA", f"Name: small\nVersion: {version}\n")
    return wheel


@pytest.fixture(scope="package")
def wheels(tmp_path_factory, isolation):
    """Return an older wheel and a newer one whose kernels spill."""
    folder = tmp_path_factory.mktemp("wheels")
    return make_wheel(folder, "1.0", 255), make_wheel(folder, "1.1", 24)


@pytest.fixture(scope="package")
def pages(wheels, tmp_path_factory):
    """Return the report of the older wheel, and that of the newer one against it."""
    folder = tmp_path_factory.mktemp("pages")
    one, two = folder / "one.html", folder / "two.html"
    assert main(["report", str(wheels[0]), "-o", str(one)]) == 0
    assert main(["report", str(wheels[1]), "--against", str(wheels[0]), "-o", str(two)]) == 0
    return one, two
