"""Which toolkits compile at run time: parts of releases that work together do, of the rest a command mends it.

What works was measured with NVRTC 12.9, 13.0 and 13.5, the headers of each, and nvJitLink: older headers compile with a
newer NVRTC; with NVRTC 13.0, headers of 13.5 give ``cvt`` instructions that its assembler refuses for sm_100a, and
``cuda_device_runtime_api.h`` is refused for any, while CCCL and ``crt`` of 13.5 compile; nvJitLink 13.0 refuses what
NVRTC 13.5 compiled for it.
"""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from installed_packages import install

from hatch_cuda_kernels import NoImageError, open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.compiler.toolchain import packages, toolchain
from hatch_cuda_kernels.compiler.toolchain.libraries import bindings_major
from hatch_cuda_kernels.compiler.toolchain.packages import pinned, release_requirements
from hatch_cuda_kernels.compiler.toolchain.toolchain import Toolchain, disagreement, find_toolchain, load_toolchain
from hatch_cuda_kernels.doctor import Finding, _verdict, probes
from hatch_cuda_kernels.errors import CompileError, ToolchainError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.runtime.ladder import compile_rungs
from hatch_cuda_kernels.standalone import compile_to_ptx

pytestmark = pytest.mark.skipif(bindings_major() == 12, reason="the installs are made as those of CUDA 13 are")

FOLDER = "nvidia/cu13"
FILES = {
    "nvidia-cuda-nvrtc": ["lib/libnvrtc.so.13"],
    "nvidia-nvjitlink": ["lib/libnvJitLink.so.13"],
    "nvidia-cuda-runtime": ["include/cuda_runtime.h", "include/cuda_fp16.h", "include/cuda.h"],
    "nvidia-cuda-crt": ["include/crt/host_config.h"],
    "nvidia-cuda-cccl": ["include/cccl/cuda/std/version", "include/cccl/cub/cub.cuh"],
}
FP16, CUB = ("cuda_fp16.h",), ("cub/cub.cuh",)


def macros(version):
    """Return the text of ``cuda.h`` of the toolkit with a part of this version."""
    major, minor = version.split(".")[:2]
    return f"#define CUDA_VERSION {major}0{minor}0\n"


def wheels(nvrtc="", runtime="", crt="", cccl="", nvjitlink=""):
    """Return the wheels of an install by distribution, with their versions."""
    named = {"nvidia-cuda-nvrtc": nvrtc, "nvidia-cuda-runtime": runtime, "nvidia-cuda-crt": crt}
    named |= {"nvidia-cuda-cccl": cccl, "nvidia-nvjitlink": nvjitlink}
    return {name: version for name, version in named.items() if version}


class Case(NamedTuple):
    """What is installed, what a compile needs of it, and what is said."""

    prefixes: list[dict[str, str]] = []  # noqa: RUF012 - never changed
    """Wheels by distribution, in the order of ``sys.path``."""
    system: str = ""
    """The release of the toolkit that ``CUDA_HOME`` names."""
    loaded: str = ""
    """The NVRTC that the dynamic loader finds, where no wheel brings one."""
    conda: str = ""
    """The version of the packages of headers in a conda environment."""
    outside: tuple[str, ...] | None = FP16
    finisher: str = "nvrtc"
    said: str = ""
    """A part of what is wrong; empty if it compiles."""
    fix: str = ""
    """What is installed to mend it."""
    command: str = "python3 -m pip install"


HERE = wheels("13.0.88", "13.0.96", "13.0.88", "13.0.85", "13.0.88")
TORCHS = wheels("13.0.88", "13.0.96", nvjitlink="13.0.88")
REST = wheels(crt="13.5.37", cccl="13.3.5.0.6")
NEWER = wheels("13.5.37", "13.5.37", "13.5.37", "13.3.5.0.6", "13.5.37")
NEWER_HEADERS = wheels("", "13.5.37", "13.5.37", "13.3.5.0.6")
RUNTIME, CCCL, LINKER = (f'"{pinned(part, (13, 0))}"' for part in ("cudart", "cccl", "nvjitlink"))
WHOLE = " ".join(f'"{one}"' for one in release_requirements((13, 0), finishers=("nvjitlink",)))
CONDA = "conda install --channel conda-forge cuda-version=13.0"
IS_NEWER = "(cudart 13.5.37, in "

