# What windows.sh and aarch64.sh begin with, which compare another system with this one: the arguments (a folder, then
# steps), and the sources that both build.
set -euo pipefail
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mkdir -p "$1"
work=$(cd "$1" && pwd)
shift
steps=" ${*:-build verify test} "
here=$work/here
packages=("$checkout[build]" --group "$checkout/pyproject.toml:quick")

write_sources() { # FOLDER: the example, the sources of benchmarks, and one whose plain char may be unsigned there
  local sources
  mkdir -p "$1/chars"
  cp -r "$checkout/example_project" "$1/example"
  printf 'schema: 1\ncuda: "13.0"\narches: [sm_90, compute_80]\nmodules: {chars: {source: chars.cu}}\n' \
    >"$1/chars/kernels.yaml"
  echo 'extern "C" __global__ void chars(int* y, const char* x) { y[0] = x[0] >> 1; y[1] = x[1] < 0; }' \
    >"$1/chars/chars.cu"
  for sources in 5x6 cub10x8; do
    python3 "$checkout/benchmarks/build_sources.py" $sources "$1/$sources" >/dev/null
  done
}
