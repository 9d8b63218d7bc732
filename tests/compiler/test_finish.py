"""Sharing the front end, with the real NVRTC and finishers: what is compiled once, what is finished, what comes out."""

from __future__ import annotations

import json
import shutil

import pytest
from jobs import watch_jobs
from slow_parameters import slow_but

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler.binary.cubin import read_cubin
from hatch_cuda_kernels.compiler.binary.ptx import read_ptx
from hatch_cuda_kernels.compiler.job import FINISHER_NAMES, FinishJob
from hatch_cuda_kernels.compiler.toolchain import libraries
from hatch_cuda_kernels.daemon_executor import DaemonThreads
from hatch_cuda_kernels.errors import BuildError, ToolchainError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.pool.executors import WorkerExecutor

SORT = """
#include <cub/block/block_radix_sort.cuh>
template <typename T> __global__ void sort(T* x) {
    using Sort = cub::BlockRadixSort<T, 128, 4>;
    __shared__ typename Sort::TempStorage storage;
    T mine[4];
    for (int i = 0; i < 4; ++i) mine[i] = x[threadIdx.x * 4 + i];
    Sort(storage).Sort(mine);
    for (int i = 0; i < 4; ++i) x[threadIdx.x * 4 + i] = mine[i];
}
"""
SCALE = """
__constant__ float d_scale[4];
extern "C" __global__ void scale(float* x, int n) { x[n] *= d_scale[n & 3]; }
"""
CUB = """
schema: 1
packing: none
arches: [{arches}]
modules:
  m: {{source: sort.cu, instances: ["sort<{{T}}>"], matrix: {{T: [int, float]}}, globals: [d_scale], front_end: {how}}}
"""
LOWERED = {"sort<int>": "_Z4sortIiEvPT_", "sort<float>": "_Z4sortIfEvPT_", "scale": "scale"}
START = {"lto": "ltoir", "ptx": "ptx"}
FINISHER = {"lto": "nvJitLink", "ptx": "ptxas"}
HOWS = tuple(START)


def build(root, out):
    """Build a project's store."""
    return build_store(load_manifest(root / "kernels.yaml"), out, workers=1)


def read(folder):
    """Return a tree as file contents by relative path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def ran(monkeypatch):
    """Return the list of what builds of this test compile or finish: ``NVRTC sm_80``, ``ptxas sm_90``."""
    return watch_jobs(
        monkeypatch, lambda job: f"{FINISHER_NAMES[job.finisher] if isinstance(job, FinishJob) else 'NVRTC'} {job.arch}"
    )


@pytest.mark.parametrize("how", HOWS)
def test_one_front_end_run_gives_every_architecture(make_project, tmp_path, fresh_cache, ran, slow, how):
    """CUB's headers are read once; each image is for its architecture and holds every kernel, instance and variable."""
    root = make_project(
        CUB.format(arches="sm_80, sm_90, sm_90a, sm_120, compute_80", how=how), **{"sort.cu": SORT + SCALE}
    )
    report = build(root, tmp_path / "out")
    own = ["sm_80"] if how == "ptx" else []  # LTO-IR's compile needs nvJitLink for the names anyway
    assert ran == ["NVRTC sm_80", *(f"{FINISHER[how]} {arch}" for arch in (*own, "sm_90", "sm_90a", "sm_120"))]
    assert report.warnings == ()
    index = json.loads((tmp_path / "out/m/index.json").read_text())
    resources = json.loads((tmp_path / "out/m/details.json").read_text())["resources"]
    shipped = [(image["arch"], image["kind"]) for image in index["images"]]
    assert shipped == [
        ("sm_80", "cubin"), ("compute_80", "ptx"), ("sm_90", "cubin"), ("sm_90a", "cubin"), ("sm_120", "cubin"),
    ]  # fmt: skip
    for image in index["images"]:
        assert "lacks" not in image
        data = (tmp_path / "out/m" / image["file"]).read_bytes()
        if image["kind"] == "ptx":
            assert read_ptx(data.decode()).target == "sm_80"
            continue
        held = read_cubin(data)
        assert held.arch == image["arch"]
        assert set(LOWERED.values()) <= set(held.kernels)
        assert held.variables["d_scale"] == 16
        assert {"registers", "shared", "stack", "spill_stores", "spill_loads"} == set(resources[image["file"]]["scale"])
        assert resources[image["file"]]["_Z4sortIiEvPT_"]["shared"] > 0
    lines = [line.split("\t") for line in (tmp_path / "out/kernels.tsv").read_text().splitlines()]
    assert {line[4]: line[2] for line in lines if line[2]} == LOWERED | {"d_scale": "d_scale"}
    assert index["front_end"] == how
    assert index["options"] == {}
    tools = {name: version.startswith("13.") for name, version in index["toolchain"].items() if name != "headers"}
    assert tools == {"nvrtc": True, FINISHER[how].lower(): True}


