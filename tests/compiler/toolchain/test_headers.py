"""A version stands for files only as the wheel lists them: one that was changed gives other keys, at any size."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from wheels import digest

from hatch_cuda_kernels.compiler.toolchain import libraries, toolchain
from hatch_cuda_kernels.compiler.toolchain.key_parts import recall_key_part
from hatch_cuda_kernels.compiler.toolchain.libraries import bindings_major, library_files
from hatch_cuda_kernels.compiler.toolchain.toolchain import (
    current_toolchain,
    find_toolchain,
    known_toolchains,
    load_toolchain,
    remember_key_part,
)
from hatch_cuda_kernels.errors import ToolchainError
from hatch_cuda_kernels.standalone import compile_to_ptx

pytestmark = pytest.mark.skipif(bindings_major() == 12, reason="the site is made as wheels of CUDA 13 are")

INCLUDE, LIB = "nvidia/cu13/include", "nvidia/cu13/lib"
WHEELS = {
    "nvidia_cuda_runtime-13.0.96": {
        f"{INCLUDE}/cuda_runtime.h": "",
        f"{INCLUDE}/cuda_fp16.h": '#include "cuda_fp16.hpp"\n',
        f"{INCLUDE}/cuda_fp16.hpp": "#define X 1\n",
    },
    "nvidia_cuda_nvrtc-13.0.88": {
        f"{LIB}/libnvrtc.so.13": "the compiler",
        f"{LIB}/libnvrtc-builtins.so.13.0": "what it loads",
    },
    "nvidia_nvjitlink-13.0.88": {f"{LIB}/libnvJitLink.so.13": "the linker"},
}
SOURCE = '#include <cuda_fp16.h>\nextern "C" __global__ void k(int* p) { *p = X; }\n'


def alter(path, bits=3):
    """Change a file in place, and nothing that a listing of its folder shows."""
    before = path.stat()
    time.sleep(0.02)  # older kernels count time in steps of 4 ms
    data = path.read_bytes()
    path.write_bytes(data[:-2] + bytes([data[-2] ^ bits]) + data[-1:])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def as_found(toolchain):
    """Return the toolchain that compiles where the store's headers are here: the one that was found."""
    return toolchain


@pytest.fixture
def forget():
    """Return a function after which this process knows no more of the toolchain than another would."""

    def forget_all():
        load_toolchain.cache_clear()
        libraries._contents_at.cache_clear()

    forget_all()
    yield forget_all
    forget_all()


@pytest.fixture
def install(write, tmp_path, monkeypatch, fresh_cache, forget):
    """Return a function that installs wheels where this process looks first, and returns that folder."""

    def install_wheels(*names):
        for name in names:
            for file, text in WHEELS[name].items():
                write(f"site/{file}", text)
            lines = [f"{file},{digest(text.encode())},{len(text)}" for file, text in WHEELS[name].items()]
            write(f"site/{name}.dist-info/RECORD", "\n".join([*lines, f"{name}.dist-info/RECORD,,", ""]))
        monkeypatch.syspath_prepend(tmp_path / "site")
        return tmp_path / "site"

    return install_wheels


@pytest.fixture
def site(install, monkeypatch):
    """Return a folder with all of these wheels, whose compiler nobody need load: it says what its wheel does."""
    monkeypatch.setattr(toolchain, "ask_nvrtc", lambda: "13.0.88")
    return install(*WHEELS)


@pytest.mark.slow
@pytest.mark.parametrize("file", ["cuda_fp16.h", "cuda_fp16.hpp"])
def test_an_altered_header_is_no_hit(install, file):
    """A listed header, or one that it includes, changed at the same size is compiled again, and so is the way back."""
    header = install("nvidia_cuda_runtime-13.0.96") / INCLUDE / file
    listed = header.read_bytes()
    first, second = (compile_to_ptx(SOURCE, arch="compute_90") for _ in range(2))
    header.write_bytes(b"#define X 2\n".rjust(len(listed), b"\n"))
    edited = compile_to_ptx(SOURCE, arch="compute_90")
    header.write_bytes(listed)
    restored = compile_to_ptx(SOURCE, arch="compute_90")
    assert [compiled.cached for compiled in (first, second, edited, restored)] == [False, True, False, True]
    assert edited.image != first.image == restored.image


@pytest.mark.parametrize(
    ("file", "field"),
    [("libnvrtc.so.13", "nvrtc"), ("libnvrtc-builtins.so.13.0", "nvrtc"), ("libnvJitLink.so.13", "nvjitlink")],
)
def test_an_altered_library_is_another_version(site, forget, file, field):
    """It has a digest after the version, in keys and in what is recorded; whatever else is there stays as it was."""
    listed = [find_toolchain(), current_toolchain()]
    assert listed == [listed[0]] * 2
    assert (listed[0].nvrtc, listed[0].nvjitlink) == ("13.0.88", "13.0.88")
    altered = []
    for bits in (1, 2):
        alter(site / LIB / file, bits)
        altered.append(current_toolchain())
        assert find_toolchain() == current_toolchain()
    assert [tool._replace(**{field: "13.0.88"}) for tool in altered] == [listed[0]] * 2
    versions = {getattr(tool, field) for tool in altered}
    assert len(versions) == 2
    assert all(version.startswith("13.0.88+") and len(version) == len("13.0.88+") + 16 for version in versions)
    assert altered[0].release == (13, 0)


def test_a_library_that_no_wheel_lists_is_another_version(site, forget):
    """A file that the compiler would load counts, although the wheel does not know it."""
    before = find_toolchain()
    (site / LIB / "libnvrtc-builtins.so.12.9").write_text("somebody's")
    added = find_toolchain()
    (site / "nvidia_cuda_nvrtc-13.0.88.dist-info/RECORD").write_text("")
    assert len({before.nvrtc, added.nvrtc, find_toolchain().nvrtc}) == 3