CASES = {
    "wheels of one release": Case([HERE]),
    "a system toolkit 12.4 beside wheels": Case([HERE], system="12.4.1"),
    "a system toolkit 12.4 has the only headers": Case(
        [wheels("13.0.88")], system="12.4.1", said="cuda/include are of CUDA 12.4", fix=RUNTIME
    ),
    "a system toolkit 13.5 has what wheels lack": Case(
        [TORCHS], system="13.5.0", outside=CUB, said="cuda/include are of CUDA 13.5", fix=CCCL
    ),
    "a system toolkit of the release has what wheels lack": Case([TORCHS], system="13.0.2", outside=CUB),
    "torch's wheels": Case([TORCHS]),
    "torch's wheels, and no CCCL": Case([TORCHS], outside=CUB, said="that have cub/cub.cuh", fix=CCCL),
    "torch's wheels, and the newest of the rest": Case([TORCHS | REST], outside=CUB),
    "no headers": Case([wheels("13.0.88")], said="that have cuda_fp16.h", fix=RUNTIME),
    "no headers for a source without": Case([wheels("13.0.88")], outside=None),
    "no headers for one that may do without": Case([wheels("13.0.88")], outside=()),
    "headers of 13.5 with NVRTC 13.0": Case(
        [NEWER_HEADERS | wheels("13.0.88")], said=f"{IS_NEWER}", fix=RUNTIME
    ),
    "the same in an environment of uv": Case(
        [NEWER_HEADERS | wheels("13.0.88")], said=IS_NEWER, fix=RUNTIME, command="uv pip install"
    ),
    "headers of 13.5 with NVRTC 13.0 for a source without": Case([NEWER_HEADERS | wheels("13.0.88")], outside=None),
    "headers of 13.0 with NVRTC 13.5": Case([HERE | wheels("13.5.37")]),
    "newer headers in a prefix before that of NVRTC and its own": Case([NEWER_HEADERS, HERE]),
    "newer wheels in a prefix behind": Case([HERE, NEWER]),
    "NVRTC in one, newer headers in the next": Case([wheels("13.0.88"), NEWER_HEADERS], said=IS_NEWER, fix=RUNTIME),
    "conda": Case(loaded="13.0.88", conda="13.0.96"),
    "conda with newer headers": Case(
        loaded="13.0.88", conda="13.5.37", said=IS_NEWER, fix="cuda-nvrtc cuda-cudart-dev", command=CONDA
    ),
    "an older libnvrtc in LD_LIBRARY_PATH": Case(loaded="13.0.48", system="13.5.37", said=IS_NEWER, fix=WHOLE),
    "an older libnvrtc for a source without headers": Case(loaded="13.0.48", system="13.5.37", outside=None),
    "an older nvJitLink": Case(
        [NEWER | wheels(nvjitlink="13.0.88")],
        finisher="nvjitlink",
        said="nvJitLink 13.0.88 (",
        fix=f'"{pinned("nvjitlink", (13, 5))}"',
    ),
    "a newer nvJitLink": Case([HERE | wheels(nvjitlink="13.5.37")], finisher="nvjitlink"),
    "no nvJitLink": Case([wheels("13.0.88")], outside=None, finisher="nvjitlink", said="is not installed", fix=LINKER),
}  # fmt: skip


@pytest.fixture
def make(tmp_path, monkeypatch, write, fresh_cache):
    """Return a function that makes an install, the only one that this process finds, and returns the toolchain."""

    def make_install(case):
        sites = [tmp_path / f"prefix{number}" / "site-packages" for number in range(len(case.prefixes))]
        for site, named in zip(sites, case.prefixes, strict=True):
            site.mkdir(parents=True)
            for name, version in named.items():
                files = {f"{FOLDER}/{file}": macros(version) for file in FILES[name]}
                install(site, name, version, files)
        system = []
        if case.system:
            for file in (file for name in FILES for file in FILES[name] if file.startswith("include/")):
                write(f"cuda/{file}", macros(case.system))
            parts = ("cuda_cccl", "cuda_nvcc", "cuda_cudart")
            write("cuda/version.json", json.dumps({part: {"version": case.system} for part in parts}))
            system = [tmp_path / "cuda/include", tmp_path / "cuda/include/cccl"]
        if case.conda:
            for file in FILES["nvidia-cuda-runtime"]:
                write(f"conda/targets/x86_64-linux/{file}", macros(case.conda))
            write("conda/conda-meta/cuda-cudart-dev_linux-64-1.json", json.dumps({"version": case.conda}))
            system = [tmp_path / "conda/targets/x86_64-linux/include"]
            monkeypatch.setattr(sys, "prefix", str(tmp_path / "conda"))
        monkeypatch.setattr(packages, "made_by", lambda: "uv" if case.command.startswith("uv") else "pip")
        monkeypatch.setattr(packages, "_uv", lambda: "uv pip install")
        monkeypatch.setattr(sys, "path", [*map(str, sites)])
        monkeypatch.setattr(toolchain, "_system_folders", lambda part: system)
        monkeypatch.setattr(toolchain, "ask_nvrtc", lambda: case.loaded)
        monkeypatch.setattr(toolchain, "_loaded_nvjitlink", lambda: "")
        return find_toolchain()

    return make_install


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_works_together_compiles(make, case):
    """Nothing that works is refused; of the rest, what was found is named, and one command that mends it."""
    found = make(case)
    problem = disagreement(found, case.outside, finisher=case.finisher, opened=lambda: case.outside or ())
    assert (problem is None) == (not case.said), problem
    if problem is not None:
        assert case.said in problem.message
        assert problem.fix == f"{case.command} {case.fix}"