@pytest.mark.slow
@pytest.mark.parametrize("how", HOWS)
def test_an_added_architecture_is_only_finished(make_project, tmp_path, fresh_cache, ran, how):
    """What the front-end run gave is in the disk cache, also where the wheel does not ship it."""
    manifest = f"{{schema: 1, modules: {{m: {{source: saxpy.cu, arches: [%s], front_end: {how}}}}}}}"
    root = make_project(manifest % "sm_80, sm_90")
    build(root, tmp_path / "out")
    make_project(manifest % "sm_80, sm_90, sm_120")
    ran.clear()
    report = build(root, tmp_path / "out")
    assert ran == [f"{FINISHER[how]} sm_120"]
    assert [str(e.arch) for e in report.modules[0].entries if e.key in report.compiled] == ["sm_120"]
    ran.clear()
    assert build(root, tmp_path / "out").compiled == frozenset()
    assert ran == []


@pytest.mark.slow
@pytest.mark.parametrize("how", HOWS)
def test_an_evicted_shared_image_is_made_again_to_finish_others_only(
    make_project, tmp_path, fresh_cache, ran, monkeypatch, how
):
    """While every shipped image is fresh nothing misses the one they are made from; a new architecture does."""
    manifest = f"{{schema: 1, modules: {{m: {{source: saxpy.cu, arches: [%s], front_end: {how}}}}}}}"
    root = make_project(manifest % "sm_80, sm_90")
    build(root, tmp_path / "out")
    before = read(tmp_path / "out")
    shutil.copytree(fresh_cache, tmp_path / "evicted")
    for image in [*(tmp_path / "evicted").rglob(f"image.{START[how]}")]:
        shutil.rmtree(image.parent)
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(tmp_path / "evicted"))
    ran.clear()
    build(root, tmp_path / "out")
    assert (ran, read(tmp_path / "out")) == ([], before)
    make_project(manifest % "sm_80, sm_90, sm_120")
    build(root, tmp_path / "out")
    assert ran == ["NVRTC sm_80", f"{FINISHER[how]} sm_120"]


@pytest.mark.parametrize("how", HOWS)
def test_shared_builds_are_byte_identical(make_project, tmp_path, monkeypatch, slow, how):
    """The same inputs give the same store, in threads and in worker processes, line information included."""
    source = "template <typename T> __global__ void sort(T* x) { assert(x[1] > 0); *x += 1; }\n" + SCALE
    root = make_project(CUB.format(arches="sm_80, sm_90, compute_80", how=how), **{"sort.cu": source})
    text = (root / "kernels.yaml").read_text()
    (root / "kernels.yaml").write_text(text.replace("sort.cu,", "sort.cu, options: {lineinfo: true},"))
    for name, executor in (("one", DaemonThreads(1)), ("two", WorkerExecutor(2))):
        monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(tmp_path / f"cache-{name}"))
        build_store(load_manifest(root / "kernels.yaml"), tmp_path / name, executor=executor)
    assert read(tmp_path / "one") == read(tmp_path / "two")
    assert b".debug_line" in (tmp_path / "one/m/m.sm_90.cubin").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", slow_but(["{lineinfo: true}"], ["{}", "{lineinfo: true}", "{maxrregcount: 24}", "{ftz: true}"])
)
def test_the_shared_ptx_is_the_one_of_a_whole_compile(make_project, tmp_path, monkeypatch, options):
    """NVRTC does not assemble it, which changes nothing in the PTX that ships."""
    manifest = "{schema: 1, modules: {m: {source: saxpy.cu, arches: [compute_80, sm_90], options: %s, front_end: %s}}}"
    for how in ("ptx", "per-arch"):
        monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(tmp_path / f"cache-{how}"))
        build(make_project(manifest % (options, how)), tmp_path / how)
    shared, own = read(tmp_path / "ptx"), read(tmp_path / "per-arch")
    assert shared["m/m.compute_80.ptx"] == own["m/m.compute_80.ptx"]
    assert shared["m/m.sm_90.cubin"] != own["m/m.sm_90.cubin"]


