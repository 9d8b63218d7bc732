"""A module of several sources: what is in its images, what the index says of it, and what is compiled again."""

from __future__ import annotations

import json
import shutil

import pytest
from jobs import watch_jobs
from linked_project import build_linked, objects_of, write_linked

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler.job import FinishJob, Recipe
from hatch_cuda_kernels.compiler.nvrtc import run_job
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.options import NvrtcOptions
from hatch_cuda_kernels.plan import make_plan

MANIFEST = """
    schema: 1
    arches: [sm_80, sm_90, compute_80]
    stubs: stubs.pyi
    modules:
      two:
        sources: [kernels/blend.cu, kernels/tables.cu]
        kernels: [blend]
        instances: ["fill<{T}>"]
        matrix: {T: [float, double]}
        globals: [table, weights]
"""
KERNELS = {"blend", "_Z4fillIfEvPT_S0_", "_Z4fillIdEvPT_S0_", "_Z6commonPff", "_Z6commonPfi"}


@pytest.fixture(scope="module")
def project(tmp_path_factory, isolation):
    """Return the project's folder with its store in ``out``."""
    folder = write_linked(tmp_path_factory.mktemp("linked"), MANIFEST)
    build_linked(folder, folder / "out")
    return folder


@pytest.fixture(scope="module")
def store(project):
    """Return the built store."""
    return open_store(project / "out")


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_an_image_has_the_kernels_and_variables_of_every_source(store, arch):
    """What one source defines and another uses is there once, and the image can be loaded."""
    image = store.find_image("blend", arch=arch)
    kernels, variables = objects_of(image.data)
    assert (image.origin, image.kind) == ("prebuilt", "cubin")
    assert kernels == KERNELS
    assert variables >= {"table", "weights"}


def test_every_kernel_is_listed_with_its_parameters(store):
    """Those that are asked for are called so, others by their names; overloads of two sources by their symbols."""
    kernels = store.contents()["modules"]["two"]["kernels"]
    assert {name: (symbol["lowered"], symbol["params"]) for name, symbol in kernels.items()} == {
        "blend": ("blend", ["u64", "u32"]),
        "fill<double>": ("_Z4fillIdEvPT_S0_", ["u64", "f64"]),
        "fill<float>": ("_Z4fillIfEvPT_S0_", ["u64", "f32"]),
        "_Z6commonPff": ("_Z6commonPff", ["u64", "f32"]),
        "_Z6commonPfi": ("_Z6commonPfi", ["u64", "u32"]),
    }


def test_a_store_says_what_its_images_are_linked_from(store):
    """Sources in their order, and the tool that links."""
    module = store.contents()["modules"]["two"]
    assert (module["sources"], module["libraries"]) == (["kernels/blend.cu", "kernels/tables.cu"], {})
    assert module["toolchain"]["nvjitlink"] == load_toolchain().nvjitlink


def test_ptx_is_one_program_of_all_sources(store):
    """It is linked from LTO-IR: nothing in it is left for a driver to find, and what nobody uses is not there."""
    ptx = store.find_image("blend", arch="sm_86", driver=(13, 0), policy="compatible")
    assert ptx.arch.capability == (8, 0)
    text = next(
        (store.path / "two" / image["file"]).read_text()
        for image in store.contents()["modules"]["two"]["images"]
        if image["kind"] == "ptx"
    )
    assert all(f".entry {kernel}(" in text for kernel in KERNELS)
    assert ".extern" not in text
    assert "unused" not in text


@pytest.mark.slow
def test_a_rebuild_gives_every_byte(project, capsys):
    """``verify --rebuild`` passes every check of a linked store."""
    assert main(["verify", str(project / "out"), "--rebuild"]) == 0, capsys.readouterr().out


def test_inspect_and_check_show_the_sources(project, capsys):
    """People see what is linked before and after a build."""
    assert main(["check", str(project / "kernels.yaml")]) == 0
    planned = capsys.readouterr().out
    linked = "kernels/blend.cu, kernels/tables.cu compiled to objects and LTO-IR, linked by nvJitLink"
    assert f"module 'two': {linked}" in planned
    assert "3 fresh, 0 to compile" in planned
    assert main(["inspect", str(project / "out")]) == 0
    assert "linked from kernels/blend.cu, kernels/tables.cu" in capsys.readouterr().out


def test_stubs_know_the_parameters_of_every_source(project):
    """Names come from the source that declares the kernel."""
    stubs = (project / "stubs.pyi").read_text()
    assert "blend(float* y, int n)" in stubs
    assert "T x" in stubs


@pytest.mark.slow
def test_an_edited_source_is_compiled_alone(project, tmp_path, fresh_cache, monkeypatch):
    """The objects of the others are in the cache; all images are linked again."""
    shutil.copytree(project, tmp_path / "copy")
    project = tmp_path / "copy"
    build_linked(project, project / "out")
    done = watch_jobs(
        monkeypatch, lambda job: f"link {job.arch}" if isinstance(job, FinishJob) else f"{job.source_path} {job.arch}"
    )
    build_linked(project, project / "out")
    assert done == []
    source = project / "kernels" / "tables.cu"
    source.write_text(source.read_text().replace("x * x", "x * x + 1"))
    build_linked(project, project / "out")
    assert sorted(done) == [
        *["kernels/tables.cu sm_80"] * 2,  # to an object, and to LTO-IR for the PTX
        "kernels/tables.cu sm_90",
        *["link sm_80"] * 2,
        "link sm_90",
    ]


@pytest.mark.parametrize("change", ["blend.cu", "tables.cu", "shared.h"])
def test_every_file_is_in_the_key(tmp_path, change):
    """A change of any source or header gives new keys to all images."""
    assert keys_of(write_linked(tmp_path, MANIFEST)).isdisjoint(
        keys_of(write_linked(tmp_path, MANIFEST, **{f"kernels_of_{change}": edited(change)}))
    )


