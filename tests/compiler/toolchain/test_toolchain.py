"""Which compiler and headers are here: versions however a toolkit was installed, and what is remembered of them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from wheels import digest

from hatch_cuda_kernels.compiler.toolchain import headers, libraries, toolchain
from hatch_cuda_kernels.compiler.toolchain.headers import find_parts, scan_headers
from hatch_cuda_kernels.compiler.toolchain.libraries import check_age
from hatch_cuda_kernels.compiler.toolchain.toolchain import find_toolchain, known_toolchains, load_toolchain
from hatch_cuda_kernels.errors import ToolchainError
from hatch_cuda_kernels.includes import packaged_standard_headers
from hatch_cuda_kernels.standalone import compile_to_ptx

HEADERS = {
    "cuda.h": "#define CUDA_VERSION 13000\n",
    "cuda_runtime.h": "#include <version>\n",
    "cuda_runtime_api.h": "#define CUDART_VERSION  13000\n",
    "cooperative_groups/memcpy.h": "",
    "crt/host_config.h": "",
    "crt/mma.h": "",
    "cub/version.cuh": "#define CUB_VERSION 300001\n",
    "cuda/std/version": "",
    "cuda/std/__cccl/version.h": "#define CCCL_VERSION 3000001\n",
    "curand_kernel.h": '#include "curand_globals.h"\n#include <cuda_runtime.h>\n',
    "curand_globals.h": "#define G 1\n",
}


@pytest.fixture
def copied(write, tmp_path):
    """Return the include folder of a toolkit that was copied to its place, with no package to list it."""
    for name, text in HEADERS.items():
        write(f"cuda/include/{name}", text)
    return tmp_path / "cuda/include"


@pytest.fixture
def wheel(copied, write, tmp_path):
    """Return the include folder of wheels: the parts' packages list their files, and cuRAND's lists its own."""
    folder = tmp_path / "site/nvidia/cu13/include"
    folder.parent.mkdir(parents=True)
    copied.rename(folder)
    owners = {"cccl-13.0.85": ("cub/", "cuda/"), "crt-13.0.88": ("crt/",), "runtime-13.0.96": ("cuda", "coop")}
    for package, prefixes in owners.items():
        listed = [name for name in HEADERS if name.startswith(prefixes)]
        lines = (
            f"nvidia/cu13/include/{name},{digest(HEADERS[name].encode())},{len(HEADERS[name])}\n" for name in listed
        )
        write(f"site/nvidia_cuda_{package}.dist-info/RECORD", "".join(lines))
    return folder


def versions(folder, major=13):
    """Return the version of each part found in a folder."""
    return {part.name: part.version for part in find_parts([str(folder)], major)}


def other_headers(names, folders):
    """Return the digest of what headers lead to and no version stands for."""
    return scan_headers(tuple(names), folders).others


def test_versions_are_the_wheels(wheel):
    """Wheels are found by the metadata beside them."""
    assert versions(wheel) == {"cccl": "13.0.85", "crt": "13.0.88", "cudart": "13.0.96"}


def test_cuda_12_has_its_compilers_headers_from_nvcc(write, tmp_path):
    """For CUDA 12, crt comes with the nvcc wheel, and each wheel has a folder of its own."""
    write("site/nvidia/cuda_nvcc/include/crt/host_config.h", "")
    write("site/nvidia_cuda_nvcc_cu12-12.9.86.dist-info/RECORD", "nvidia/cuda_nvcc/include/crt/host_config.h,,0\n")
    assert versions(tmp_path / "site/nvidia/cuda_nvcc/include", 12) == {"crt": "12.9.86"}


def test_versions_of_an_installed_toolkit(copied):
    """The toolkit's installer lists its components in version.json."""
    listed = {"cuda_cccl": "13.0.50", "cuda_nvcc": "13.0.48", "cuda_cudart": "13.0.51"}
    data = {name: {"name": name, "version": version} for name, version in listed.items()}
    (copied.parent / "version.json").write_text(json.dumps(data))
    assert versions(copied) == {"cccl": "13.0.50", "crt": "13.0.48", "cudart": "13.0.51"}