@pytest.mark.slow
def test_ptx_that_no_link_could_assemble_proves_nothing_later(make_project, tmp_path, fresh_cache):
    """A failed build leaves its PTX in the cache; a wheel of that PTX alone has it assembled, and fails as well."""
    source = 'extern "C" __global__ void k() { asm volatile("no.such.instruction;"); }'
    manifest = "{schema: 1, modules: {m: {source: a.cu, arches: [%s], front_end: %s}}}"
    for arches, how in (("compute_80, sm_90", "ptx"), ("compute_80", "ptx"), ("compute_80", "per-arch")):
        root = make_project(manifest % (arches, how), **{"a.cu": source})
        with pytest.raises(BuildError, match=r"modules\.m: module 'm' for sm_"):
            build(root, tmp_path / "out")


VARIABLES = """
inline constexpr int never_used = 3;
__device__ int counted = 5;
__device__ int set_by_the_host = 7;
__constant__ float asked_for[2];
__device__ const int* of_another = &set_by_the_host;
extern "C" __global__ void k(int* y) { *y = counted + set_by_the_host; }
"""


@pytest.mark.parametrize("options", ["front_end: lto", "front_end: ptx", "options: {lto: true}"])
def test_variables_for_nothing_are_left_out(make_project, tmp_path, options):
    """Where NVRTC's output is finished, images hold the manifest's globals, used or not, and else what kernels use."""
    manifest = (
        "{schema: 1, packing: none, modules: {m: {source: a.cu, arches: [sm_80, sm_90],"
        f" globals: [set_by_the_host, asked_for], {options}}}}}}}"
    )
    build(make_project(manifest, **{"a.cu": VARIABLES}), tmp_path / "out")
    for image in (tmp_path / "out/m").glob("*.cubin"):
        found = set(read_cubin(image.read_bytes()).variables)
        assert {"set_by_the_host", "asked_for"} <= found
        assert not {"never_used", "of_another"} & found


@pytest.mark.slow
def test_lto_ships_ptx_of_each_virtual_architecture(make_project, tmp_path):
    """From LTO-IR, nvJitLink writes the PTX of every architecture that lists it; __CUDA_ARCH__ is the lowest one's."""
    source = 'extern "C" __global__ void shown(int* y) { *y = __CUDA_ARCH__; }'
    manifest = (
        "{schema: 1, modules: {m: {source: a.cu, arches: [sm_80, compute_80, compute_90, compute_120], front_end: %s}}}"
    )
    root = make_project(manifest % "lto", **{"a.cu": source})
    build(root, tmp_path / "lto")
    make_project(manifest % "ptx")
    build(root, tmp_path / "ptx")
    texts = {
        (how, number): (tmp_path / how / f"m/m.compute_{number}.ptx").read_text()
        for how in HOWS
        for number in (80, 90, 120)
    }
    for (_, number), text in texts.items():
        assert read_ptx(text).target == f"sm_{number}"
        assert list(read_ptx(text).entries) == ["shown"]
    assert ["800" in texts["lto", number] for number in (80, 90, 120)] == [True, True, True]
    assert [f"{number}0" in texts["ptx", number] for number in (80, 90, 120)] == [True, True, True]


