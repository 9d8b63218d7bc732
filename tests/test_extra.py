"""Flags that are passed through: every one that is taken works on every route, and all others are refused by name."""

from __future__ import annotations

import pytest
from slow_parameters import slow_but
from small_jobs import job_of

from hatch_cuda_kernels import options
from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.child_process import ChildProcess
from hatch_cuda_kernels.compiler import nvrtc
from hatch_cuda_kernels.compiler.finish import LinkInput, link
from hatch_cuda_kernels.compiler.nvrtc import run_job
from hatch_cuda_kernels.errors import ManifestError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.options import NvrtcOptions, assembler_flags, extra_refusal
from hatch_cuda_kernels.plan import make_plan

SOURCE = 'extern "C" __global__ void k(float* y, int n) { for (int i = 0; i < n; ++i) y[i] = y[i] * y[n - i] + i; }'
#: One value that each pattern of values takes.
VALUES = {"": "", options._SWITCH: "=false", options._NUMBERS: "=177", options._LEVEL: "=min", options._CACHES: "=cg"}
VALUES |= {r"[0-9]{1,3}": "=50", "inline": "=inline", "[0-3]": "=1", "[0-9]|10": "=5"}


def written(name, known):
    """Return a flag with a value that it takes."""
    return name + VALUES[known.value]


NVRTC_FLAGS = [written(name, known) for name, known in options._NVRTC.items()]
PTXAS_FLAGS = [f"-Xptxas={written(name, known)}" for name, known in options._PTXAS.items()]
#: NVRTC takes them for newer architectures only.
NEWER = {"-device-float128": "sm_100", "--device-float128": "sm_100"}


@pytest.fixture
def source(write, tmp_path):
    """Return a folder with a source."""
    write("p/k.cu", SOURCE)
    return tmp_path / "p"


@pytest.fixture(scope="module")
def child(isolation):
    """Return a process for all compiles with flags; elsewhere, each has one to itself."""
    with ChildProcess() as process:
        yield process


@pytest.mark.parametrize("flag", slow_but([*NVRTC_FLAGS, *PTXAS_FLAGS][::4], [*NVRTC_FLAGS, *PTXAS_FLAGS]))
def test_what_is_taken_is_known_to_the_compiler(source, child, flag):
    """Every flag of the list compiles, in the spelling listed."""
    assert extra_refusal(flag) is None
    job = job_of(source, arch=NEWER.get(flag, "sm_90"), options=NvrtcOptions(extra=(flag,)))
    assert child.call((nvrtc._compile_here, (job,), {})).images


@pytest.fixture(scope="module")
def ptx(tmp_path_factory):
    """Return the source's PTX."""
    root = tmp_path_factory.mktemp("extra")
    (root / "k.cu").write_text(SOURCE)
    return run_job(job_of(root, kinds=("ptx",))).images["ptx"]


@pytest.mark.parametrize("flag", slow_but(PTXAS_FLAGS[::4], PTXAS_FLAGS))
def test_the_assemblers_flags_reach_nvjitlink(ptx, flag):
    """Each flag of ptxas is one that nvJitLink hands on."""
    assert link(LinkInput(ptx, "ptx", "m"), arch=SmArch(9, 0), options=NvrtcOptions(extra=(flag,)), name="m").image
    assert assembler_flags((flag, "--restrict")) == (flag.removeprefix("-Xptxas="),)


REFUSED = {
    "--fmad=false": "write 'fma: true' or 'fma: false'",
    "-fmad=true": "write 'fma: true' or 'fma: false'",
    "--ftz=true": "write 'ftz: true'",
    "--prec-div=false": "write 'prec_div: true'",
    "-prec-sqrt=false": "write 'prec_sqrt: true'",
    "--use_fast_math": "write 'use_fast_math: true'",
    "-maxrregcount=32": "write 'maxrregcount: N'",
    "-G": "write 'debug: true'",
    "--device-debug": "write 'debug: true'",
    "-lineinfo": "write 'lineinfo: true'",
    "--generate-line-info": "write 'lineinfo: true'",
    "-arch=sm_90": "list architectures under 'arches'",
    "--gpu-architecture=sm_90": "list architectures under 'arches'",
    "-I/usr/include": "list header folders under 'include'",
    "-no-source-include": "list header folders under 'include'",
    "-DX=1": "list macros under 'define'",
    "-include=x.h": "list headers under 'pre_include'",
    "-dlto": "write 'lto: true'",
    "-rdc=true": "an image is one whole program",
    "--relocatable-device-code=true": "an image is one whole program",
    "-dc": "an image is one whole program",
    "-ewp": "an image is one whole program",
    "--pch": "precompiled header",
    "--frandom-seed=1": "the build sets it",
    "--split-compile=0": "depend on the number of threads",
    "-time=/dev/null": "it writes files",
    "-Xcudafe=-I/dir": "may read files which no key covers",
    "-Xnvvm=-opt": "may read files which no key covers",
    "-Xptxas=--options-file=/f": "it names a file",
    "-Xptxas=-o=/f": "it names a file",
    "-Xptxas=-v": "see 'hatch-cuda-kernels inspect'",
    "-Xptxas=-c": "an image is one whole program",
    "-Xptxas=-g": "write 'debug: true'",
    "-Xptxas=--fmad=false": "write 'fma: true'",
    "-Xptxas=-O1,-v": r"not among the flags known to reach every image \(did you mean -Xptxas=-O1\?\)",
    "-Xptxas": "takes a flag of ptxas, not ''",
    "-Xptxas -O1": "is not a flag; write one flag an item",
    "-Xptxas=-dlcm=xx": "-Xptxas=-dlcm takes ca or cg or .*, not 'xx'",
    "--restrict=true": "--restrict takes no value, not 'true'",
    "--resrict": r"not among the flags known to reach every image \(did you mean --restrict\?\)",
    "x.cu": "is not a flag",
}


@pytest.mark.parametrize(("flag", "advice"), REFUSED.items(), ids=REFUSED.keys())
def test_everything_else_is_refused(flag, advice):
    """What a key states, what would not reach every image, and what names a file is refused with what to write."""
    import re

    refusal = extra_refusal(flag)
    assert refusal is not None
    assert re.search(advice, refusal), refusal


CONFLICTS = {
    "debug with lto": ("{debug: true, lto: true}", "per-arch", "debug: true asks for unoptimized code, and lto: true"),
    "debug with a shared run": ("{debug: true}", "ptx", "debug: true asks for unoptimized code, and front_end: ptx"),
    "an optimizer's flag with lto": ("{lto: true, extra: [-Ofc=max]}", "per-arch", "-Ofc=max acts while NVRTC optimi"),
    "an optimizer's flag with a shared LTO run": ("{extra: [-jtd=50]}", "lto", "-jtd=50 acts while NVRTC optimizes"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("options", "front_end", "message"), CONFLICTS.values(), ids=CONFLICTS.keys())
def test_options_that_would_not_reach_every_image_are_refused(make_project, options, front_end, message):
    """An option that one of the ways to an image would drop silently is an error that names both."""
    text = "{schema: 1, arches: [sm_80, sm_90], modules: {m: {source: a.cu, options: %s, front_end: %s}}}"
    root = make_project(text % (options, front_end), **{"a.cu": SOURCE})
    with pytest.raises(ManifestError, match=message):
        make_plan(load_manifest(root / "kernels.yaml"))
