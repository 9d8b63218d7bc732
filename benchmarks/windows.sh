#!/usr/bin/env bash
# Whether Windows builds what Linux builds, byte for byte: Python for Windows and NVIDIA's wheels for Windows under Wine,
# beside the same packages here. Builds the example and the benchmark sources on both, verifies there a wheel that was
# built here, and runs the quick tests there. The interpreter is that of Panda3D's wheel, which has it for programs that
# it packs; the standard library's Python files are those of a Python 3.11 here. Needs uv, unzip, and the packages
# wine64 and gcc-mingw-w64-x86-64 of Debian 12 or newer. Nothing outside FOLDER changes.
# Usage: windows.sh FOLDER [build] [verify] [test FOLDER_OF_TESTS...]; without a step, all of them and all quick tests.
set -euo pipefail
source "$(dirname "$0")/other_system.bash"
there=$work/there python=$work/python
export WINEPREFIX=$work/prefix WINEDEBUG=-all

on_windows() { # ARGUMENTS of Python there; it takes neither a file nor /dev/null as its output
  HATCH_CUDA_KERNELS_CACHE_DIR="Z:${there//\//\\}\\cache" wine "$python/python.exe" "$@" 2>&1 </dev/null | cat
}

on_both() { # FOLDER ARGUMENTS: hatch-cuda-kernels in a folder, here and there, one after the other
  local folder=$1
  shift
  (cd "$here/$folder" && time HATCH_CUDA_KERNELS_CACHE_DIR=$here/cache "$here/env/bin/hatch-cuda-kernels" "$@")
  (cd "$there/$folder" && time on_windows -m hatch_cuda_kernels "$@")
}

if [ ! -e "$there" ]; then
  uv venv --quiet --python 3.11 "$here/env"
  # This numpy is the newest that asks nothing of the C library that Wine 8 lacks.
  uv pip install --quiet --python "$here/env" "${packages[@]}" "numpy<2"
  uv pip freeze --python "$here/env" | grep -v "^hatch-cuda-kernels" >"$work/packages.txt"
  uv pip install --quiet --python "$here/env" --python-platform x86_64-pc-windows-msvc --no-deps \
    --target "$work/panda3d" panda3d==1.10.16
  mkdir -p "$python/DLLs"
  cp "$work"/panda3d/deploy_libs/*.pyd "$python/DLLs"
  cp "$work"/panda3d/deploy_libs/{python311,VCRUNTIME140,libcrypto-3,libssl-3,libffi-8,sqlite3}.dll "$python"
  cp -r "$("$here/env/bin/python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')" "$python/Lib"
  rm -rf "$python"/Lib/{site-packages,test,lib-dynload}
  x86_64-w64-mingw32-gcc -municode -O1 -o "$python/python.exe" -x c - <<'C'
#include <windows.h>
typedef int main_of_python(int, wchar_t **);
int wmain(int count, wchar_t **words) {
  HMODULE python = LoadLibraryW(L"python311.dll");
  return python ? ((main_of_python *)GetProcAddress(python, "Py_Main"))(count, words) : 9;
}
C
  uv pip install --quiet --python "$here/env" --python-platform x86_64-pc-windows-msvc --link-mode copy \
    --constraint "$work/packages.txt" --target "$python/Lib/site-packages" "${packages[@]}" "numpy<2"
  wineboot --init </dev/null >/dev/null 2>&1
  for copy in "$here" "$there"; do
    write_sources "$copy"
    mkdir "$copy/types" # whose long and size_t are other types for compilers of Windows
    printf 'schema: 1\ncuda: "13.0"\narches: [sm_90, compute_80]\nmodules: {types: {source: types.cu}}\n' \
      >"$copy/types/kernels.yaml"
    cat >"$copy/types/types.cu" <<'CUDA'
struct Base { __device__ Base(); int n; char c; };
struct Derived : Base { char d; };
template <typename T> __global__ void fill(T* y, size_t n, long value) { y[n] = value + sizeof(Derived); }
template __global__ void fill(unsigned long*, size_t, long);
CUDA
  done
fi
# What the first program of Wine starts would hold its output open, and so the pipe.
(wine cmd /c "ping -n 20000 127.0.0.1" >/dev/null 2>&1 </dev/null &)
trap 'wineserver --kill || true' EXIT

if [[ $steps == *" build "* ]]; then
  on_windows -VV
  on_both example build -q --out ../stores/example
  on_both chars build -q --out ../stores/chars
  on_both types build -q --out ../stores/types
  for route in kernels kernels.lto kernels.ptx; do
    on_both 5x6 build -q --out "../stores/5x6-$route" "$route.yaml"
  done
  on_both cub10x8 build -q --out ../stores/cub10x8 --arch sm_90
  python3 "$checkout/benchmarks/same_stores.py" "$here/stores" "$there/stores" Windows >"$work/digests.md"
  tail -n 1 "$work/digests.md"
fi

if [[ $steps == *" verify "* ]]; then
  (cd "$here/example" && HATCH_CUDA_KERNELS_CACHE_DIR=$here/cache "$here/env/bin/python" -m hatchling build -t wheel \
    -d "$there/dist" >/dev/null)
  (cd "$there" && mv cache cache.full && time on_windows -m hatch_cuda_kernels verify --rebuild dist/*.whl)
fi

if [[ $steps == *" test "* ]]; then
  rm -rf "$there/checkout" && git clone --quiet "$checkout" "$there/checkout"
  read -ra tests <<<"${steps##* test }"
  (cd "$there/checkout" && time on_windows -m pytest -q -m "not slow" -p no:cacheprovider "${tests[@]:-tests}")
fi