def test_versions_of_a_conda_toolkit(copied, write, tmp_path):
    """Conda's records name the packages with their platform."""
    (tmp_path / "conda/targets/x86_64-linux").mkdir(parents=True)
    folder = copied.rename(tmp_path / "conda/targets/x86_64-linux/include")
    for package in ("cuda-cccl_linux-64", "cuda-crt-dev_linux-64", "cuda-cudart-dev_linux-64"):
        write(f"conda/conda-meta/{package}-13.0.96-h1.json", json.dumps({"name": package, "version": "13.0.96"}))
    assert versions(folder) == dict.fromkeys(("cccl", "crt", "cudart"), "13.0.96")


@pytest.mark.parametrize(
    ("edited", "part"),
    [
        ("cuda/std/__cccl/version.h", "cccl"),
        ("cub/version.cuh", "cccl"),
        ("crt/mma.h", "crt"),
        ("cuda_runtime_api.h", "cudart"),
        ("cooperative_groups/memcpy.h", "cudart"),
    ],
)
def test_a_copied_toolkit_tells_its_version_by_content(copied, edited, part):
    """Where nobody names a version, the macros show it, and a change of any telling file is another version."""
    before = versions(copied)
    assert re.fullmatch(r"3000001\.[0-9a-f]{16}", before["cccl"])
    assert re.fullmatch(r"13000\.[0-9a-f]{16}", before["cudart"])
    (copied / edited).write_text(f"{HEADERS[edited]}// patched\n")
    after = versions(copied)
    assert {name for name in before if before[name] != after[name]} == {part}


def test_headers_of_another_major_are_left_out(copied, monkeypatch):
    """A system toolkit of CUDA 12 beside NVRTC 13 would not compile: its folder is not searched."""
    monkeypatch.setattr(toolchain, "find_header_folders", lambda: ())
    monkeypatch.setattr(toolchain, "_system_folders", lambda part: [copied])
    assert list(toolchain.header_folders(13)) == [copied]
    (copied / "cuda.h").write_text("#define CUDA_VERSION 12090\n")
    assert list(toolchain.header_folders(13)) == []
    assert list(toolchain.header_folders(12)) == [copied]


@pytest.mark.slow
def test_the_parts_headers_stand_for_their_version():
    """In the real wheels, every header of CUB, libcu++ and the runtime is listed: nothing else is hashed."""
    found = load_toolchain()
    names = (
        "cuda_fp16.h",
        "cub/cub.cuh",
        "cuda/std/cstdint",
        "nv/target",
        "mma.h",
        "crt/mma.h",
        "cooperative_groups.h",
    )
    assert all(any((Path(folder) / name).is_file() for folder in found.include_dirs) for name in names)
    assert other_headers(names, found.include_dirs) == ""


def test_a_listed_header_that_was_edited_is_hashed(wheel):
    """A header whose digest is not the listed one counts by its content."""
    folders = (str(wheel),)
    assert other_headers(["cuda_runtime_api.h"], folders) == ""
    (wheel / "cuda_runtime_api.h").write_text("#define CUDART_VERSION 13000 // patched\n")
    patched = other_headers(["cuda_runtime_api.h"], folders)
    (wheel / "cuda_runtime_api.h").write_text("#define CUDART_VERSION 13000 // patched again\n")
    assert len({"", patched, other_headers(["cuda_runtime_api.h"], folders)}) == 3


def test_other_wheels_headers_are_hashed_with_what_they_include(wheel):
    """An upgrade of cuRAND, which unpacks into the same folder, is seen even where only a nested header changed."""
    before = other_headers(["curand_kernel.h"], (str(wheel),))
    assert before
    (wheel / "curand_globals.h").write_text("#define G 2\n")
    assert other_headers(["curand_kernel.h"], (str(wheel),)) not in {before, ""}


def test_a_host_header_in_the_folder_is_hashed(wheel, write, tmp_path):
    """The toolkit's headers ask for a host's (``<new>``, ``<version>``): one that is found counts."""
    write("empty/unrelated.h", "")
    write("host/version", "")
    digests = [other_headers(["cuda_runtime.h"], (str(wheel), str(tmp_path / name))) for name in ("empty", "host")]
    assert digests[0] == ""
    assert digests[1] != ""


