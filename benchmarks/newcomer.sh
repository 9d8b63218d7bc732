#!/usr/bin/env bash
# From nothing to a verified wheel that loads, as newcomers do it: with a venv, with uv alone, with pipx beside a Python
# that refuses pip (PEP 668), and without a network; in an empty folder, around kernels in a src layout, with setuptools.
# What init prints is run as it is printed. Usage: newcomer.sh FOLDER; pipx and uv have to be on the PATH.
set -euo pipefail
checkout=$(cd "$(dirname "$0")/.." && pwd)
work=$1
mkdir -p "$work"
export HATCH_CUDA_KERNELS_CACHE_DIR="$work/cache"
unset PYTHONPATH VIRTUAL_ENV

project() { # FOLDER KIND: makes a project
  mkdir -p "$1" && cd "$1"
  [ "$2" = empty ] && return
  mkdir -p src/mylib && echo '"""A library."""' >src/mylib/__init__.py
  backend='["hatchling"]
build-backend = "hatchling.build"'
  [ "$2" = setuptools ] && backend='["setuptools>=77"]
build-backend = "setuptools.build_meta"'
  printf '[build-system]\nrequires = %s\n\n[project]\nname = "mylib"\nversion = "1.0"\nrequires-python = ">=3.11"\n' \
    "$backend" >pyproject.toml
  if [ "$2" = kernels ]; then
    mkdir -p src/cuda
    printf '%s\n' '#include <vector>' 'extern "C" __global__ void saxpy(float* y, const float* x, long long n, float a) {' \
      '    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;' '    if (i < n) y[i] = a * x[i] + y[i];' '}' \
      'void launch(float* y, const float* x, int n) { saxpy<<<(n + 255) / 256, 256>>>(y, x, n, 2.0f); }' >src/cuda/saxpy.cu
  fi
}

follow() { # runs init, then what it prints under "next:"
  "$@" | tee init.txt
  sed -n '/^next:/,$s/^  //p' init.txt >next.sh
  bash -euo pipefail next.sh >log.txt 2>&1 || { cat log.txt; exit 1; }
}

proof() { # installs the wheel elsewhere, verifies it and finds an image, without a compiler's help
  uv venv -q proof
  uv pip install -q --python proof dist/*.whl "nvidia-nvjitlink==13.0.*" "${@}"
  proof/bin/hatch-cuda-kernels verify dist/*.whl | tail -n 1
  proof/bin/python -c "
from hatch_cuda_kernels import open_store
print(open_store('mylib').find_image('saxpy', arch='sm_90', policy='prebuilt'))"
}

for kind in empty kernels setuptools; do
  echo "=== venv, $kind"
  (
    project "$work/venv-$kind/mylib" "$kind"
    python3 -m venv ../env && . ../env/bin/activate
    python -m pip install -q --disable-pip-version-check build "$checkout[build]" \
      "nvidia-cuda-nvrtc==13.0.*" "nvidia-cuda-cccl==13.0.*" "nvidia-cuda-crt==13.0.*" "nvidia-cuda-runtime==13.0.*"
    follow hatch-cuda-kernels init
    deactivate && proof
  )
  echo "=== uv alone, $kind"
  (
    project "$work/uv-$kind/mylib" "$kind"
    follow uvx -q --from "$checkout[build]" --with "nvidia-cuda-nvrtc==13.0.*" --with "nvidia-cuda-cccl==13.0.*" \
      --with "nvidia-cuda-crt==13.0.*" --with "nvidia-cuda-runtime==13.0.*" hatch-cuda-kernels init
    proof
  )
  echo "=== pipx beside a Python that refuses pip, $kind"
  (
    project "$work/pipx-$kind/mylib" "$kind"
    follow pipx run -q --spec "$checkout[build]" hatch-cuda-kernels init
    proof
  )
done

echo "=== no network, a folder of wheels"
(
  python3 -m venv "$work/offline/env" && cd "$work/offline"
  env/bin/python -m pip wheel -q --disable-pip-version-check --wheel-dir wheels build hatchling "$checkout[build,jit]" \
    "cuda-bindings>=13,<14" "nvidia-cuda-nvrtc==13.0.*" "nvidia-cuda-cccl==13.0.*" "nvidia-cuda-crt==13.0.*" \
    "nvidia-cuda-runtime==13.0.*" "nvidia-nvjitlink==13.0.*"
  export PIP_NO_INDEX=1 PIP_FIND_LINKS="$PWD/wheels" UV_OFFLINE=1 UV_FIND_LINKS="$PWD/wheels"
  offline=(unshare --map-root-user --net)
  "${offline[@]}" env/bin/python -m pip install -q build "hatch-cuda-kernels[build]"
  . env/bin/activate
  project "$work/offline/mylib" empty
  hatch-cuda-kernels init --json >init.json
  sed -i 's| @ file:[^"]*||' pyproject.toml
  "${offline[@]}" python -m build --wheel >log.txt 2>&1 || { cat log.txt; exit 1; }
  deactivate
  export -f proof && "${offline[@]}" bash -euo pipefail -c proof
)
