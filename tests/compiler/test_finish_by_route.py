"""Kernels x routes: the machine code of every route is NVRTC's own, or the table ``DIFFERENT`` says why it is not."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

import pytest
from front_ends import EXAMPLE, REPOSITORY

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.compiler.finish import LinkInput, link
from hatch_cuda_kernels.compiler.job import FinishInput, Recipe
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.compiler.toolchain.libraries import bindings_major
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.options import NvrtcOptions
from hatch_cuda_kernels.plan import lay_out_jobs
from hatch_cuda_kernels.pool.executors import WorkerExecutor, default_workers
from hatch_cuda_kernels.pool.schedule import How, compile_on

sys.path.append(str(REPOSITORY / "benchmarks"))
from build_sources import write_project
from machine_code import code, difference

pytestmark = pytest.mark.skipif(bindings_major() == 12, reason="the table is that of CUDA 13.0")

LOW, HIGH = SmArch(8, 0), SmArch(9, 0)
#: Beside those of the example project, whose radix_sort uses CUB: one light benchmark source of each other sort.
BENCHMARKS = ("gemm_0", "mixed_1", "random_0", "special_1", "stencil_1")
#: As headers of libraries have them: a table that nothing uses, before one that a kernel reads.
TABLES = """
__device__ const int unused[16] = {1, 2, 3};
__device__ const int used[16] = {4, 5, 6};
extern "C" __global__ void read(int* y) { y[threadIdx.x] = used[threadIdx.x % 16]; }
"""
ROUTES = (("per-arch", HIGH), ("ptx", LOW), ("ptx", HIGH), ("lto", LOW), ("lto", HIGH))

ADDRESSES = "an unused variable is left out, so addresses of others lie elsewhere in their table; nothing else differs"
FROZEN = "the shared run is for sm_80, whose __CUDA_ARCH__ chooses other code in the toolkit's headers than sm_90's"
AGAIN = "nvJitLink optimizes LTO-IR by itself, not as NVRTC does"
#: By module, route and architecture; what is not here is NVRTC's own machine code, byte for byte.
DIFFERENT = {
    ("tables", "per-arch", HIGH): ADDRESSES,
    ("tables", "ptx", LOW): ADDRESSES,
    ("tables", "ptx", HIGH): ADDRESSES,
    ("tables", "lto", LOW): ADDRESSES,
    ("tables", "lto", HIGH): ADDRESSES,
    ("random_0", "ptx", LOW): ADDRESSES,
    ("random_0", "ptx", HIGH): ADDRESSES,
    ("random_0", "lto", LOW): ADDRESSES,
    ("random_0", "lto", HIGH): ADDRESSES,
    ("radix_sort", "ptx", HIGH): FROZEN,
    ("radix_sort", "lto", HIGH): FROZEN,
    ("mixed_1", "ptx", HIGH): FROZEN,
    ("mixed_1", "lto", HIGH): FROZEN,
    ("filter", "lto", LOW): AGAIN,
    ("filter", "lto", HIGH): AGAIN,
    ("gemm_0", "lto", LOW): AGAIN,
    ("gemm_0", "lto", HIGH): AGAIN,
    ("stencil_1", "lto", LOW): AGAIN,
}


class Made(NamedTuple):
    """What the routes made of every module, and NVRTC's own, by module, route and architecture."""

    cubins: dict
    own: dict
    shared: dict
    """The PTX of the shared run, by module."""


@pytest.fixture(scope="module")
def recipes(tmp_path_factory, isolation):
    """Return (recipe, sources) of each module, with one instance of each template."""
    manifest = load_manifest(EXAMPLE / "kernels.yaml")
    found = [
        (replace(module.recipe, names=module.recipe.names[:1]), read_recipe(module.recipe, manifest.root))
        for module in manifest.modules
    ]
    project = write_project("30x8", tmp_path_factory.mktemp("30x8"))
    (project.root / "tables.cu").write_text(TABLES)
    recipes = [Recipe(module="tables", sources=("tables.cu",), options=NvrtcOptions())]
    for name in BENCHMARKS:
        options, instances = NvrtcOptions(include=("include",)), project.modules[name].instances[:1]
        recipes.append(Recipe(module=name, sources=(f"kernels/{name}.cu",), options=options, names=instances))
    return found + [(recipe, read_recipe(recipe, project.root)) for recipe in recipes]


@pytest.fixture(scope="module")
def made(recipes, slow):
    """Return what the routes make, compiled once for all tests here, in worker processes."""
    labels, jobs, finishing = {}, [], []
    for recipe, sources in recipes:
        for arch in (LOW, HIGH):
            jobs.append(recipe.job(sources, arch, ("cubin",)))
            labels[id(jobs[-1])] = (recipe.module, "own", arch)
        for route, arches in (("per-arch", [HIGH]), ("ptx", [LOW, HIGH]), ("lto", [LOW, HIGH])):
            compiles, finishes = lay_out_jobs(recipe, sources, arches, route)
            labels |= {id(job): (recipe.module, route, job.arch) for job in (*compiles, *finishes)}
            jobs += compiles
            finishing += finishes
    cubins, shared = {}, {}

    def follow(front, compiled):
        mine = (job for job in finishing if job.fronts[0] is front)
        following = [job.starting_from([FinishInput.of(compiled.images[job.input_kind], compiled)]) for job in mine]
        labels.update({id(job): (job.module, labels[id(front)][1], job.arch) for job in following})
        kept.extend(following)  # an id is one job's only while that lives
        return following

    kept = []
    with (
        WorkerExecutor(default_workers()) as workers,
        closing(compile_on(workers, jobs, How(following=finishing, follow=follow))) as outcomes,
    ):
        for job, outcome in outcomes:
            assert not isinstance(outcome, Exception), outcome
            if "cubin" in outcome.images:
                cubins[labels[id(job)]] = outcome.images["cubin"]
            elif "ptx" in outcome.images:
                shared[job.module] = outcome.images["ptx"]
    own = {(module, arch): cubins.pop((module, route, arch)) for module, route, arch in [*cubins] if route == "own"}
    return Made(cubins, own, shared)


def test_every_kernel_by_every_route(made, recipes):
    """The routes give NVRTC's own machine code, except where the table has a reason; the table has no row too many."""
    assert made.cubins.keys() == {(recipe.module, *route) for recipe, _ in recipes for route in ROUTES}
    found = {key: difference(cubin, made.own[key[0], key[2]]) for key, cubin in made.cubins.items()}
    kinds = {key: "addresses" if reason == ADDRESSES else "code" for key, reason in DIFFERENT.items()}
    assert {key: kind for key, kind in found.items() if kind} == kinds


def test_what_is_left_out_is_most_of_an_image_with_cub(made):
    """The route that leaves out unused variables is worth a program of its own."""
    cubin, own = made.cubins["radix_sort", "per-arch", HIGH], made.own["radix_sort", HIGH]
    assert len(cubin) < len(own) / 3


def test_nvjitlink_makes_other_code_of_the_same_ptx(made):
    """It takes PTX as relocatable code: no kernel is NVRTC's own, which is why no route of a build ends there."""
    for module, ptx in made.shared.items():
        linked = code(link(LinkInput(ptx, "ptx", module), arch=LOW, options=NvrtcOptions(), name=module).image)
        own = code(made.own[module, LOW])
        assert not [name for name in own if linked.get(name) == own[name]]
