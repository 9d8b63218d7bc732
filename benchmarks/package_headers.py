"""Headers of packages as indexes have them: what a small kernel reads of them, how long that takes, what is shipped.

    python benchmarks/package_headers.py WHEELS --out FILE.md

WHEELS is a folder with wheels of cupy-cuda13x, nvidia-cutlass, nvidia-mathdx and nvidia-cuda-cccl-cu12, of any Python:
``pip download --no-deps``. Each is unpacked by itself, and a store is built in a new process with an empty cache; then
it is built again, and verified by a rebuild where the package is not. Needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Final, NamedTuple

from hatch_cuda_kernels.store import StoreReader


class Case(NamedTuple):
    """A kernel that uses a package."""

    wheel: str
    """How the name of the wheel's file begins."""
    include: str
    source: str
    options: str = ""


CASES: Final = (
    Case(
        "cupy_cuda13x",
        "{package: cupy, folder: _core/include}",
        "#include <cupy/complex.cuh>\n"
        'extern "C" __global__ void k(complex<float>* y, complex<float> a) { y[threadIdx.x] *= exp(a); }\n',
    ),
    Case(
        "nvidia_cutlass",
        "{package: cutlass_library, folder: source/include}",
        "#include <cute/tensor.hpp>\nusing namespace cute;\n"
        'extern "C" __global__ void k(float* y, float const* x, int m, int n) {\n'
        "    Tensor a = make_tensor(make_gmem_ptr(x), make_layout(make_shape(m, n), GenRowMajor{}));\n"
        "    Tensor b = make_tensor(make_gmem_ptr(y), make_layout(make_shape(m, n), GenColMajor{}));\n"
        "    b(threadIdx.x, threadIdx.y) = a(threadIdx.x, threadIdx.y);\n}\n",
        ", default_device: true",
    ),
    Case(
        "nvidia_mathdx",
        "{package: nvidia.mathdx, folder: include}, {package: nvidia.mathdx, folder: external/cutlass/include}",
        "#include <cufftdx.hpp>\nusing namespace cufftdx;\n"
        "using F = decltype(Block() + Size<128>() + Type<fft_type::c2c>() + Direction<fft_direction::forward>() +\n"
        "                   Precision<float>() + ElementsPerThread<8>() + FFTsPerBlock<1>() + SM<900>());\n"
        'extern "C" __global__ void k(F::value_type* data) {\n'
        "    F::value_type own[F::storage_size];\n    extern __shared__ char shared[];\n"
        "    for (int i = 0; i < 8; i++) own[i] = data[threadIdx.x + 16 * i];\n    F().execute(own, shared);\n"
        "    for (int i = 0; i < 8; i++) data[threadIdx.x + 16 * i] = own[i];\n}\n",
    ),
    Case(
        "nvidia_cuda_cccl_cu12",
        "{package: nvidia, folder: cuda_cccl/include}",
        "#include <cub/block/block_reduce.cuh>\n"
        'extern "C" __global__ void k(float* y) {\n    using Reduce = cub::BlockReduce<float, 256>;\n'
        "    __shared__ Reduce::TempStorage temp;\n    y[0] = Reduce(temp).Sum(y[threadIdx.x]);\n}\n",
    ),
)
MANIFEST: Final = """schema: 1
arches: [sm_90]
options: {{include: [{include}]{options}}}
modules: {{k: {{source: k.cu}}}}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    lines = [
        "| package | licence, by its metadata | files shipped | bytes | first build (s) | again (s) | verified |",
        "|---|---|---|---|---|---|---|",
    ]
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            lines.append(measure(case, args.wheels, Path(folder)))
        print(lines[-1], flush=True)
        args.out.write_text("\n".join([*lines, ""]))
    return 0


def measure(case: Case, wheels: Path, folder: Path) -> str:
    """Return the row of a case."""
    [wheel] = wheels.glob(f"{case.wheel}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    (folder / "kernels.yaml").write_text(MANIFEST.format(include=case.include, options=case.options))
    (folder / "k.cu").write_text(case.source)
    times = []
    for _ in range(2):
        start = time.perf_counter()
        run(folder, "build", "--out", "store", site=folder / "site")
        times.append(time.perf_counter() - start)
    [index] = StoreReader(folder / "store").modules()
    [record] = index.packages
    shipped = [folder / "store" / index.source_folder / path for path in index.files if path.startswith("@")]
    size = sum(path.stat().st_size for path in shipped)
    verified = json.loads(run(folder, "verify", "store", "--rebuild", "--json"))["ok"]
    name = f"{record['distribution']} {record['version']}"
    seconds = (f"{one:.1f}" for one in times)
    return f"| {name} | {record['license']} | {len(shipped)} | {size:,} | {' | '.join(seconds)} | {verified} |"


def run(folder: Path, *arguments: str, site: Path | None = None) -> str:
    """Run the command line in a folder, with a folder of packages if one is given."""
    environ = os.environ | {"HATCH_CUDA_KERNELS_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(site or "")}
    command = [sys.executable, "-m", "hatch_cuda_kernels", *arguments]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    raise SystemExit(main())
