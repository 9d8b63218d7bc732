"""A build precompiles the headers with which enough of its jobs begin, and its images do not show it."""

from __future__ import annotations

import pytest
from processes import linux

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.compiler.precompiled import can_precompile
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.plan import make_plan
from hatch_cuda_kernels.pool.executors import Task
from hatch_cuda_kernels.pool.schedule import choose_preambles

pytestmark = [linux, pytest.mark.skipif(not can_precompile(), reason="needs NVRTC 12.8 or newer")]

KERNEL = 'extern "C" __global__ void k{}(int* y) {{ y[0] = {}; }}\n'
CUB = "#include <cub/block/block_load.cuh>\n"
TUPLE = "#include <cuda/std/tuple>\n"


@pytest.fixture
def make_jobs(make_project):
    """Return a function that gives the jobs of sources that begin with some text, one module for each."""

    def make(*beginnings, options="{}", arches="[sm_90]"):
        modules = ", ".join(f"m{number}: {{source: m{number}.cu}}" for number in range(len(beginnings)))
        manifest = f"{{schema: 1, arches: {arches}, options: {options}, modules: {{{modules}}}}}"
        sources = {f"m{number}.cu": text + KERNEL.format(number, number) for number, text in enumerate(beginnings)}
        root = make_project(manifest, **sources)
        return [job for planned in make_plan(load_manifest(root / "kernels.yaml")) for job in planned.jobs]

    return make


def chosen(jobs, workers=1):
    """Return the preamble of each job, None for none."""
    found = choose_preambles(jobs, workers)
    return [found.get(id(job)) for job in jobs]


@pytest.mark.slow
def test_jobs_that_begin_alike_share_a_preamble(make_jobs):
    """The headers that they have in common, in the order in which each of them reads these."""
    jobs = make_jobs(
        *(CUB + f"#include <cub/block/block_{name}.cuh>\n" for name in ("scan", "store", "reduce", "shuffle"))
    )
    first, *others = chosen(jobs)
    assert others == [first] * 3
    assert first.headers[-1] == "<cub/block/block_load.cuh>"
    assert first.worth <= 4


@pytest.mark.slow
def test_other_headers_are_another_preamble(make_jobs):
    """Also those of the toolkit, whose texts are not in memory: NVRTC takes what it is given for what it should be."""
    jobs = make_jobs(*["#include <cuda/std/tuple>\n"] * 4, *["#include <cuda/std/array>\n"] * 4)
    found = chosen(jobs)
    assert None not in found
    assert len({preamble.digest for preamble in found}) == 2
    assert len({(preamble.digest, preamble.headers) for preamble in found}) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "modules",
    [
        'm0: {source: m0.cu, instances: ["t<1>"]}, m1: {source: m1.cu}, m2: {source: m2.cu}',
        'm0: {source: m0.cu, chunk: 1, instances: ["t<1>", "t<2>", "t<3>"]}',
    ],
)
def test_headers_that_include_each_other_build(make_project, tmp_path, fresh_cache, worker_processes, modules):
    """From three jobs on, those of one source among them, a build looks for what is worth precompiling."""
    header = '#pragma once\n#include "{}.cuh"\n__device__ inline int f{}() {{ return 1; }}\n'
    root = make_project(
        f"{{schema: 1, arches: [sm_90], modules: {{{modules}}}}}",
        **{f"m{number}.cu": KERNEL.format(number, number) for number in (1, 2)},
        **{"m0.cu": '#include "a.cuh"\ntemplate <int> __global__ void t(int* y) { *y = fa() + fb(); }\n'},
        **{"a.cuh": header.format("b", "a"), "b.cuh": header.format("a", "b")},
    )
    report = build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out")
    assert len(report.compiled) == 3


@pytest.mark.slow
def test_few_jobs_share_none(make_jobs):
    """To precompile takes longer than to compile two sources."""
    assert chosen(make_jobs(CUB, CUB)) == [None, None]


@pytest.mark.slow
def test_other_flags_have_other_preambles(make_jobs):
    """NVRTC begins with a precompiled header only if it was made with the same flags."""
    jobs = make_jobs(*[CUB] * 3, arches="[sm_80, sm_90]")
    found = {str(job.arch): preamble for job, preamble in zip(jobs, chosen(jobs), strict=True)}
    assert found["sm_80"].headers == found["sm_90"].headers
    assert found["sm_80"].digest != found["sm_90"].digest


def test_what_would_show_in_an_image_is_not_moved(make_jobs):
    """LTO-IR and debug information have traces of a precompiled header, but of NVRTC's own texts before a program."""
    lto = chosen(make_jobs(*[TUPLE] * 9, options="{lto: true}"))
    assert {preamble and preamble.headers for preamble in lto} <= {(), None}
    assert chosen(make_jobs(*[CUB] * 4, options="{debug: true}")) == [None] * 4


def test_nothing_is_precompiled_where_there_is_no_room(make_jobs, monkeypatch):
    """A worker that precompiles takes more memory."""
    monkeypatch.setattr("hatch_cuda_kernels.pool.schedule.free_bytes", lambda: 1 << 30)
    assert chosen(make_jobs(*[CUB] * 4), workers=2) == [None] * 4


@pytest.mark.slow
def test_a_build_with_preambles_gives_the_same_store(make_project, tmp_path, monkeypatch, worker_processes):
    """Byte for byte, whichever of its jobs began with one."""
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(tmp_path / "cache"))
    modules = ", ".join(f"m{number}: {{source: m{number}.cu}}" for number in range(4))
    sources = {
        f"m{number}.cu": (TUPLE if number < 3 else "") + KERNEL.format(number, "threadIdx.x") for number in range(4)
    }
    root = make_project(f"{{schema: 1, arches: [sm_90], modules: {{{modules}}}}}", **sources)
    manifest = load_manifest(root / "kernels.yaml")
    made = []
    announce = Task.announce

    def record(self, alike):
        # How many wait when a worker has started is a matter of speed.
        announce(self, max(alike, 4))
        made.append(self._makes)

    stores = []
    monkeypatch.setattr(Task, "announce", record)
    for preambles in (choose_preambles, lambda *_: {}):
        monkeypatch.setattr("hatch_cuda_kernels.pool.schedule.choose_preambles", preambles)
        monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(tmp_path / f"cache{len(stores)}"))
        out = tmp_path / f"out{len(stores)}"
        build_store(manifest, out, workers=2)
        stores.append({path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()})
    assert stores[0] == stores[1]
    assert any(made)
