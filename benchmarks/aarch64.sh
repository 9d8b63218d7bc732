#!/usr/bin/env bash
# Whether Linux aarch64 builds what x86-64 builds, byte for byte: Debian's Python and NVIDIA's wheels for aarch64 under
# qemu-user, beside the same packages here. Builds the example and the benchmark sources on both, verifies there a wheel
# that was built here, and runs the quick tests there. Needs root, uv, and the packages mmdebstrap and qemu-user-static
# of Debian 12 or newer. Nothing outside FOLDER changes: emulation is switched on in a namespace of its own.
# Usage: aarch64.sh FOLDER [build] [verify] [test]; without a step, all of them.
set -euo pipefail
source "$(dirname "$0")/other_system.bash"
root=$work/root

there() { # COMMAND: a bash command on the emulated machine, in its /build
  unshare --user --map-root-user --mount --pid --fork bash -euo pipefail -c '
    mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
    magic="\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
    mask="\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
    echo -n ":aarch64:M::$magic:$mask:$(command -v qemu-aarch64-static):F" >/proc/sys/fs/binfmt_misc/register
    mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev"
    exec chroot "$1" env -i HOME=/build PATH=/build/env/bin:/usr/bin:/bin LANG=C.UTF-8 \
      HATCH_CUDA_KERNELS_CACHE_DIR=/build/cache bash -euo pipefail -c "cd /build; $2"' there "$root" "$1"
}

on_both() { # COMMAND: a bash command with hatch-cuda-kernels, here and there, one after the other
  (cd "$here" && PATH="$here/env/bin:$PATH" HATCH_CUDA_KERNELS_CACHE_DIR="$here/cache" bash -euo pipefail -c "$1")
  there "$1"
}

if [ ! -e "$root/build/env" ]; then
  debian=$(. /etc/os-release && echo "$VERSION_CODENAME")
  programs=base-passwd,bash,coreutils,findutils,g++,gcc,git,grep,libc-bin,procps,python3-venv,sed,util-linux,xz-utils
  mmdebstrap --quiet --mode=root --variant=extract --arch=arm64 --include="$programs" "$debian" "$root" \
    /etc/apt/sources.list.d/debian.sources
  ln -sfn bash "$root/bin/sh" && ln -sfn gcc "$root/usr/bin/cc" # what installing the packages would have made
  cp "$root/usr/share/base-passwd/passwd.master" "$root/etc/passwd"
  mkdir -p "$root/build" "$here"
  there "python3 -m venv --without-pip env"
  python=$(there "python3 -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])'")
  uv venv --quiet --python "$python" "$here/env"
  uv pip install --quiet --python "$here/env" "${packages[@]}"
  uv pip freeze --python "$here/env" | grep -v "^hatch-cuda-kernels" >"$work/packages.txt"
  uv pip install --quiet --python "$here/env" --python-platform aarch64-manylinux_2_28 --link-mode copy \
    --constraint "$work/packages.txt" --target "$root/build/env/lib/python$python/site-packages" "${packages[@]}"
  # Scripts that are installed from here would start the Python of here.
  printf '#!/build/env/bin/python3\nfrom hatch_cuda_kernels.cli import main\nraise SystemExit(main())\n' \
    >"$root/build/env/bin/hatch-cuda-kernels"
  chmod +x "$root/build/env/bin/hatch-cuda-kernels"
  for copy in "$here" "$root/build"; do
    write_sources "$copy"
  done
fi

if [[ $steps == *" build "* ]]; then
  on_both "uname -m; python3 -VV; cd example && time hatch-cuda-kernels build -q --out ../stores/example"
  on_both "cd chars && time hatch-cuda-kernels build -q --out ../stores/chars"
  for route in kernels kernels.lto kernels.ptx; do
    on_both "cd 5x6 && time hatch-cuda-kernels build -q --out ../stores/5x6-$route $route.yaml"
  done
  on_both "cd cub10x8 && time hatch-cuda-kernels build -q --out ../stores/cub10x8 --arch sm_90"
  python3 "$checkout/benchmarks/same_stores.py" "$here/stores" "$root/build/stores" aarch64 >"$work/digests.md"
  tail -n 1 "$work/digests.md"
fi

if [[ $steps == *" verify "* ]]; then
  (cd "$here/example" && PATH="$here/env/bin:$PATH" HATCH_CUDA_KERNELS_CACHE_DIR="$here/cache" \
    "$here/env/bin/python" -m hatchling build -t wheel -d "$root/build/dist" >/dev/null)
  there "export HATCH_CUDA_KERNELS_CACHE_DIR=/build/empty; uname -m; time hatch-cuda-kernels verify --rebuild dist/*.whl"
fi

if [[ $steps == *" test "* ]]; then
  rm -rf "$root/build/checkout" && git clone --quiet "$checkout" "$root/build/checkout"
  there "cd checkout && time python3 -m pytest -q -n 2 -m 'not slow' -p no:cacheprovider"
fi