def test_a_process_hashes_what_changed_and_nothing_else(site, forget, monkeypatch):
    """A library has 100 MB: it is read if it is newer than its wheel's list, and again when its state is another."""
    hashed = []
    real = hashlib.file_digest

    def note(file, name):
        hashed.append(Path(file.name).name)
        return real(file, name)

    monkeypatch.setattr(hashlib, "file_digest", note)
    names = sorted(name.rpartition("/")[2] for files in WHEELS.values() for name in files if LIB in name)
    changes = [([], []), (["libnvJitLink.so.13"], ["libnvJitLink.so.13"]), ([], []), (names, names), ([], [])]
    for changed, expected in changes:
        time.sleep(0.02)  # older kernels count time in steps of 4 ms
        for name in changed:
            os.utime(site / LIB / name)
        hashed.clear()
        forget()
        find_toolchain()
        assert sorted(hashed) == expected


def test_one_of_many_processes_hashes_a_library(site):
    """Those that start at the same time wait for its outcome."""
    script = """
import hashlib, sys, time
sys.path.insert(0, sys.argv[1])
from hatch_cuda_kernels.compiler.toolchain import libraries
real = hashlib.file_digest
def slowly(file, name):
    print(file.name)
    time.sleep(0.3)
    return real(file, name)
hashlib.file_digest = slowly
libraries.hash_ahead()
print("identity", libraries.identity("13.0.88", "nvrtc"))
"""
    (site / LIB / "libnvrtc.so.13").write_text("another one")
    time.sleep(0.2)  # what changed just now is not remembered
    command = [sys.executable, "-c", script, str(site)]
    asking = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = [line for one in asking for line in one.communicate(timeout=60)[0].splitlines()]
    assert [line for line in said if not line.startswith("identity")] == [str(site / LIB / "libnvrtc.so.13")]
    (answer,) = {line for line in said if line.startswith("identity")}
    assert answer.startswith("identity 13.0.88+")


@pytest.mark.parametrize(
    "changed", [f"{INCLUDE}/cuda_fp16.hpp", f"{LIB}/libnvrtc-builtins.so.13.0", f"{LIB}/libnvJitLink.so.13"]
)
def test_the_short_way_sees_it_too(site, forget, changed):
    """What a process remembers of a key is what another would find, before a file is altered and after."""
    outside = ("cuda_fp16.h",)
    remember_key_part(outside, built="", lto=True, used=as_found)
    before = recall_key_part(outside, built="", lto=True)
    assert before == current_toolchain().of_compile(outside, finisher="nvjitlink").key_part
    alter(site / changed)
    assert recall_key_part(outside, built="", lto=True) is None
    remember_key_part(outside, built="", lto=True, used=as_found)
    after = recall_key_part(outside, built="", lto=True)
    assert after == current_toolchain().of_compile(outside, finisher="nvjitlink").key_part != before


def test_a_header_that_comes_first_is_seen(site, write, forget):
    """One that appears where another header is looked for first counts, on the short way too."""
    outside = ("cuda_fp16.h",)
    remember_key_part(outside, built="", lto=False, used=as_found)
    assert "others" not in recall_key_part(outside, built="", lto=False)["toolkit_headers"]
    write(f"site/{INCLUDE}/cccl/cuda_fp16.hpp", "#define X 3\n")
    assert recall_key_part(outside, built="", lto=False) is None
    assert "others" in current_toolchain().of_compile(outside, finisher="nvrtc").headers


def test_a_process_without_nvrtc_keeps_what_was_recorded(site, forget, monkeypatch):
    """Where the wheels are gone, the keys of what they recorded are known still, those of altered ones too."""
    listed = current_toolchain()
    alter(site / LIB / "libnvrtc.so.13")
    altered = current_toolchain()

    def find():
        raise ToolchainError("NVRTC is not installed (none here)", "install it")

    shutil.rmtree(site / LIB)
    monkeypatch.setattr(toolchain, "find_toolchain", find)
    assert known_toolchains() == (listed, altered)
    assert [known.nvrtc for known in known_toolchains()] == ["13.0.88", altered.nvrtc]


RUN = """
import sys
from hatch_cuda_kernels.standalone import compile_to_cubin
compiled = compile_to_cubin('extern "C" __global__ void k(int* p) { *p = 1; }', arch="sm_90")
from hatch_cuda_kernels.compiler.toolchain.toolchain import find_toolchain, load_toolchain
assert find_toolchain() == load_toolchain()
print(compiled.cached, load_toolchain().nvrtc)
"""


def test_real_libraries(fresh_cache, tmp_path, slow):
    """NVRTC with other builtins, changed by a byte at the end that nothing reads, compiles under another key."""
    info = next(Path(library_files("nvrtc")[0].parents[3]).glob("nvidia_cuda_nvrtc-*.dist-info"))
    folder = tmp_path / "site" / LIB
    folder.mkdir(parents=True)
    shutil.copytree(info, tmp_path / "site" / info.name)
    *builtins, nvrtc = library_files("nvrtc")
    (folder / nvrtc.name).symlink_to(nvrtc)
    for file in builtins:
        shutil.copy(file, folder)
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r})\n{RUN}"]

    def run():
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return done.stdout.split()

    (_, version), again = run(), run()
    assert again == ["True", version]
    with (folder / builtins[0].name).open("ab") as file:
        file.write(b"\0")
    cached, altered = run()
    assert cached == "False"
    assert altered.startswith(f"{version}+")
    assert run() == ["True", altered]