def test_what_is_for_other_compilers_is_not_asked_for(write, tmp_path, fresh_cache):
    """Toolkit headers say what is not for NVRTC; a header that only such a part includes need not be in memory."""
    text = """
    #if !_CCCL_COMPILER(NVRTC)
    #  include <iostream>
    #  if OTHER
    #    include <memory>
    #  endif
    #else
    #  include <cstdint>
    #endif // !_CCCL_COMPILER(NVRTC)
    #ifndef __CUDACC_RTC__
    #  include <vector>
    #elif OTHER
    #  include <cmath>
    #endif
    #if defined(__CUDACC_RTC__) || OTHER
    #  include <limits>
    #else
    #  include <string>
    #endif
    #if OTHER && !defined(__CUDACC_RTC__) && (A || B)
    #  include <array>
    #elif _CCCL_COMPILER(GCC) && OTHER
    #  include <tuple>
    #endif
    #ifndef _CCCL_NO_EXCEPTIONS
    #  include <stdexcept>
    #endif
    #if _CCCL_HOSTED() || _CCCL_HAS_EXCEPTIONS()
    #  include <complex>
    #elif _CCCL_FREESTANDING()
    #  include <initializer_list>
    #endif
    #if _CCCL_COMPILER(MSVC) || _CCCL_CUDA_COMPILER(CLANG)
    #  include <math.h>
    #endif
    #if _CCCL_CUDA_COMPILER(NVCC)
    #  include <cstring>
    #endif
    """
    write("cuda_a.h", text)
    assert scan_headers(("cuda_a.h",), (str(tmp_path),)).asked.names == {
        "cstdint",
        "cmath",
        "limits",
        "initializer_list",
        "cstring",
    }


@pytest.mark.slow
def test_a_block_sort_asks_for_little():
    """CUB includes more for other compilers; beside what NVRTC reads, it would be most of what a wheel ships."""
    asked = scan_headers(("cub/block/block_radix_sort.cuh",), load_toolchain().include_dirs).asked.names
    standard = asked & packaged_standard_headers().names
    ours = {"cuda/std/climits", "cuda/std/cstdint"}  # in place of the toolkit's, for the host's types
    assert standard <= {"compare", "cstdio", "endian.h", "ciso646", "pthread.h", "version"} | ours
    assert "cuda/std/cstdint" in asked


def test_what_was_hashed_is_remembered_by_stat(wheel, fresh_cache, monkeypatch):
    """A later process reads no header again until one has changed; a damaged memory is only slow."""
    folders = (str(wheel),)
    digest = other_headers(["curand_kernel.h"], folders)
    opened = []
    for name in ("_digest_and_names", "_marked_includes"):
        read = getattr(headers, name)
        monkeypatch.setattr(headers, name, lambda path, read=read: opened.append(Path(path).name) or read(path))

    def in_another_process():
        headers._scans.clear()
        libraries._contents_at.cache_clear()
        return other_headers(["curand_kernel.h"], folders)

    assert (in_another_process(), opened) == (digest, [])
    (wheel / "curand_globals.h").write_text("#define G 2\n")
    edited = in_another_process()
    assert edited not in {digest, ""}
    assert opened == ["curand_globals.h"] * 2
    for damaged in ("[1]", f'{{"{wheel}/curand_kernel.h": 1}}', "{", ""):
        for note in (fresh_cache / "notes").iterdir():
            note.write_text(damaged)
        assert in_another_process() == edited


def test_another_version_of_this_package_reads_headers_anew(wheel, fresh_cache, monkeypatch):
    """It may follow other rules; else a build's closure would depend on who built here before."""
    asked = scan_headers(("curand_kernel.h",), (str(wheel),)).asked
    monkeypatch.setattr(headers, "_marked_includes", lambda path: ["<other.h>"])
    monkeypatch.setattr(headers, "_readers", lambda: ["another"])
    headers._scans.clear()
    libraries._contents_at.cache_clear()
    assert scan_headers(("curand_kernel.h",), (str(wheel),)).asked.names == {"other.h"} != asked.names
    headers._scans.clear()


