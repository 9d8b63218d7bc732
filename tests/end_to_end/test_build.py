"""Building stores: failures located and gathered, nothing half written, nothing compiled twice."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from hatch_cuda_kernels.build import build_store, render_report
from hatch_cuda_kernels.daemon_executor import DaemonThreads
from hatch_cuda_kernels.errors import BuildError, ManifestError, ToolchainError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.plan import make_plan
from hatch_cuda_kernels.pool.progress import LineProgress
from hatch_cuda_kernels.pool.schedule import compile_all

pytestmark = pytest.mark.every_python


def build(root, out, **options):
    """Build a project's manifest."""
    return build_store(load_manifest(root / "kernels.yaml"), out, **options)


def files(folder):
    """Return every file below a folder with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


TWO = "{schema: 1, arches: [sm_80, sm_90, compute_80], modules: {a: {source: saxpy.cu}, b: {source: b.cu}}}"
B = 'extern "C" __global__ void b() {}'


@pytest.mark.slow
def test_store_holds_images_source_and_index(make_project, tmp_path):
    """A module's folder has readable image names, its source, and an index that describes them truly."""
    root = make_project(TWO, **{"b.cu": B})
    build(root, tmp_path / "out")
    assert set(files(tmp_path / "out")) == {
        "kernels.tsv",
        "digests.json",
        *(f"{m}/{name}" for m in "ab" for name in (
            "index.json", "details.json", f"{m}.sm_80.cubin", f"{m}.sm_90.cubin", f"{m}.compute_80.ptx",
        )),
        "project.source/saxpy.cu",
        "project.source/b.cu",
    }  # fmt: skip
    index = json.loads((tmp_path / "out/a/index.json").read_text())
    assert [(image["arch"], image["kind"]) for image in index["images"]] == [
        ("sm_80", "cubin"), ("compute_80", "ptx"), ("sm_90", "cubin"),
    ]  # fmt: skip


@pytest.mark.slow
def test_a_rebuild_compiles_nothing_and_gives_the_same_bytes(make_project, tmp_path, fresh_cache):
    """A rebuild takes every image from the cache, and the store does not show it."""
    root = make_project(TWO, **{"b.cu": B})
    first, second = build(root, tmp_path / "one"), build(root, tmp_path / "two")
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert (len(first.compiled), len(second.compiled)) == (6, 0)


@pytest.mark.slow
def test_a_rebuild_loads_nothing_that_reads_or_compiles(make_project, tmp_path, fresh_cache):
    """Its sources are recalled, and its images are in the cache: imports would be most of the time it takes."""
    root = make_project(TWO, **{"b.cu": B})
    code = (
        "import sys\nfrom hatch_cuda_kernels.cli import main\nmain(sys.argv[1:])\nprint(*sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, "build", "-q", "--out", tmp_path / "out", root / "kernels.yaml"]
    texts = [subprocess.run(command, check=True, capture_output=True, text=True).stderr for _ in range(2)]
    first, again = ({name.removeprefix("hatch_cuda_kernels.") for name in text.split()} for text in texts)
    work = {"cpp.lexer", "includes.reader", "compiler.recipe_reader", "execution_space.device_pass", "pool.compilation"}
    assert work <= first
    assert not work & again


@pytest.mark.slow
def test_a_changed_header_compiles_only_its_modules(make_project, tmp_path, fresh_cache):
    """After an edit, only the modules that include the header are compiled again."""
    root = make_project(TWO, **{"b.cu": '#include "h.h"\n' + B, "h.h": ""})
    build(root, tmp_path / "out")
    (root / "h.h").write_text("#define CHANGED 1\n")
    report = build(root, tmp_path / "out")
    recompiled = {entry.module for built in report.modules for entry in built.entries if entry.key in report.compiled}
    assert recompiled == {"b"}


@pytest.mark.slow
def test_processes_and_threads_give_the_same_store(make_project, tmp_path, monkeypatch, fresh_cache, worker_processes):
    """Worker processes compile what this process would."""
    root = make_project(TWO, **{"b.cu": B})
    build(root, tmp_path / "one", executor=DaemonThreads(1))
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(tmp_path / "another-cache"))
    monkeypatch.setattr("hatch_cuda_kernels.pool.executors._WORTH_ANOTHER", 0.0)
    monkeypatch.setattr("hatch_cuda_kernels.compiler.nvrtc.run_job", None)  # nothing can be compiled here any more
    report = build(root, tmp_path / "two", workers=2)
    assert len(report.compiled) == 6
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_all_failures_are_reported_together_at_their_lines(make_project, tmp_path):
    """Bad instances, a bad variable and a broken source come in one report, each at its place; nothing is written."""
    root = make_project(
        """
        schema: 1
        arches: [sm_90]
        modules:
          broken: {source: broken.cu}
          named:
            source: saxpy.cu
            kernels: [saxpy, absent]
            globals: [nothing]
        """,
        **{"broken.cu": "int main( {"},
    )
    out = tmp_path / "out"
    with pytest.raises(BuildError) as caught:
        build(root, out)
    text = str(caught.value)
    assert "kernels.yaml:5:3: modules.broken: module 'broken' for sm_90: NVRTC refused the source" in text
    assert "kernels.yaml:8:22: modules.named.kernels[1]: 'absent'" in text
    assert "kernels.yaml:9:15: modules.named.globals[0]: '&nothing'" in text
    assert "broken.cu:1:5: error" in text
    assert not out.exists()