def test_the_order_of_sources_is_in_the_key(tmp_path):
    """A linker lays out code in the order of its inputs."""
    turned = MANIFEST.replace("kernels/blend.cu, kernels/tables.cu", "kernels/tables.cu, kernels/blend.cu")
    assert keys_of(write_linked(tmp_path, MANIFEST)).isdisjoint(keys_of(write_linked(tmp_path, turned)))


def test_one_source_in_a_list_is_as_one_by_itself(tmp_path):
    """Same jobs, same keys: nothing is linked."""
    listed = "{schema: 1, arches: [sm_80], modules: {t: {sources: [kernels/tables.cu]}}}"
    alone = "{schema: 1, arches: [sm_80], modules: {t: {source: kernels/tables.cu}}}"
    assert keys_of(write_linked(tmp_path, listed)) == keys_of(write_linked(tmp_path, alone))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["front_end: lto", "options: {lto: true}"])
def test_lto_optimizes_across_sources(tmp_path, how):
    """The called function is inlined, and variables that nobody uses are left out."""
    manifest = with_key(how)
    project = write_linked(tmp_path, manifest)
    build_linked(project, project / "out")
    kernels, variables = objects_of(open_store(project / "out").find_image("blend", arch="sm_90").data)
    assert (kernels, variables) == (KERNELS, {"table", "weights"})
    assert main(["verify", str(project / "out"), "--rebuild"]) == 0


def test_a_shared_front_end_compiles_each_source_once(tmp_path):
    """LTO-IR of the lowest architecture serves all."""
    manifest = with_key("front_end: lto")
    (planned,) = make_plan(load_manifest(write_linked(tmp_path, manifest) / "kernels.yaml"))
    assert [(job.source_path, str(job.arch)) for job in planned.jobs] == [
        ("kernels/blend.cu", "sm_80"),
        ("kernels/tables.cu", "sm_80"),
    ]
    assert [(str(job.arch), job.kinds) for job in planned.finishing] == [
        ("sm_80", ("cubin", "ptx")),
        ("sm_90", ("cubin",)),
    ]


@pytest.mark.slow
def test_builds_are_the_same_in_workers(project, tmp_path, fresh_cache):
    """Objects travel to worker processes, and images back: the store is the same, byte for byte."""
    from hatch_cuda_kernels.pool.executors import WorkerExecutor

    executor = WorkerExecutor(2)
    try:
        build_linked(project, tmp_path / "out", executor=executor)
    finally:
        executor.kill()
    assert files_of(tmp_path / "out") == files_of(project / "out")


def test_readers_of_ordinary_stores_refuse_a_linked_one(project):
    """They would compile the first source alone."""
    assert json.loads((project / "out" / "two" / "index.json").read_text())["schema"] == 2


def edited(name):
    """Return one of the project's files with a change in it."""
    from linked_project import FILES

    return FILES[f"kernels/{name}"].replace("float", "float ", 1)


def with_key(line):
    """Return the manifest with one more key of the module."""
    return MANIFEST.replace("kernels: [blend]", f"kernels: [blend]\n        {line}")


def keys_of(project):
    """Return the keys of the images that a project ships."""
    toolchain = load_toolchain()
    (planned,) = make_plan(load_manifest(project / "kernels.yaml"))
    jobs = planned.finishing or planned.jobs
    return {job.key(kind, toolchain) for job in jobs for kind in job.kinds}


def files_of(folder):
    """Return what is in each file below a folder."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_warnings_of_every_source_are_shown(tmp_path):
    """Once for all architectures, and again when the images come from the cache."""
    warned = 'extern "C" __global__ void {0}() {{ int unused_in_{0}; }}'
    manifest = "{schema: 1, arches: [sm_80, sm_90], modules: {m: {sources: [a.cu, b.cu]}}}"
    project = write_linked(tmp_path, manifest, **{f"{name}.cu": warned.format(name) for name in "ab"})
    for _ in range(2):
        (warning,) = build_linked(project, project / "out").warnings
        assert all(f'variable "unused_in_{name}" was declared but never referenced' in warning for name in "ab")


@pytest.mark.slow
@pytest.mark.parametrize("options", ["lineinfo: true", "debug: true", "maxrregcount: 32, use_fast_math: true"])
def test_options_reach_the_linked_image(tmp_path, options):
    """The image can be built again, whatever it shows of sources and options."""
    text = MANIFEST.replace("kernels: [blend]", f"options: {{{options}}}").replace(", compute_80", "")
    project = write_linked(tmp_path, text.replace("    stubs: stubs.pyi\n", ""))
    build_linked(project, project / "out")
    assert main(["verify", str(project / "out"), "--rebuild"]) == 0


def test_large_variables_are_linked(tmp_path):
    """Of all that objects may state a size for, and have no bytes of."""
    (tmp_path / "a.cu").write_text(
        "__device__ float large[1 << 22];\n__managed__ int both[1 << 20];\n__device__ float f(float);\n"
        "__global__ void k(int n) {\n  __shared__ float s[8192];\n  s[threadIdx.x] = n;\n  __syncthreads();\n"
        "  large[n] = f(s[n ^ 1]);\n  both[n] = 1;\n}\n"
    )
    (tmp_path / "b.cu").write_text("__device__ float f(float x) { return x + 1; }\n")
    recipe = Recipe(module="m", sources=("a.cu", "b.cu"), options=NvrtcOptions())
    images = run_job(recipe.job(read_recipe(recipe, tmp_path), SmArch.parse("sm_90"), ("cubin",))).images
    assert objects_of(images["cubin"])[0] == {"_Z1ki"}
