"""Sharing the front end, as it is planned: which architecture is compiled for which, what cannot be, what is frozen."""

from __future__ import annotations

import pytest
from small_jobs import job_of

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.finish import LinkInput, assemble, link
from hatch_cuda_kernels.compiler.job import FinishInput
from hatch_cuda_kernels.compiler.nvrtc import run_job
from hatch_cuda_kernels.compiler.toolchain.libraries import require_ptxas
from hatch_cuda_kernels.compiler.toolchain.toolchain import Toolchain, load_toolchain
from hatch_cuda_kernels.errors import CompileError, ManifestError
from hatch_cuda_kernels.execution_space import NOT_CUT, DeviceSource, SourceSet
from hatch_cuda_kernels.includes import read_closure
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.options import NvrtcOptions
from hatch_cuda_kernels.plan import make_plan
from hatch_cuda_kernels.plan.notes import arch_uses

#: Architectures, how they share, the shared run ("" for none), what it gives, and what NVRTC compiles besides.
LAID_OUT = {
    "the lowest": ("sm_90, sm_80, sm_120", "ptx", "sm_80", "sm_80 sm_90 sm_120", ""),
    "the lowest, from LTO-IR": ("sm_90, sm_80, sm_120", "lto", "sm_80", "sm_90 sm_120", ""),
    "lowest is virtual only": ("compute_75, sm_80", "ptx", "sm_75", "sm_80", ""),
    "PTX comes from a run of its own": ("sm_80, sm_90, sm_120, compute_120", "ptx", "sm_80", "sm_80 sm_90", "sm_120"),
    "PTX comes from LTO-IR": ("sm_80, sm_90, sm_120, compute_120", "lto", "sm_80", "sm_90 sm_120", ""),
    "one architecture": ("sm_80", "ptx", "", "", "sm_80"),
    "PTX only": ("compute_80, compute_90", "ptx", "", "", "sm_80 sm_90"),
    "integrated parts": ("sm_87, sm_90, sm_110", "ptx", "sm_87", "sm_87 sm_90 sm_110", ""),
    "plain code for suffixed ones": ("sm_90, sm_90a, sm_100a, sm_120f", "lto", "sm_90", "sm_90a sm_100a sm_120f", ""),
    "suffixed with PTX of its own": ("sm_80, sm_86, sm_90a, compute_90a", "ptx", "sm_80", "sm_80 sm_86", "sm_90a"),
    "one family": ("sm_100f, sm_100a, sm_103", "ptx", "sm_100f", "sm_100f sm_100a sm_103", ""),
}


def plan_of(make_project, arches, how, options="{}", **files):
    """Return the one planned module of a project."""
    source = "a.cu" if "a.cu" in files else "saxpy.cu"
    module = f"{{source: {source}, arches: [{arches}], front_end: {how}, options: {options}}}"
    root = make_project(f"{{schema: 1, modules: {{m: {module}}}}}", **files)
    return make_plan(load_manifest(root / "kernels.yaml"))[0]


@pytest.mark.parametrize(("arches", "how", "shared", "finished", "compiled"), LAID_OUT.values(), ids=LAID_OUT.keys())
def test_plan(make_project, arches, how, shared, finished, compiled):
    """One run at the lowest architecture serves all that need none of their own; the store's images stay the same."""
    planned = plan_of(make_project, arches, how)
    assert [str(job.arch) for job in planned.finishing] == finished.split()
    assert {str(job.fronts[0].arch) for job in planned.finishing} == ({shared} if shared else set())
    assert {str(job.arch) for job in planned.jobs} == {*compiled.split(), *filter(None, [shared])}
    assert planned.images == plan_of(make_project, arches, "per-arch").images


NOT_SHARED = {
    "two suffixes": ("sm_90a, sm_100a", "ptx", "sm_90a, sm_100a does: code for sm_90a goes to no other architecture"),
    "a suffix below": ("sm_90a, sm_120", "lto", "sm_90a, sm_120 does: code for sm_90a goes to no other architecture"),
    "two families": ("sm_100f, sm_120", "ptx", "sm_100f, sm_120 does: code for sm_100f goes to no other family"),
}


@pytest.mark.parametrize(("arches", "how", "why"), NOT_SHARED.values(), ids=NOT_SHARED.keys())
def test_architectures_that_cannot_share(make_project, arches, how, why):
    """Dropping a suffix silently would drop its features, so such a list is an error with both ways out."""
    with pytest.raises(ManifestError) as caught:
        plan_of(make_project, arches, how)
    (problem,) = caught.value.problems
    assert problem.startswith(f"kernels.yaml:1:23: modules.m: front_end: {how} needs one architecture")
    assert why in problem
    assert "write front_end: per-arch, or add sm_" in problem


def test_ptx_and_the_lto_option_contradict_each_other(make_project):
    """A module that makes LTO-IR has no PTX to start from."""
    with pytest.raises(ManifestError, match="front_end: ptx starts from PTX, and lto: true makes none"):
        plan_of(make_project, "sm_80, sm_90", "ptx", "{lto: true}")


