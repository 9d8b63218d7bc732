"""What users of Windows would notice, tried without Windows; benchmarks/windows.sh runs the package itself there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path, PureWindowsPath

import pytest

from hatch_cuda_kernels import compile_to_ptx
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler.toolchain import libraries
from hatch_cuda_kernels.errors import BuildError, InputError, ManifestError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.store import STORE_FOLDER, StoreReader

#: Where pip installs for one user without an environment, whose name is long.
SITE = r"C:\Users\firstname.lastname\AppData\Local\Programs\Python\Python313\Lib\site-packages"
#: The limit with the zero at the end of a path.
LONGEST = 259

WHEELS = {
    13: {
        "nvrtc": ("nvidia/cu13/bin/x86_64/nvrtc64_130_0.dll", "nvidia/cu13/bin/x86_64/nvrtc-builtins64_130.dll"),
        "nvJitLink": ("nvidia/cu13/bin/x86_64/nvJitLink_130_0.dll",),
        "ptxas": ("nvidia/cu13/bin/ptxas.exe",),
        "cudadevrt": ("nvidia/cu13/lib/x64/cudadevrt.lib",),
    },
    12: {
        "nvrtc": ("nvidia/cuda_nvrtc/bin/nvrtc64_120_0.dll", "nvidia/cuda_nvrtc/bin/nvrtc-builtins64_129.dll"),
        "nvJitLink": ("nvidia/nvjitlink/bin/nvJitLink_120_0.dll",),
        "ptxas": ("nvidia/cuda_nvcc/bin/ptxas.exe",),
        "cudadevrt": ("nvidia/cuda_runtime/lib/x64/cudadevrt.lib",),
    },
}

CHECKOUT = {
    "kernels.yaml": "schema: 1\narches: [sm_90, compute_90]\nmodules:\n  k: {source: k.cu}\n",
    "k.h": "#pragma once\n#define SUM(a, b) \\\n    ((a) + \\\n     (b))\nvoid host(); /* of\nhost code */\n",
    "k.cu": '#include "k.h"\nvoid host() {\n    // no kernel\n}\n__device__ const char* text = "a\\\nb";\n'
    'extern "C" __global__ void k(int* p) {\n    *p = SUM(*p, text[1]);\n}\n',
}

#: Imports the package as Windows' Python would, which has neither these modules nor these functions.
WITHOUT_POSIX = r"""
import os, pkgutil, signal, socket, sys
from importlib import import_module

def names():
    import hatch_cuda_kernels
    return [found.name for found in pkgutil.walk_packages(hatch_cuda_kernels.__path__, "hatch_cuda_kernels.")
            if not found.name.endswith("__main__") and "plugin" not in found.name and ".dask" not in found.name]

def load_all():
    lacking = []
    for name in names():
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if error.name in gone or error.name.startswith("hatch_cuda_kernels"):
                raise
            lacking.append((name, error.name))
    return lacking

