#!/usr/bin/env bash
# The tests of projects that load .cu files with CuPy, on a GPU, twice: with their own compile path, and with kernels from
# wheels built with this package; and the first use in a fresh process both ways. Needs CuPy, SciPy, pytest and
# pytest-timeout there, and in CARRIED what gpu/prepare_loaders.py made. Writes a record into OUT. The arguments are its
# parts, each of which takes less than ten minutes: tests (the default), engines, first. A project that was not prepared is
# left out.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
carried=${CARRIED:?the folder that gpu/prepare_loaders.py made} out=${OUT:?a folder for the record}
carried=$(cd "$carried" && pwd) work=$(mktemp -d)
mkdir -p "$out" "$work/site" "$work/logs"
for wheel in "$carried"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$work/site"; done
python3 -m compileall -q "$work/site" "$carried" > "$work/compiled" || true # as an installer does
paths="$work/site:$here/gpu:$carried/ptypy:$carried/httomolibgpu:$carried/tomobar:$carried/cucim/python/cucim/src"
export PYTHONPATH="$paths" HATCH_CUDA_KERNELS_JIT=0 NUMEXPR_MAX_THREADS=4 OMP_NUM_THREADS=4
export PYTEST_ADDOPTS="-q -ra --tb=short --maxfail=2000 -p no:cacheprovider -p newer_standard_plugin -p loader_plugin"
{
  date -u +"%Y-%m-%d %H:%M UTC"
  nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader
  python3 --version
  python3 -m pip list 2> /dev/null | grep -i -E "^(cuda|cupy|numpy|scipy|pytest|h5py|scikit-image|nvidia-cuda-(nvrtc|runtime|cccl))"
  ls -l "$carried"/wheels
} 2>&1 | tee "$out/machine.txt"
xml=()
run() { # PROJECT SECONDS FOLDER ARGUMENTS...: pytest both ways side by side, with CuPy's cache empty at first
  local project=$1 limit=$2 folder=$3 way; shift 3
  [ -d "$folder" ] || return 0
  for way in own store; do
    local store=""; [ $way = store ] && store=${project}_kernels
    (cd "$folder" && PROJECT=$project PROJECT_STORE=$store CUPY_CACHE_DIR="$work/cache-$project-$way" timeout "$limit" \
      python3 -m pytest "$@" --session-timeout=$((limit - 20)) --junitxml="$work/$project-$way.xml" \
      > "$work/logs/$part-$project-$way.txt" 2>&1
    echo "$project $way: status $?, $(tail -1 "$work/logs/$part-$project-$way.txt")") &
    xml+=("$work/$project-$way.xml")
  done
}
once=(--timeout=90)
cupy_tests=test/accelerate_tests/cuda_cupy_tests
tests() { # without those of free memory, of which one ends in an illegal access, either way
  run httomolibgpu 520 "$carried/httomolibgpu" tests -k "not calc_mem_big" -c /dev/null --rootdir . "${once[@]}"
  run ptypy 520 "$carried/ptypy" $cupy_tests --ignore=$cupy_tests/multi_gpu_test.py --ignore=$cupy_tests/engine_test.py \
    --ignore=$cupy_tests/WASP_test.py -c /dev/null --rootdir . "${once[@]}"
  run cucim 520 "$carried/cucim/python/cucim" src/cucim/core/operations/morphology/tests \
    src/cucim/skimage/feature/tests/test_blob.py -k "not (edt_3d or nd_blob or blob_dog or blob_log)" -c /dev/null --rootdir . \
    "${once[@]}" # those take half a minute to minutes each, on the CPU
  wait
  compare tests
}
engines() { # each of these tests runs an engine on the CPU, too
  run ptypy 280 "$carried/ptypy" $cupy_tests/engine_test.py $cupy_tests/WASP_test.py -c /dev/null --rootdir . "${once[@]}"
  wait
  compare engines
}
compare() { # PART: what ended otherwise
  python3 "$here/gpu/compare.py" "${xml[@]}" | tee "$out/compare-$1.txt"
  (cd "$work/logs" && grep -E "^loads " "$1"-*.txt) | tee "$out/counts-$1.txt"
}
first_use() { # PROJECT WAY CACHE-FOLDER LABEL
  local store=""; [ "$2" = store ] && store=${1}_kernels
  PROJECT=$1 PROJECT_STORE=$store CUPY_CACHE_DIR=$3 timeout 60 python3 "$here/gpu/first_use.py" 2> "$work/error" > "$work/line" \
    || tail -2 "$work/error"
  tail -1 "$work/line" | sed "s/^{/{\"project\": \"$1\", \"way\": \"$2\", \"cache\": \"$4\", /" | tee -a "$out/first_use.jsonl"
}
first() {
  for project in ptypy httomolibgpu cucim; do
    [ -d "$carried/$project" ] || continue
    for turn in 1 2 3; do
      for way in own store; do
        first_use $project $way "$work/first-$project-$way-$turn" empty
        for again in 1 2; do first_use $project $way "$work/first-$project-$way-$turn" warm; done
      done
    done
  done
}
for part in "${@:-tests}"; do "$part"; done
tar -C "$work" -czf "$out/logs-${1:-tests}.tgz" logs
