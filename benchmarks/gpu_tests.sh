#!/usr/bin/env bash
# Run the GPU tests and the example on a machine with a CUDA device; leave a record in the folder given.
# Needs on PYTHONPATH or installed: hatch-cuda-kernels, the example wheel, pytest, numpy; torch, CuPy, JAX and
# cuda.core are used where they are.
set -uo pipefail
out=${1:?usage: benchmarks/gpu_tests.sh FOLDER}
root=$(cd "$(dirname "$0")/.." && pwd)
# Tests are run from copies, so that no source tree shadows the installed packages.
work=$(mktemp -d)
cp -r "$root/tests" "$work/tests" && cp -r "$root/example_project/tests" "$work/example_tests"
cp -r "$root/examples" "$work/"
cp -r "$root/docs" "$root/README.md" "$root/CHANGELOG.md" "$root/pyproject.toml" "$work/"
cd "$work" || exit 1
{
  date -u +"%Y-%m-%d %H:%M UTC"
  nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader
  python3 --version
  python3 -m pip list 2>/dev/null | grep -i -E "^(cuda|cupy|torch |triton|numba|numpy|jax|nvidia-cuda-(nvrtc|runtime)|nvidia-nvjitlink|hatch|example)"
} | tee "$out/machine.txt"
HATCH_CUDA_KERNELS_CACHE_DIR="$work/cache" python3 -m example_project 2>&1 | tee "$out/example.txt"
python3 -m pytest -v --tb=short tests/gpu 2>&1 | tee "$out/tests-gpu.txt" | tail -60
# No kernel of the example is compiled, and its requests are kept: they prove its wheel on any machine.
watch=(-p hatch_cuda_kernels.pytest_plugin --no-jit --kernel-trace "$(cd "$out" && pwd)/example-requests.jsonl")
(cd example_tests && HATCH_CUDA_KERNELS_CACHE_DIR="$work/no-cache" python3 -m pytest -q --tb=short "${watch[@]}" \
  -p no:cacheprovider -c /dev/null . 2>&1) | tee "$out/tests-example.txt" | tail -25