def test_the_newer_of_two_prefixes_comes_last(make):
    """Headers are those beside NVRTC where another prefix has newer ones, whichever comes first."""
    found = make(CASES["newer headers in a prefix before that of NVRTC and its own"])
    assert [folder.split("/")[-5] for folder in found.include_dirs if folder.endswith("include")] == [
        "prefix1",
        "prefix0",
    ]


PLAIN = 'extern "C" __global__ void k(int* p) { *p = 1; }\n'
MANIFEST = """
    schema: 1
    arches: [sm_80]
    modules:
      plain: {source: plain.cu}
      half: {source: half.cu}
"""


@pytest.fixture
def newer_headers(tmp_path, monkeypatch, fresh_cache):
    """Return a function after which this process finds headers of a newer release than its NVRTC."""

    def find_newer():
        install(tmp_path / "site", "nvidia-cuda-runtime", "13.99.1", {f"{FOLDER}/include/cuda_runtime.h": ""})
        monkeypatch.syspath_prepend(tmp_path / "site")
        load_toolchain.cache_clear()

    yield find_newer
    load_toolchain.cache_clear()


@pytest.mark.slow
def test_all_say_the_same(newer_headers, make_project):
    """``explain``, a compile of a store's source, one of a text, and ``doctor`` name the same problem and command."""
    half = '#include <cuda_fp16.h>\nextern "C" __global__ void h(__half* p) { *p = *p + *p; }\n'
    root = make_project(MANIFEST, **{"plain.cu": PLAIN, "half.cu": half})
    build_store(load_manifest(root / "kernels.yaml"), root / "out")
    newer_headers()
    store, found = open_store(root / "out"), find_toolchain()
    problem = disagreement(found, FP16, finisher="nvrtc")
    assert "cudart 13.99.1" in problem.message
    told = store.explain("h", arch="sm_90", driver=(13, 0))
    assert problem.message in [candidate.reason for candidate in told.candidates]
    assert problem.fix in told.fixes
    with pytest.raises(NoImageError) as refused:
        store.find_image("h", arch="sm_90", driver=(13, 0))
    assert refused.value.fixes == told.fixes
    with pytest.raises(ToolchainError) as caught:
        compile_to_ptx(half, arch="compute_90")
    assert (caught.value.message, caught.value.fix) == problem[:2]
    headers = probes._headers("")
    assert headers.problem == problem
    findings = {name: Finding({}) for name in ("nvjitlink", "ptxas", "cache", "tools", "bindings")}
    nvrtc = Finding({"version": found.nvrtc, "archs": ["sm_90"]})
    findings |= {"nvrtc": nvrtc, "headers": headers, "driver": Finding({"devices": []})}
    assert _verdict("jit", findings).fix == problem.fix
    assert store.find_image("k", arch="sm_90", driver=(13, 0)).origin == "jitted"


@pytest.mark.slow
def test_what_a_condition_may_leave_out_is_not_missed(make_project, monkeypatch, fresh_cache):
    """Without headers, a source compiles that takes them only where they are; one that takes them anyway is refused."""
    guarded = f"#if __has_include(<cuda_fp16.h>)\n#include <cuda_fp16.h>\n#endif\n{PLAIN}"
    monkeypatch.setattr(toolchain, "header_folders", lambda major: iter(()))
    load_toolchain.cache_clear()
    try:
        assert compile_to_ptx(guarded, arch="compute_90").image
        with pytest.raises(ToolchainError, match=r"that have cuda_fp16\.h"):
            compile_to_ptx(f"#include <cuda_fp16.h>\n{PLAIN}", arch="compute_90")
    finally:
        load_toolchain.cache_clear()


def test_an_older_nvrtc_than_the_builds_is_named():
    """It is not refused, because most sources compile with it, too."""
    built = SimpleNamespace(module=SimpleNamespace(toolchain={"nvrtc": "13.5.37"}))
    assert compile_rungs._older(built, Toolchain("13.0.88")) == ", older than the build's 13.5.37"
    assert compile_rungs._older(built, Toolchain("13.5.20")) == ""


@pytest.mark.slow
def test_a_failure_with_an_older_nvrtc_says_what_the_build_had(make_project, monkeypatch, fresh_cache):
    """A source that uses what is new in the build's release fails with a note that names the command."""
    manifest = 'schema: 1\narches: [sm_80]\nmodules: {fill: {source: fill.cu, instances: ["fill<int>"]}}\n'
    root = make_project(manifest, **{"fill.cu": "template <class T> __global__ void fill(T* p) { *p = T(); }\n"})
    build_store(load_manifest(root / "kernels.yaml"), root / "out")
    monkeypatch.setattr(compile_rungs, "_older", lambda request, toolchain: ", older than the build's 13.5.37")
    with pytest.raises(CompileError) as failed:
        open_store(root / "out").find_image("fill<missing>", arch="sm_80", driver=(13, 0))
    (note,) = failed.value.__notes__
    assert note.startswith(f"NVRTC is {load_toolchain().nvrtc}, older than the build's 13.5.37\n  to fix: ")
    assert "nvidia-cuda-nvrtc==" in note