gone = ["fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "posix", "readline", "syslog"]
before = load_all()  # what Python itself needs of them has been imported then
for name in [name for name in sys.modules if name.partition(".")[0] == "hatch_cuda_kernels"]:
    del sys.modules[name]
for name in gone:
    sys.modules[name] = None
for name in ("fork forkpty register_at_fork geteuid getuid getgid uname killpg getpgid setsid sched_getaffinity mkfifo "
             "O_NOFOLLOW O_DIRECTORY O_CLOEXEC posix_spawn WNOHANG sysconf memfd_create RTLD_NOLOAD RTLD_NOW").split():
    if hasattr(os, name):
        delattr(os, name)
os.supports_dir_fd = os.supports_follow_symlinks = set()
for name in "SIGKILL SIGHUP SIGCHLD SIGALRM SIGUSR1 SIGQUIT SIGWINCH SIGPIPE SIGSTOP setitimer pthread_sigmask".split():
    if hasattr(signal, name):
        delattr(signal, name)
sys.platform = "win32"
assert load_all() == before
"""


def test_every_module_is_imported_without_what_windows_lacks():
    """Neither the run side nor the build side asks for forks, locks or signals of POSIX while it is imported."""
    done = subprocess.run([sys.executable, "-c", WITHOUT_POSIX], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("major", WHEELS)
@pytest.mark.parametrize("name", WHEELS[13])
def test_the_wheels_for_windows_bring_what_is_looked_for(write, tmp_path, monkeypatch, major, name):
    """Libraries are in other folders there, and called otherwise; NVRTC's builtins are loaded before it."""
    files = WHEELS[major][name]
    written = [write(f"site/{file}", "") for file in files]
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(libraries, "bindings_major", lambda: major)
    assert libraries.find_library(name) == written[0]
    if name == "nvrtc":
        assert libraries.library_files(name) == (written[1], written[0])


@pytest.mark.parametrize(
    "source", [r"kernels\a.cu", r"C:\a.cu", r"\\host\share\a.cu", r"\a.cu", "C:a.cu", "C:/a.cu", "//host/share/a.cu"]
)
def test_a_manifest_means_the_same_file_everywhere(write, source):
    """Drives, shares and backslashes, which Linux would take for a part of a name, are refused on every system."""
    write("kernels/a.cu", "")
    manifest = write("kernels.yaml", f"schema: 1\narches: [sm_90]\nmodules: {{a: {{source: '{source}'}}}}\n")
    with pytest.raises(ManifestError, match=r"has a backslash; write / between|is absolute; write it relative"):
        load_manifest(manifest)


@pytest.mark.parametrize("place", ["C:/x.h", r"C:\x.h", "c:x.h", "//host/share/x.h", r"\\host\share\x.h"])
@pytest.mark.parametrize("form", ['"{}"', "<{}>"])
def test_no_include_reaches_a_drive_or_a_share(place, form):
    """What is compiled is hashed and shipped, so a header has its place in the project, on every system."""
    with pytest.raises(InputError, match="leaves the project"):
        compile_to_ptx(f"#include {form.format(place)}\n", arch="sm_80")


@pytest.mark.parametrize("name", ["con", "NUL", "Aux", "com1", "a.", "a ", "a:b", "a<b", "a|b", "a?", "a\\b", '"a"'])
def test_no_module_has_a_name_that_windows_refuses(write, name):
    """A module is a folder of the wheel, which is made on one system and installed on another."""
    write("k.cu", "")
    manifest = write("kernels.yaml", f"schema: 1\narches: [sm_90]\nmodules: {{{json.dumps(name)}: {{source: k.cu}}}}\n")
    with pytest.raises(ManifestError, match=r"cannot be a folder on Windows|is not a module name"):
        load_manifest(manifest)


@pytest.mark.parametrize(
    ("source", "header", "expected"),
    [
        ("aux.cu", "a.cuh", "'aux.cu' cannot be a file on Windows, or names another file there; rename the source"),
        ("k.cu", "K.CU", "source/K.CU and project.source/k.cu are the same file on some systems; rename the source"),
    ],
)
def test_no_source_is_shipped_under_a_name_that_windows_refuses(write, tmp_path, capsys, source, header, expected):
    """The build says so, because ``verify`` would refuse its wheel, and so does ``check`` before it."""
    write(header, "")
    write(source, f'#include "{header}"\n__global__ void k() {{}}\n')
    manifest = write("kernels.yaml", f"schema: 1\narches: [sm_90]\nmodules: {{a: {{source: {source}}}}}\n")
    with pytest.raises(BuildError, match=re.escape(expected)):
        build_store(load_manifest(manifest), tmp_path / "store")
    assert not (tmp_path / "store").exists()
    assert main(["check", str(manifest)]) == 1
    assert expected.replace("source/K.CU and project.source/", "K.CU and ") in " ".join(capsys.readouterr().err.split())


def test_a_checkout_with_windows_line_ends_gives_the_same_images(tmp_path):
    """Git's default on Windows changes what a store says of its sources, and so keys, but no image."""
    built = []
    for ends in ("\n", "\r\n"):
        root = tmp_path / f"ends-{len(ends)}"
        root.mkdir()
        for name, text in CHECKOUT.items():
            (root / name).write_bytes(text.replace("\n", ends).encode())
        build_store(load_manifest(root / "kernels.yaml"), root / "store")
        built.append({path.name: path.read_bytes() for path in root.glob("store/k/k.*")})
    assert built[0] == built[1]
    assert len(built[0]) == 2


def test_the_files_of_a_wheel_stay_below_the_limit_of_paths(example_store):
    """In a usual folder for packages, with a module's name of 60 characters, which is far above the usual."""
    store = PureWindowsPath(SITE, "example_project", STORE_FOLDER)
    files = [PureWindowsPath(path.relative_to(example_store)) for path in example_store.rglob("*") if path.is_file()]
    assert max(len(str(store / file)) for file in files) < LONGEST - 80
    assert len(str(store / ("m" * 60) / f"{'m' * 60}.compute_120f.ltoir")) <= LONGEST


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux what is open")
def test_no_file_of_a_store_stays_open(example_store, tmp_path, monkeypatch):
    """There, nobody can remove or replace a file that is open or mapped: ``verify`` its copy, pip the package."""
    monkeypatch.setattr(sys, "platform", "win32")
    store = tmp_path / STORE_FOLDER  # another test of this process may have the example's open
    shutil.copytree(example_store, store)
    reader = StoreReader(store)
    [line] = reader.find("saxpy")
    assert [reader.read_image(line.module, record) for record in reader.module(line.module).images]
    assert str(store) not in Path("/proc/self/maps").read_text()
    assert not [path for path in Path("/proc/self/fd").iterdir() if str(store) in os.path.realpath(path)]
