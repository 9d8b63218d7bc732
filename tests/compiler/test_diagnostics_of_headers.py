"""What a failed compile says of a header that NVRTC could not open."""

from __future__ import annotations

import re

import pytest
from small_jobs import job_of

from hatch_cuda_kernels.compiler import nvrtc
from hatch_cuda_kernels.compiler.binary.log import Diagnostic
from hatch_cuda_kernels.compiler.diagnostics import header_advice
from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.options import NvrtcOptions


@pytest.fixture
def failure(write, tmp_path, monkeypatch):
    """Return a function that compiles a source where no toolkit header is installed, and returns the error."""
    bare = load_toolchain()._replace(include_dirs=())
    monkeypatch.setattr(nvrtc, "load_toolchain", lambda: bare)

    def compile_source(source: str, *, options=None, **files: str) -> CompileError:
        for name, text in {"k.cu": source, **files}.items():
            write(f"p/{name}", text)
        with pytest.raises(CompileError) as caught:
            nvrtc.run_job(job_of(tmp_path / "p", options=options))
        return caught.value

    return compile_source


ADVICE = {
    "#include <threads.h>": r"no host library; .* #ifndef __CUDACC_RTC__",
    "#include <cub/util_type.cuh>": r'python3 -m pip install "nvidia-cuda-cccl==13\.\d\.\*" brings it',
    "#include <thrust/pair.h>": r'pip install "nvidia-cuda-cccl==',
    "#include <cuda/atomic>": r'pip install "nvidia-cuda-cccl==',
    "#include <nv/target>": r'pip install "nvidia-cuda-cccl==',
    "#include <cuda_fp16.h>": r'pip install "nvidia-cuda-runtime==13\.\d\.\*" brings it',
    "#include <cooperative_groups.h>": r'pip install "nvidia-cuda-runtime==',
    "#include <cooperative_groups/reduce.h>": r'pip install "nvidia-cuda-runtime==',
    '#include "cuda_runtime.h"': r'pip install "nvidia-cuda-runtime==',
    "#include <crt/mma.h>": r'pip install "nvidia-cuda-crt==13\.\d\.\*" brings it',
    "#include <mma.h>": r'pip install "nvidia-cuda-runtime==\S+ "nvidia-cuda-crt==\S+ brings it',
    "#include <curand_kernel.h>": r'pip install "cuda-toolkit\[curand\]==13\.\d\.\*" brings it',
    "#define T <tables/t.inc>\n#include T": r"a macro names it; .* under 'headers:'",
    '#include "lib/x.h"': r"it is not in the project; list its folder under 'include:'",
    '#include "cuda_helpers.h"': r"it is not in the project",
    '#include "cuda/helpers.cuh"': r"it is not in the project",
    '#include "../x.h"': r"it is not in the project",
}


@pytest.mark.parametrize(("include", "advice"), ADVICE.items(), ids=ADVICE.keys())
def test_a_missing_header_says_what_to_do(failure, include, advice):
    """Each kind of header has its own remedy, of the release that NVRTC has; the log shows where it is included."""
    error = failure('#include "deep/a.h"\n', **{"deep/a.h": f"\n{include}\n"})
    [fault] = error.faults
    place, _, fix = fault.partition("to fix: ")
    assert re.search(advice, fix), fault
    assert place.startswith("deep/a.h:")


def test_cuda_12_has_wheels_of_other_names():
    """Advice for NVRTC 12 names the packages that end in -cu12; its compiler's headers come with nvcc."""
    message = 'could not open source file "{}" (no directory list)'
    advice = {
        "cub/cub.cuh": '"nvidia-cuda-cccl-cu12==12.9.*"',
        "crt/host_config.h": '"nvidia-cuda-nvcc-cu12==12.9.*"',
        "curand.h": '"cuda-toolkit[curand]==12.9.*"',
    }
    for name, package in advice.items():
        found = Diagnostic("k.cu", 1, "catastrophic error", message.format(name))
        assert header_advice(found, computed=(), release=(12, 9)) == f"python3 -m pip install {package} brings it"


def test_another_failure_is_no_missing_header(failure):
    """A source that NVRTC refuses for its own sake is not blamed on headers, whatever its text says."""
    error = failure('#error "cannot open source file"\n')
    assert "to fix" not in str(error)


def test_without_the_standard_headers_the_option_is_named(failure):
    """Who turned them off, for other sources perhaps, reads that they would have answered."""
    error = failure("#include <cstdint>\n", options=NvrtcOptions(standard_headers=False))
    assert "to fix: NVRTC has no host library; without 'standard_headers: false'" in str(error)