def test_a_failed_build_leaves_the_old_store(make_project, tmp_path):
    """What was there before a failed build is there afterwards, untouched."""
    root = make_project(TWO, **{"b.cu": B})
    build(root, tmp_path / "out")
    before = files(tmp_path / "out")
    (root / "b.cu").write_text("broken")
    with pytest.raises(BuildError):
        build(root, tmp_path / "out")
    assert files(tmp_path / "out") == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_removed_modules_leave_the_store(make_project, tmp_path):
    """A store is replaced whole: nothing of a module that is gone stays."""
    root = make_project(TWO, **{"b.cu": B})
    build(root, tmp_path / "out")
    make_project("{schema: 1, arches: [sm_90], modules: {a: {source: saxpy.cu}}}")
    build(root, tmp_path / "out")
    assert not (tmp_path / "out" / "b").exists()


def test_another_toolkit_release_is_an_error_with_the_command(make_project, tmp_path):
    """A stated release that is not the one installed names what to install."""
    root = make_project('{schema: 1, cuda: "13.4", arches: [sm_90], modules: {a: {source: saxpy.cu}}}')
    with pytest.raises(ToolchainError, match=r"asks for CUDA 13\.4, the NVRTC found is 13\.\d+") as caught:
        build(root, tmp_path / "out")
    assert '"nvidia-cuda-nvrtc==13.4.*"' in caught.value.fix
    assert "cuda-bindings" not in caught.value.fix  # which are there, and fit


def test_missing_source_files_are_all_located(make_project):
    """A source that cannot be read is reported at its module."""
    root = make_project(TWO, **{"b.cu": B})
    manifest = load_manifest(root / "kernels.yaml")
    (root / "saxpy.cu").unlink()
    (root / "b.cu").write_bytes(b"\xff")
    with pytest.raises(ManifestError) as caught:
        make_plan(manifest)
    assert len(caught.value.problems) == 2
    assert "0xff" in caught.value.problems[1]


@pytest.mark.slow
def test_warnings_are_shown_on_every_build(make_project, tmp_path, fresh_cache):
    """A compiler warning is shown also when the image comes from the cache, once for all architectures."""
    root = make_project(
        "{schema: 1, arches: [sm_80, sm_90], modules: {a: {source: warn.cu}}}",
        **{"warn.cu": 'extern "C" __global__ void k() { int unused = 1; }'},
    )
    reports = [build(root, tmp_path / "out") for _ in range(2)]
    assert reports[0].warnings == reports[1].warnings
    assert len(reports[1].warnings) == 1
    assert "warn.cu(1): warning" in reports[1].warnings[0]


def test_a_failing_job_does_not_stop_the_others(make_project):
    """A failing job yields its error among the others' results."""
    root = make_project(
        "{schema: 1, arches: [sm_90], modules: {a: {source: saxpy.cu}, c: {source: c.cu}}}", **{"c.cu": "broken"}
    )
    jobs = [planned.jobs[0] for planned in make_plan(load_manifest(root / "kernels.yaml"))]
    with ThreadPoolExecutor(1) as executor:
        outcomes = {job.module: outcome for job, outcome in compile_all(jobs, executor)}
    assert isinstance(outcomes["c"], Exception)
    assert outcomes["a"].images["cubin"]


def test_an_include_through_a_macro_out_of_the_project_is_located(make_project):
    """What the options make of a source is reported at its module, as what cannot be read is."""
    root = make_project(
        "{schema: 1, arches: [sm_90], options: {define: {H: '\"../x.h\"'}}, modules: {a: {source: a.cu}}}",
        **{"a.cu": "#include H\n"},
    )
    with pytest.raises(ManifestError, match=r"kernels.yaml:1:\d+: modules.a: a.cu:1: a macro names this header"):
        make_plan(load_manifest(root / "kernels.yaml"))


@pytest.mark.slow
def test_the_table_lists_images_and_totals(make_project, tmp_path, fresh_cache):
    """The build's table has one line per image and says what was compiled."""
    root = make_project(TWO, **{"b.cu": B})
    stream = io.StringIO()
    report = build(root, tmp_path / "out", progress=LineProgress(stream, every=float("inf")))
    lines = render_report(report).splitlines()
    assert lines[0].split() == ["module", "arch", "kind", "bytes", "registers", "spills", "ms"]
    assert len(lines) == 1 + 6 + 1
    assert "6 images of 2 modules" in lines[-1]
    assert "6 compiled, 0 from the cache" in lines[-1]
    told = stream.getvalue().splitlines()  # on a busy machine also what was slowest
    assert told[0] == "cuda-kernels: compiling 4 module x architecture pairs"


def test_lto_module_ships_ltoir_for_virtual_architectures(make_project, tmp_path):
    """With lto, compute_80 gives LTO-IR and sm_90 a finished CUBIN."""
    root = make_project(
        "{schema: 1, arches: [sm_90, compute_80], modules: {a: {source: saxpy.cu, options: {lto: true}}}}"
    )
    report = build(root, tmp_path / "out")
    assert [(str(e.arch), e.kind) for e in report.modules[0].entries] == [("compute_80", "ltoir"), ("sm_90", "cubin")]