@pytest.mark.slow
def test_lto_option_ships_ltoir_of_a_run_of_its_own(make_project, tmp_path, fresh_cache, ran):
    """LTO-IR is not made from LTO-IR: what lists it is compiled, the rest is finished from the lowest."""
    root = make_project(
        "{schema: 1, options: {lto: true}, modules: {m: {source: saxpy.cu, front_end: lto,"
        " arches: [sm_80, compute_80, sm_90, compute_90, sm_100]}}}"
    )
    report = build(root, tmp_path / "out")
    assert ran == ["NVRTC sm_80", "NVRTC sm_90", "nvJitLink sm_100"]
    assert [entry.kind for entry in report.modules[0].entries] == ["cubin", "ltoir", "cubin", "ltoir", "cubin"]


#: Squeezes a kernel: without the option it needs more registers.
WIDE = 'extern "C" __global__ void k(volatile float* x) {{ {loads} x[0] = {sums}; }}'.format(
    loads=" ".join(f"float v{i} = x[{i}] * {i + 1}.5f;" for i in range(60)),
    sums=" + ".join(f"v{i} * v{59 - i}" for i in range(60)),
)
DIVIDE = 'extern "C" __global__ void k(float* x, float y) { x[0] = x[1] / y + sqrtf(x[2]) * x[3] + x[4]; }'
OPTIONS = {
    "maxrregcount": (WIDE, "{maxrregcount: 24}"),
    "assembler": (WIDE, '{extra: ["--ptxas-options=-O0"]}'),
    "use_fast_math": (DIVIDE, "{use_fast_math: true}"),
    "ftz": (DIVIDE, "{ftz: true}"),
    "prec_div": (DIVIDE, "{prec_div: false}"),
    "prec_sqrt": (DIVIDE, "{prec_sqrt: false}"),
    "fma": (DIVIDE, "{fma: false}"),
    "lineinfo": (DIVIDE, "{lineinfo: true}"),
}


@pytest.mark.parametrize("how", HOWS)
def test_options_act_on_finished_images(make_project, tmp_path, fresh_cache, slow, how):
    """Each option that code generation or the assembler obeys changes what the finisher makes, too."""
    modules = []
    for name, (_, options) in OPTIONS.items():
        modules.append(f"{name}: {{source: {name}.cu, front_end: {how}, options: {options}}}")
        modules.append(f"{name}_off: {{source: {name}.cu, front_end: {how}}}")
    manifest = f"{{schema: 1, arches: [sm_80, sm_90], modules: {{{', '.join(modules)}}}}}"
    root = make_project(manifest, **{f"{name}.cu": source for name, (source, _) in OPTIONS.items()})
    built = {each.name: each.entries[1] for each in build(root, tmp_path / "out").modules}
    assert {str(entry.arch) for entry in built.values()} == {"sm_90"}
    same = [name for name in OPTIONS if built[name].image == built[f"{name}_off"].image]
    assert same == []
    assert built["maxrregcount"].resources["k"]["spill_stores"] > 0
    assert b".debug_line" in built["lineinfo"].image


@pytest.mark.slow
@pytest.mark.parametrize("how", HOWS)
def test_a_failed_front_end_is_reported_once(make_project, tmp_path, fresh_cache, ran, how):
    """Nothing is finished from a failed run, the other modules are compiled, and one report says it all."""
    root = make_project(
        f"{{schema: 1, arches: [sm_80, sm_90], modules: {{a: {{source: saxpy.cu, front_end: {how}}}, "
        f"b: {{source: b.cu, front_end: {how}}}, c: {{source: saxpy.cu, kernels: [gone], front_end: {how}}}}}}}",
        **{"b.cu": "broken"},
    )
    with pytest.raises(BuildError) as caught:
        build(root, tmp_path / "out")
    own = ["sm_80"] if how == "ptx" else []
    assert ran == ["NVRTC sm_80"] * 3 + [f"{FINISHER[how]} {arch}" for arch in (*own, "sm_90")]
    assert len(caught.value.problems) == 2
    assert any("b.cu:1:1: error" in problem for problem in caught.value.problems)
    assert any("modules.c.kernels[0]: 'gone'" in problem for problem in caught.value.problems)


