"""A crash of NVRTC ends no build, no ``port`` and no ``init``: it is an error of one job, and the others go on."""

from __future__ import annotations

import json
import signal

import pytest
from doc_blocks import DOCS, blocks_of
from processes import linux

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.child_process import ChildDiedError, ChildProcess, call_in_child
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler.job import Recipe
from hatch_cuda_kernels.compiler.recipe_reader import read_recipe
from hatch_cuda_kernels.compiler.toolchain import library_version
from hatch_cuda_kernels.errors import BuildError, CompileError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.options import NvrtcOptions
from hatch_cuda_kernels.pool.schedule import run_isolated

pytestmark = [pytest.mark.usefixtures("worker_processes"), pytest.mark.every_python]

#: NVRTC 13.0 reports the unknown name, goes on to find the instance, and dies of that.
CRASHER = "template <class T> __global__ void smooth(gone::Texture<float> from, T* to) { *to = from(0); }\n"
INSTANCE = "smooth<float>"
PLAIN = 'extern "C" __global__ void plain(int* x) { *x = 1; }\n'
MANIFEST = """\
schema: 1
arches: [sm_90]
modules:
  plain: {source: plain.cu}
  smooth: {source: smooth.cu, instances: ["smooth<float>"]}
"""


def job(root, source, *names):
    """Return the compile of a source."""
    recipe = Recipe(module=source.partition(".")[0], sources=(source,), options=NvrtcOptions(), names=names)
    return recipe.compile_job(recipe.units(read_recipe(recipe, root))[0], SmArch.parse("sm_90"), ("cubin",))


@pytest.fixture
def crashing(make_project, worker_processes):
    """Return a project with a source on which NVRTC crashes, and one that compiles."""
    root = make_project(MANIFEST, **{"plain.cu": PLAIN, "smooth.cu": CRASHER})
    if not crashes(job(root, "smooth.cu", INSTANCE)):
        pytest.skip("this release of NVRTC does not crash on the source")
    return root


def crashes(found):
    """Return whether a process dies that compiles a job."""
    from hatch_cuda_kernels.compiler.nvrtc import run_job

    try:
        call_in_child(run_job, found)
    except ChildDiedError as error:
        return error.crashed
    except CompileError:
        return False
    return False


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_the_known_crashes_are_on_their_page(number, make_project):
    """NVRTC 13.0 crashes on each source that the page shows."""
    if not library_version("nvrtc").startswith("13.0."):
        pytest.skip("the page is about NVRTC 13.0")
    text = blocks_of(DOCS / "maintainers" / "crashes.md")[number].text
    root = make_project(MANIFEST, **{"plain.cu": PLAIN, "smooth.cu": text})
    assert crashes(job(root, "smooth.cu", *([INSTANCE] if "smooth" in text else [])))


@linux
@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL], ids=["crashed", "killed"])
def test_the_end_of_a_process_says_how_it_came(number):
    """A crash is its own doing, a kill is not."""
    with pytest.raises(ChildDiedError) as caught:
        call_in_child(signal.raise_signal, number)
    assert caught.value.ending == number.name
    assert caught.value.crashed == (number == signal.SIGSEGV)


@pytest.mark.slow
def test_a_small_build_says_which_module_nvrtc_crashed_on(crashing, tmp_path, fresh_cache):
    """And what is wrong with its source; the others are compiled, and are there for the next build."""
    with pytest.raises(BuildError) as caught:
        build_store(load_manifest(crashing / "kernels.yaml"), tmp_path / "out")
    [problem] = caught.value.problems
    assert problem.startswith("kernels.yaml:5:3: modules.smooth: module 'smooth' for sm_90: NVRTC crashed (SIGSEGV)")
    assert 'smooth.cu:1:43: error: name followed by "::" must be a class or namespace name' in problem
    (crashing / "smooth.cu").write_text(PLAIN.replace("plain", "other"))
    (crashing / "kernels.yaml").write_text(MANIFEST.replace(', instances: ["smooth<float>"]', ""))
    report = build_store(load_manifest(crashing / "kernels.yaml"), tmp_path / "out")
    assert [entry.key in report.compiled for built in report.modules for entry in built.entries] == [False, True]


