#!/usr/bin/env bash
# The tests of CuPy's RawModule, of a part of cupyx and of cuSignal on a GPU, twice: with their own compile path, and with kernels from wheels
# built with this package. Needs CuPy, SciPy, Numba, pytest and pytest-timeout there, and in CARRIED what gpu/prepare.py made, with the
# wheels of pytest-benchmark and py-cpuinfo in CARRIED/wheels. Writes a record into OUT.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
carried=${CARRIED:?the folder that gpu/prepare.py made} out=${OUT:?a folder for the record}
carried=$(cd "$carried" && pwd) work=$(mktemp -d)
mkdir -p "$out" "$work/site"
for wheel in "$carried"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$work/site"; done
export PYTHONPATH="$work/site:$here/gpu:$carried/cusignal" PYTHONDONTWRITEBYTECODE=1 HATCH_CUDA_KERNELS_JIT=0
export PYTEST_ADDOPTS="-q -ra --tb=short --maxfail=2000 -p no:cacheprovider"
# CuPy's tests ask nvcc for its version when they are collected; tests with the nvcc backend are left out.
if ! command -v nvcc > /dev/null; then
  printf '#!/bin/sh\necho "Cuda compilation tools, release 13.0, V13.0.88"\n' > "$work/nvcc" && chmod +x "$work/nvcc"
  export NVCC="$work/nvcc"
fi
{
  date -u +"%Y-%m-%d %H:%M UTC"
  nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader
  python3 --version
  python3 -m pip list 2> /dev/null | grep -i -E "^(cuda|cupy|numba|numpy|scipy|pytest|nvidia-cuda-(nvrtc|runtime|cccl))"
  ls -l "$carried"/wheels
} 2>&1 | tee "$out/machine.txt"
run() { # NAME SECONDS FOLDER STORE ARGUMENTS...: pytest, with CuPy's cache empty at first
  local name=$1 limit=$2 folder=$3 store=$4; shift 4
  (cd "$folder" && CUPY_CACHE_DIR="$work/cache-$name" PROJECT_STORE="$store" timeout "$limit" \
    python3 -m pytest "$@" --junitxml="$work/$name.xml" > "$out/$name.txt" 2>&1)
  echo "$name: status $?, $(tail -1 "$out/$name.txt")"
}
raw=(cupy_tests/core_tests/test_raw.py -m "not slow and not multi_gpu" -k "not (NVCC or nvcc or TestRawGridSync or TestRawPicklable)")
run cupy-own 150 "$carried/cupy" "" "${raw[@]}"
run cupy-store 150 "$carried/cupy" cupy_test_kernels -p cupy_kernels_plugin "${raw[@]}"
cupyx=(cupyx_tests -m "not slow and not multi_gpu" --session-timeout=75)
run cupyx-own 110 "$carried/cupy" "" "${cupyx[@]}"
run cupyx-store 110 "$carried/cupy" cupyx_kernels -p cupy_kernels_plugin "${cupyx[@]}"
signal=(-p newer_standard_plugin cusignal/test -c /dev/null --rootdir "$carried/cusignal" -m "not cpu" --benchmark-disable)
run cusignal-own 120 "$carried/cusignal" "" "${signal[@]}"
run cusignal-store 120 "$carried/cusignal" cusignal_kernels -p cusignal_kernels_plugin "${signal[@]}"
python3 "$here/gpu/compare.py" "$work"/cupy-own.xml "$work"/cupy-store.xml "$work"/cupyx-own.xml \
  "$work"/cupyx-store.xml "$work"/cusignal-own.xml "$work"/cusignal-store.xml | tee "$out/compare.txt"
grep -h -E "^(hits|compiled by CuPy|kernels from the store|images:|  compiled by CuPy)" "$out"/*-store.txt | cut -c1-300 | tee "$out/counts.txt"