@pytest.fixture
def stray(write, tmp_path, monkeypatch):
    """Return a header that somebody put where the toolkit's headers are, in a process that finds it."""
    path = write("site/nvidia/cu13/include/stray.h", "#define X 1\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    load_toolchain.cache_clear()
    yield path
    load_toolchain.cache_clear()


@pytest.mark.slow
def test_an_edited_header_is_no_hit(fresh_cache, stray):
    """An image compiled with a header that nobody lists is taken from the cache until that header changes."""
    source = '#include <stray.h>\nextern "C" __global__ void k(int* p) { *p = X; }\n'
    first, second = (compile_to_ptx(source, arch="compute_90") for _ in range(2))
    stray.write_text("#define X 2\n")
    edited = compile_to_ptx(source, arch="compute_90")
    assert [compiled.cached for compiled in (first, second, edited)] == [False, True, False]
    assert edited.image != first.image == second.image


HIT = """
import dataclasses, pathlib, sys
from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.toolchain.toolchain import known_toolchains
from hatch_cuda_kernels.compiler.job import Recipe
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.options import NvrtcOptions
recipe = Recipe(module="m", sources=("k.cu",), options=NvrtcOptions(lto=True))
job = recipe.job(read_recipe(recipe, pathlib.Path(sys.argv[1])), SmArch(9, 0), ("cubin",))
(toolchain,) = known_toolchains()
print(job.key("cubin", toolchain))
print(*(line.rsplit("/", 1)[-1].strip() for line in open("/proc/self/maps") if "libnv" in line))
"""


def test_a_wheel_names_the_build_of_its_nvrtc():
    """Version of the wheel and word of the library are one."""
    assert find_toolchain() == load_toolchain()
    assert libraries.library_version("nvrtc") == load_toolchain().nvrtc


@pytest.mark.slow
def test_a_key_needs_no_library_once_the_toolchain_is_known(fresh_cache, write, tmp_path):
    """The key of a compile with toolkit headers and LTO is found again without loading NVRTC or nvJitLink."""
    write("p/k.cu", "#include <cuda_fp16.h>\n__global__ void k() {}\n")
    (before,) = known_toolchains()
    assert before.nvjitlink == libraries.library_version("nvJitLink") != ""
    run = subprocess.run(
        [sys.executable, "-c", HIT, str(tmp_path / "p")], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    assert re.fullmatch("[0-9a-f]{64}", run[0])
    assert run[1:] == [""]
    (again,) = known_toolchains()
    assert again == before == load_toolchain()


def test_another_version_of_the_headers_is_another_toolchain(fresh_cache, wheel, monkeypatch):
    """What is remembered is forgotten when a package that tells a version is replaced."""
    found = load_toolchain()._replace(headers="cccl 13.0.85", include_dirs=(str(wheel),))
    monkeypatch.setattr("hatch_cuda_kernels.compiler.toolchain.toolchain.find_toolchain", lambda: found)
    assert known_toolchains()[0].headers == found.headers
    found = found._replace(headers="cccl 13.0.99")
    assert known_toolchains()[0].headers == "cccl 13.0.85"
    old = wheel.parent.parent.parent / "nvidia_cuda_cccl-13.0.85.dist-info"
    old.rename(old.with_name("nvidia_cuda_cccl-13.0.99.dist-info"))
    assert known_toolchains()[0].headers == found.headers


@pytest.mark.parametrize("kept", [100_000_000, 100_000, 50, 0])
def test_a_damaged_library_is_named(write, tmp_path, monkeypatch, kept):
    """A library that was cut off in a download names its file and the command that mends it; the process lives on."""
    lib = tmp_path / "site/nvidia/cu13/lib"
    lib.mkdir(parents=True)
    original = libraries.find_library("nvrtc")
    assert original is not None
    with original.open("rb") as whole:
        (lib / original.name).write_bytes(whole.read(kept))
    write("site/nvidia_cuda_nvrtc-13.0.88.dist-info/RECORD", "")
    monkeypatch.syspath_prepend(tmp_path / "site")
    with pytest.raises(ToolchainError) as caught:
        libraries.preload.__wrapped__("nvrtc")
    assert str(lib / original.name) in caught.value.message
    assert caught.value.fix == "python3 -m pip install --force-reinstall --no-deps nvidia-cuda-nvrtc==13.0.88"


def test_an_nvrtc_that_is_too_old_is_named():
    """Other packages install NVRTC of CUDA 12.8 and older, which refuses flags that every compile is given."""
    with pytest.raises(ToolchainError, match=r"NVRTC 12.8.93 is too old; 12.9 or newer is needed") as caught:
        check_age("12.8.93")
    assert caught.value.fix == 'python3 -m pip install "nvidia-cuda-nvrtc-cu12==12.9.*"'
    check_age("12.9.86")