@pytest.mark.slow
@pytest.mark.parametrize("how", HOWS)
def test_a_finisher_refusing_is_reported_at_the_module(make_project, tmp_path, fresh_cache, how):
    """What the assembler cannot do for one architecture fails the build, naming it."""
    source = 'extern "C" __global__ void k() { asm volatile("wgmma.fence.sync.aligned;"); }'
    root = make_project(
        f"{{schema: 1, modules: {{m: {{source: a.cu, arches: [sm_80, sm_90a], front_end: {how}}}}}}}",
        **{"a.cu": source},
    )
    arches = "sm_80, sm_90a" if how == "ptx" else "sm_80"  # sm_90a's is finished from the PTX for sm_80
    with pytest.raises(BuildError, match=rf"kernels.yaml:1:\d+: modules.m: module 'm' for {arches}: "):
        build(root, tmp_path / "out")


@pytest.mark.slow
def test_check_says_what_is_shared(make_project, capsys, monkeypatch, tmp_path, fresh_cache):
    """The plan names the one run, what is finished from it, and the frozen macro; uses of that are located."""
    root = make_project(
        """
        schema: 1
        arches: [sm_80, sm_90a, sm_120]
        modules:
          own: {source: saxpy.cu}
          shared: {source: a.cu, front_end: ptx}
        """,
        **{"a.cu": '#include "b.h"\n__global__ void k() {\n#if __CUDA_ARCH__ >= 900\n#endif\n}\n', "b.h": ""},
    )
    monkeypatch.chdir(root)
    note = (
        "module 'shared': one front-end run for sm_80, from whose PTX ptxas finishes sm_80, sm_90a, sm_120; "
        "__CUDA_ARCH__ is 800 in all of these, and sm_90a has no architecture-specific features"
    )
    assert main(["check"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[-2:] == ["2 modules, 6 images: 0 fresh, 6 to compile", note]
    assert "warning: module 'shared': a.cu:3: the code depends on the architecture" in shown.err
    report = build(root, tmp_path / "out")
    assert [warning.partition(": the code")[0] for warning in report.warnings] == ["module 'shared': a.cu:3"]
    assert main(["check", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["notes"] == [note]
    assert all(job["fresh"] for job in data["jobs"])


@pytest.mark.slow
@pytest.mark.parametrize("how", HOWS)
def test_such_a_store_can_be_built_again(make_project, tmp_path, fresh_cache, capsys, how):
    """The release gate shares the front end as the build did, and finds the same bytes; per-arch gives others."""
    arches = "sm_80, sm_90, compute_80" if how == "ptx" else "sm_80, sm_90"
    manifest = "{schema: 1, packing: none, arches: [%s], modules: {m: {source: saxpy.cu, front_end: %s}}}"
    root = make_project(manifest % (arches, how))
    build(root, tmp_path / "out")
    assert main(["verify", str(tmp_path / "out"), "--rebuild"]) == 0
    index = tmp_path / "out/m/index.json"
    index.write_text(index.read_text().replace(f' "front_end": "{how}",\n', ""))
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "out"), "--rebuild"]) == 1
    assert "was compiled by nvrtc" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("how", ["front_end: ptx", "instances: []"])
def test_a_missing_ptxas_names_the_package_before_anything_is_compiled(
    make_project, tmp_path, fresh_cache, ran, monkeypatch, how
):
    """It is said at once, whether the manifest or an include asks for ptxas."""
    monkeypatch.setattr(libraries, "installed_ptxas", lambda: iter(()))
    root = make_project(
        f"{{schema: 1, arches: [sm_80, sm_90], modules: {{m: {{source: a.cu, {how}}}}}}}",
        **{"a.cu": '#include <cuda/std/tuple>\nextern "C" __global__ void k() {}\n'},
    )
    with pytest.raises(ToolchainError, match=r"ptxas of CUDA 1\d\.\d is not installed") as caught:
        build(root, tmp_path / "out")
    assert "nvidia-cuda-nvcc" in caught.value.fix
    assert (ran, (tmp_path / "out").exists()) == ([], False)
