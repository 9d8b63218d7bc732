"""A compile that begins with a precompiled header gives what it gives without, also where something is wrong."""

from __future__ import annotations

import pytest
from include_graphs import two_processes
from precompiled_here import in_use
from processes import linux
from slow_parameters import slow_but
from small_jobs import job_of

from hatch_cuda_kernels.child_process import ChildProcess
from hatch_cuda_kernels.compiler.precompiled import Beginning, Preamble, Toolkit, can_precompile
from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.options import NvrtcOptions, override_options
from hatch_cuda_kernels.pool.executors import Task, compile_task, needed_tools

pytestmark = [linux, pytest.mark.skipif(not can_precompile(), reason="needs NVRTC 12.8 or newer")]

HEADER = "#pragma once\n#include <cuda/std/limits>\ntemplate <class T> __device__ T twice(T x) { return x + x; }\n"
SOURCE = """#include "h.h"
extern "C" __global__ void k(int* y) { y[0] = twice(y[1]) + __LINE__; }
"""


@pytest.fixture
def compile_begun():
    """Return a function that compiles jobs one after another in one process, each with all it can begin with.

    It gives the outcomes, and how many of the jobs did begin with a precompiled header.
    """

    def run(*jobs, headers=None):
        outcomes = []
        with ChildProcess() as child:
            for job in jobs:
                toolkit = Toolkit(load_toolchain().include_dirs, job.program.outside)
                found = Beginning(job.program, job.options, toolkit)
                begins = found.headers if headers is None else headers
                task = Task(needed_tools([job]), job, Preamble(begins, found.digest(begins), 1))
                task.announce(1)
                try:
                    outcomes.append(child.call((compile_task, (task,), {})))
                except CompileError as error:
                    outcomes.append(error)
            begun = child.call((in_use, (), {}))
        return outcomes, begun

    return run


@pytest.fixture(scope="module")
def cycles():
    """Return a function that gives the outcome of a random project."""
    with two_processes() as outcome:
        yield outcome


def plain(job):
    """Return what a job gives without."""
    (compiled,) = [compile_task(Task(needed_tools([job]), job))]
    return compiled


def facts(compiled):
    """Return what must be the same."""
    return compiled.images, compiled.kernels, compiled.globals, compiled.resources, compiled.log


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "options"),
    [
        (SOURCE, {}),
        (SOURCE, {"lineinfo": True}),
        (SOURCE, {"use_fast_math": True, "std": "c++20", "define": (("A", "3"),)}),
        ("#include <cub/block/block_reduce.cuh>\n" + SOURCE, {}),
        (SOURCE.replace('#include "h.h"', '#include "h.h"\n#include <cuda_fp16.h>'), {}),
        (SOURCE, {"pre_include": ("first.h", "again.h")}),
        (SOURCE + "__global__ void unused_host_pointer(int* p) { int never; }\n", {}),
    ],
    ids=["plain", "lineinfo", "options", "cub first", "the toolkit after", "before the source", "warning"],
)
def test_images_and_warnings_are_the_same(tmp_path, compile_begun, source, options):
    """Nothing of a precompiled header shows."""
    (tmp_path / "k.cu").write_text(source)
    (tmp_path / "h.h").write_text(HEADER)
    (tmp_path / "first.h").write_text("#pragma once\nstruct First { int a; };\n")
    (tmp_path / "again.h").write_text("extern __device__ int again;\n")
    job = job_of(tmp_path, options=override_options(NvrtcOptions(), **options))
    outcomes, begun = compile_begun(job, job)
    assert begun
    assert [facts(outcome) for outcome in outcomes] == [facts(plain(job))] * 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", slow_but(range(4), range(24)))
def test_headers_that_include_each_other(tmp_path, cycles, seed):
    """In random projects, nothing of a precompiled header shows; ``include_graphs.py`` tries more of them."""
    assert cycles(seed, tmp_path) in {"precompiled", "same", "refused"}


@pytest.mark.slow
def test_the_smallest_source_begins_with_what_nvrtc_puts_before_it(tmp_path, compile_begun):
    """Also a source without headers, with one that is included before it: NVRTC takes no other header before it."""
    (tmp_path / "first.h").write_text("#define LINE __LINE__\n")
    (tmp_path / "k.cu").write_text('extern "C" __global__ void k(int* y) { y[0] = LINE; }\n')
    job = job_of(tmp_path, options=NvrtcOptions(pre_include=("first.h",)))
    outcomes, begun = compile_begun(job, headers=())
    assert begun
    assert facts(outcomes[0]) == facts(plain(job))


@pytest.mark.slow
def test_a_changed_header_is_never_taken_for_the_old_one(tmp_path, compile_begun):
    """NVRTC would not notice: the header's text is in memory."""
    (tmp_path / "k.cu").write_text(SOURCE)
    jobs = []
    for factor in ("x + x", "x * 7"):
        (tmp_path / "h.h").write_text(HEADER.replace("x + x", factor))
        jobs.append(job_of(tmp_path))
    outcomes, _ = compile_begun(*jobs)
    assert [facts(outcome) for outcome in outcomes] == [facts(plain(job)) for job in jobs]
    assert outcomes[0].images != outcomes[1].images


@pytest.mark.slow
def test_an_error_is_told_as_without(tmp_path, compile_begun):
    """A source that NVRTC refuses has its own lines in the message."""
    (tmp_path / "h.h").write_text(HEADER)
    (tmp_path / "k.cu").write_text(f"{SOURCE}__device__ int broken = missing;\n")
    job = job_of(tmp_path)
    with pytest.raises(CompileError) as without:
        plain(job)
    (outcome,), _ = compile_begun(job)
    assert str(outcome) == str(without.value)
    assert "k.cu:3" in str(outcome)


@pytest.mark.slow
def test_a_header_with_warnings_is_not_precompiled(tmp_path, compile_begun):
    """NVRTC tells what is wrong in a header where it reads it, and each compile has to say so."""
    (tmp_path / "k.cu").write_text('#include <crt/host_defines.h>\nextern "C" __global__ void k() {}\n')
    job = job_of(tmp_path)
    (outcome,), begun = compile_begun(job, headers=("<crt/host_defines.h>",))
    assert not begun
    assert facts(outcome) == facts(plain(job))
    assert "must not be used directly" in outcome.log