@pytest.mark.parametrize("finisher", ["ptxas", "nvjitlink"])
def test_the_table_of_what_serves_what_is_the_finishers(write, tmp_path, slow, finisher):
    """PTX of an architecture is finished for those that the rule says, and refused for all others."""
    write("p/k.cu", 'extern "C" __global__ void k(int* y) { *y = 1; }')
    names = "sm_80 sm_87 sm_90 sm_90a sm_100 sm_100a sm_100f sm_103 sm_103a sm_110 sm_120 sm_120f sm_121"
    archs = [SmArch.parse(name) for name in names.split()]
    for arch in archs:
        job = job_of(tmp_path / "p", arch=str(arch), kinds=("ptx",))
        ptx = run_job(job).images["ptx"]
        done = {str(target) for target in archs if finishes(finisher, ptx, target)}
        assert done == {str(target) for target in archs if arch.serves(target)}


def finishes(finisher, ptx, arch):
    """Return whether PTX is finished for an architecture."""
    try:
        if finisher == "nvjitlink":
            return bool(link(LinkInput(ptx, "ptx", "m"), arch=arch, options=NvrtcOptions(), name="m").image)
        path = require_ptxas(load_toolchain().nvrtc).path
        return bool(assemble(path, ptx.decode(), arch=arch, options=NvrtcOptions(), name="m").image)
    except CompileError:
        return False


TOOLCHAIN = Toolchain("13.0.88", "cccl 13.0.85", nvjitlink="13.0.88", ptxas="13.0.88")


def finished_keys(make_project, arches="sm_80, sm_90", how="ptx", options="{}", toolchain=TOOLCHAIN):
    """Return the keys of what a module finishes for other architectures than the front end's."""
    jobs = (job for job in plan_of(make_project, arches, how, options).finishing if job.arch != job.fronts[0].arch)
    return {job.key(kind, toolchain) for job in jobs for kind in job.kinds}


@pytest.mark.parametrize(
    "changed",
    [
        {"arches": "sm_75, sm_90"},
        {"arches": "sm_80, sm_100"},
        {"how": "lto"},
        {"options": "{maxrregcount: 32}"},
        {"toolchain": TOOLCHAIN._replace(ptxas="13.0.99")},
        {"toolchain": TOOLCHAIN._replace(nvrtc="13.0.89")},
    ],
    ids=["front-end architecture", "target", "LTO-IR", "options", "ptxas", "NVRTC"],
)
def test_key_of_a_finished_image_differs_on(make_project, changed):
    """Everything that has a part in an image is in its key."""
    assert finished_keys(make_project).isdisjoint(finished_keys(make_project, **changed))


@pytest.mark.parametrize(("how", "other"), [("ptx", "nvjitlink"), ("lto", "ptxas")])
def test_key_of_a_finished_image_has_its_own_finisher_only(make_project, how, other):
    """Another version of the finisher that has no part in it changes nothing."""
    changed = TOOLCHAIN._replace(**{other: "13.1.0"})
    assert finished_keys(make_project, how=how) == finished_keys(make_project, how=how, toolchain=changed)


def test_key_of_a_finished_image_is_no_other_compiles(make_project):
    """A finished image never stands for the one that NVRTC compiles, which the run side asks for."""
    own = plan_of(make_project, "sm_80, sm_90", "per-arch")
    assert finished_keys(make_project).isdisjoint(job.key("cubin", TOOLCHAIN) for job in own.jobs)
    assert finished_keys(make_project, "sm_80, sm_90, sm_120") > finished_keys(make_project)


@pytest.mark.slow
def test_a_job_without_its_inputs_makes_them(make_project):
    """A planned one is complete in itself, too: what it finishes is compiled first."""
    _, job = plan_of(make_project, "sm_80, sm_90", "ptx").finishing
    front = run_job(job.fronts[0])
    given = job.starting_from([FinishInput.of(front.images["ptx"], front)])
    assert run_job(job).images == run_job(given).images


USES = """#include "in/h.h"
#ifdef __CUDA_ARCH__
#endif
#if defined(__CUDA_ARCH__) && defined __CUDA_ARCH__
#endif
// __CUDA_ARCH__ in a comment, "and" in a string:
const char* text = "__CUDA_ARCH__";
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#endif
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#endif
__device__ int arch() { return __CUDA_ARCH__ + __CUDA_ARCH__; }
"""
HEADER = "\n#define FAST NV_PROVIDES_SM_90\n"


def test_uses_of_the_architecture_are_located(write, tmp_path):
    """Values and features count, in the source and its headers; tests for device code, comments and texts do not."""
    write("p/k.cu", USES)
    write("p/in/h.h", HEADER)
    sources = SourceSet((DeviceSource.of(read_closure(tmp_path / "p", "k.cu"), NOT_CUT),))
    assert arch_uses(sources) == ("in/h.h:2", "k.cu:8", "k.cu:10", "k.cu:12")