@pytest.mark.slow
def test_init_says_which_source_nvrtc_crashed_on(crashing, capsys, monkeypatch):
    """The manifest lists the others."""
    (crashing / "kernels.yaml").unlink()
    launch = "void run(float* to) { smooth<float><<<1, 1>>>(gone::Texture<float>(), to); }\n"
    (crashing / "smooth.cu").write_text(CRASHER + launch)
    monkeypatch.chdir(crashing)
    assert main(["init", "--name", "p", "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert [note for note in notes if note.startswith("smooth.cu is not in the manifest: smooth.cu:1:43: error: ")]
    assert [module.name for module in load_manifest(crashing / "kernels.yaml").modules] == ["plain", "saxpy"]


@pytest.fixture
def deadly(monkeypatch):
    """Return a function that makes processes die while they compile one module: each of them, or the first ones."""
    call_there = ChildProcess.call
    left = {}

    def call(self, call):
        found = call[1][0]
        module = getattr(getattr(found, "_job", found), "module", None)
        if left.get(module, 0):
            left[module] -= 1
            return call_there(self, (signal.raise_signal, (signal.SIGSEGV,), {}))
        return call_there(self, call)

    monkeypatch.setattr(ChildProcess, "call", call)
    return left.update


@pytest.mark.slow
@linux
def test_a_second_crash_is_the_jobs_own_error(make_project, deadly):
    """It names the job; the next job has another process."""
    root = make_project(MANIFEST, **{"plain.cu": PLAIN, "smooth.cu": CRASHER})
    deadly(plain=2)
    with pytest.raises(CompileError, match=r"'plain' for sm_90: NVRTC crashed \(SIGSEGV\) while it compiled this; "):
        run_isolated(job(root, "plain.cu"))
    assert run_isolated(job(root, "plain.cu")).images["cubin"]


@pytest.mark.slow
@linux
def test_instances_on_which_nvrtc_crashes_are_blamed(make_project, deadly):
    """Where the rest compiles, they are what is left."""
    text = "template <class T> __global__ void smooth(T* to) { *to = 0; }\n"
    root = make_project(MANIFEST, **{"plain.cu": PLAIN, "smooth.cu": text})
    deadly(smooth=1)
    with pytest.raises(CompileError, match=r"NVRTC crashed \(SIGSEGV\).*; it compiles without instances"):
        run_isolated(job(root, "smooth.cu", INSTANCE))


@pytest.mark.slow
@linux
def test_port_reports_a_crash_as_what_nvrtc_refuses(make_project, deadly, capsys, monkeypatch):
    """Its status is 1; what could be guarded is in the patch."""
    root = make_project(MANIFEST, **{"plain.cu": f"int main() {{ return 0; }}\n{PLAIN}", "smooth.cu": CRASHER})
    monkeypatch.chdir(root)
    deadly(**{"plain.cu": 100})
    assert main(["port", "plain.cu"]) == 1
    done = capsys.readouterr()
    assert "NVRTC still refuses: plain.cu: NVRTC crashed (SIGSEGV) while it compiled this" in done.err
    assert "+int main();\n+#else\n int main()" in done.out


@pytest.mark.slow
def test_a_deep_source_compiles_in_a_worker(make_project):
    """Its stack is that of a thread that compiles, not what the system gives a process."""
    text = f'extern "C" __global__ void deep(int* x) {{ *x = {"(" * 20_000}1{")" * 20_000}; }}\n'
    root = make_project(MANIFEST, **{"plain.cu": PLAIN, "smooth.cu": CRASHER, "deep.cu": text})
    assert run_isolated(job(root, "deep.cu")).images["cubin"]
