"""The plugin for pytest, in runs of pytest: which tests fail because a kernel was compiled, and what is told."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import pytest

from hatch_cuda_kernels.runtime.ladder import read_trace

REPOSITORY = Path(__file__).parents[1]
#: What each of the projects' files begins with.
HEAD = """
import os, subprocess, sys, threading
import pytest
from hatch_cuda_kernels import compile_to_cubin, open_store

def ask(kernel, arch="sm_90", **options):
    return open_store("example_project").find_image(kernel, arch=arch, driver=(13, 0), **options)

def child(kernel, *, arch="sm_90", code="", **variables):
    code += f"open_store('example_project').find_image({kernel!r}, arch={arch!r}, driver=(13, 0))"
    environment = {name: value for name, value in {**os.environ, **variables}.items() if value is not None}
    command = [sys.executable, "-c", f"from hatch_cuda_kernels import open_store; {code}"]
    subprocess.run(command, env=environment, check=True)
"""


@pytest.fixture
def run(tmp_path, example_site, fresh_cache):
    """Return a function that runs pytest on files, with the plugin, and returns the finished process."""

    def run_pytest(*options, plugin="hatch_cuda_kernels.pytest_plugin", head=HEAD, variables=None, **files):
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(head + text)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
        plugins = ["-p", plugin, "-p", "xdist", "-p", "no:cacheprovider"]
        options = options if "no:terminal" in options else ("-rA", *options)
        # Without a place where it ends, pytest looks for configuration in all that lies beside the folders above.
        places = ["-c", os.devnull, f"--rootdir={tmp_path}", f"--confcutdir={tmp_path}"]
        command = [sys.executable, "-m", "pytest", *plugins, *places, *options]
        paths = os.pathsep.join([str(example_site), str(REPOSITORY)])
        environment = {**kept, "PYTHONPATH": paths, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **(variables or {})}
        return subprocess.run(
            [*command, str(tmp_path)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )

    return run_pytest


def outcomes(done):
    """Return how each test ended, by its name, as pytest's summary has it."""
    found = re.findall(r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (?:\S*::)?(\w+)", done.stdout, re.MULTILINE)
    return {name: outcome for outcome, name in found}


TESTS = """
def test_prebuilt():
    ask("saxpy")

def test_compiles():
    ask("saxpy", "sm_75")

@pytest.fixture(scope="session")
def compiled():
    return ask("saxpy", "sm_86", policy="exact")

def test_setup(compiled):
    assert compiled.origin == "jitted"

@pytest.fixture
def cleaned_up():
    yield
    ask("block_sum<float, 32>")

def test_teardown(cleaned_up):
    pass

def test_thread():
    thread = threading.Thread(target=ask, args=("block_sum<float, 64>",))
    thread.start()
    thread.join()

def test_process():
    child("block_sum<float, 96>")

def test_fork():
    pid = os.fork()
    if pid == 0:
        try:
            ask("block_sum<float, 160>")
        finally:
            os._exit(0)
    os.waitpid(pid, 0)

def test_environment_is_cleared(monkeypatch):
    for name in [*os.environ]:
        if name != "HATCH_CUDA_KERNELS_CACHE_DIR":
            monkeypatch.delenv(name)
    ask("block_sum<float, 192>")

def test_compile_error_is_caught():
    with pytest.raises(Exception, match="nonsense"):
        ask("block_sum<nonsense, 128>")

@pytest.mark.xfail
def test_expected_failure():
    ask("block_sum<float, 224>")
    assert False

def test_fails_too():
    ask("block_sum<float, 320>")
    assert "this" == "too"

def test_skipped():
    ask("block_sum<float, 512>")
    pytest.skip("no reason")

def test_source():
    compile_to_cubin('extern "C" __global__ void k() {}', arch="sm_80")

@pytest.mark.allow_jit
def test_allowed():
    ask("block_sum<float, 1024>")

def test_after():
    ask("saxpy", "sm_75")
    ask("softmax<32>")
"""
PASSING = {"test_prebuilt", "test_allowed", "test_after"}


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "workers"])
def test_tests_fail_during_which_a_kernel_was_compiled(run, options):
    """In any phase, thread or process, also if the test skips or is expected to fail; and no other test does."""
    done = run("--no-jit", *options, test_all=TESTS)
    ended = outcomes(done)
    assert done.returncode == 1
    # A process remembers what it asked for; another worker finds the images in the disk cache.
    assert {name for name in ended if ended[name] == "PASSED"} - {"test_after"} == PASSING - {"test_after"}, done.stdout
    assert ended["test_teardown"] == "ERROR"
    assert {ended[name] for name in ended.keys() - PASSING - {"test_teardown"}} == {"FAILED"}
    assert len(ended) == TESTS.count("\ndef test_")
    for kernel, why, fix in (
        (
            "saxpy of example_project was compiled for sm_75",
            "not prebuilt: the package was built for sm_80",
            "add sm_75",
        ),
        ("block_sum<float, 64> of example_project was compiled for sm_90", "the instance is not", "add 'block_sum<"),
    ):
        assert re.search(rf"{re.escape(kernel)}\n +{why}.*\n +to fix: {re.escape(fix)}", done.stdout), done.stdout
    assert re.search(r"during test_all.py::test_setup \(setup\)", done.stdout)
    assert re.search(r"block_sum<float, 96> .*\n.*\n.*\n.*\n +by process \d+", done.stdout)
    assert "assert 'this' == 'too'" in done.stdout


@pytest.mark.slow
def test_the_verdict_does_not_depend_on_what_ran_before(run, fresh_cache, tmp_path):
    """What an earlier run left in the user's cache counts as compiled; what the environment lists in a folder, not."""
    text = "def test_one():\n    ask('saxpy', 'sm_75')\n"
    first, second = run("--no-jit", test_one=text), run("--no-jit", test_one=text)
    assert (first.returncode, second.returncode) == (1, 1)
    assert "saxpy of example_project came from the disk cache, compiled for sm_75" in second.stdout
    shipped = {"HATCH_CUDA_KERNELS_PATH": str(fresh_cache), "HATCH_CUDA_KERNELS_CACHE_DIR": str(tmp_path / "none")}
    third = run("--no-jit", test_one=text, variables=shipped)
    assert third.returncode == 0, third.stdout
    assert "kernels requested: 1 cached" in third.stdout


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["alone", "workers"])
def test_what_is_compiled_outside_of_tests_fails_the_run(run, options):
    """While a conftest is imported, while tests are collected, and in a process of which no test knows."""
    conftest = "ask('block_sum<float, 32>')\n"
    tests = (
        "ask('block_sum<float, 64>')\ndef test_one():\n    child('block_sum<float, 96>', PYTEST_XDIST_WORKER='gw9')\n"
    )
    done = run("--no-jit", *options, conftest=conftest, test_one=tests)
    assert (done.returncode, outcomes(done)) == (1, {"test_one": "PASSED"}), done.stdout
    told = done.stdout.partition("compiled at run time, and not during a test:")[2]
    assert [f"block_sum<float, {number}>" in told for number in (32, 64, 96)] == [True, True, True], done.stdout


@pytest.mark.slow
def test_a_worker_that_dies_is_told_of(run):
    """Nobody reports its last test, so its compile is reported at the end."""
    text = "def test_dies():\n    ask('block_sum<float, 64>')\n    os._exit(3)\n"
    done = run("--no-jit", "-n", "1", "--max-worker-restart", "0", test_one=text)
    assert done.returncode != 0
    assert "block_sum<float, 64>" in done.stdout.partition("and not during a test:")[2]


@pytest.mark.slow
def test_a_test_that_is_run_again_does_not_hide_a_compile(run):
    """A report that another plugin takes back has told of nothing."""
    conftest = """
@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_logreport(report):
    report.outcome = "rerun" if report.failed else report.outcome
    yield
"""
    again = conftest.replace("hookwrapper=True, tryfirst=True", "tryfirst=True").replace("    yield\n", "")
    done = run("--no-jit", conftest=again, test_one="def test_one():\n    ask('block_sum<float, 64>')\n")
    assert done.returncode == 1
    assert "block_sum<float, 64>" in done.stdout.partition("and not during a test:")[2], done.stdout


def test_nothing_requested_is_said(run, slow):
    """A run without a GPU passes, and does not look as if it had proven something."""
    done = run("--no-jit", test_one="def test_one():\n    pass\n")
    assert done.returncode == 0
    assert "kernels requested: none" in done.stdout
    assert "kernels requested" not in run(test_one="def test_one():\n    pass\n").stdout


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_trace_has_every_request_of_the_run(run, tmp_path, options):
    """Of each worker, and of processes that tests start; an older trace is not added to."""
    (tmp_path / "trace.jsonl").write_text('{"schema": 0}\n')
    tests = "".join(f"def test_{arch}():\n    ask('saxpy', '{arch}')\n" for arch in ("sm_80", "sm_90", "sm_120"))
    tests += "def test_child():\n    child('softmax<32>', arch='sm_90')\n"
    done = run("--kernel-trace", "trace.jsonl", *options, test_one=tests)
    assert done.returncode == 0, done.stdout
    requests = read_trace(tmp_path / "trace.jsonl")
    asked = {(one.kernel, one.capability, one.test.partition(" ")[0]) for one in requests}
    assert asked == {
        ("saxpy", "8.0", "test_one.py::test_sm_80"), ("saxpy", "9.0", "test_one.py::test_sm_90"),
        ("saxpy", "12.0", "test_one.py::test_sm_120"), ("softmax<32>", "9.0", "test_one.py::test_child"),
    }  # fmt: skip
    assert f"kernels requested: 4 prebuilt ({tmp_path / 'trace.jsonl'})" in done.stdout


@pytest.mark.slow
def test_both_options_and_the_variable(run, tmp_path):
    """With a trace of the environment's, --no-jit reads that one, and adds to it; --kernel-trace names another."""
    stated = {"HATCH_CUDA_KERNELS_TRACE": str(tmp_path / "stated.jsonl")}
    text = "def test_one():\n    ask('saxpy')\n"
    assert run("--no-jit", test_one=text, variables=stated).returncode == 0
    assert run("--no-jit", test_one=text, variables=stated).returncode == 0
    assert len(read_trace(tmp_path / "stated.jsonl")) == 2
    assert run("--no-jit", "--kernel-trace=named.jsonl", test_one=text, variables=stated).returncode == 0
    assert len(read_trace(tmp_path / "named.jsonl")) == 1


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--no-summary",), ("-p", "no:terminal")], ids=" ".join)
def test_what_is_told_at_the_end_is_told_without_a_summary_too(run, options):
    """Otherwise a run would fail without a word."""
    done = run("--no-jit", *options, test_one="ask('block_sum<float, 64>')\ndef test_one():\n    pass\n")
    assert done.returncode == 1
    assert "block_sum<float, 64> of example_project was compiled for sm_90" in done.stdout + done.stderr


UNUSABLE = {
    "no such folder": "none/trace.jsonl",
    "a device": "/dev/full",
    "a test": "test_one.py",
}


@pytest.mark.parametrize("path", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_a_file_that_cannot_be_a_trace_is_an_error_at_once(run, path, tmp_path, slow):
    """Before any test runs; and a file of something else is left as it is, such as a test where FILE was forgotten."""
    text = "def test_one():\n    pass\n"
    done = run("--kernel-trace", path, test_one=text)
    assert done.returncode == 4
    assert re.search(r"ERROR: .*(cannot be recorded|is no file to record|is no trace)", done.stderr)
    assert (tmp_path / "test_one.py").read_text() == HEAD + text


LOST = {
    "replaced": "os.unlink(path); open(path, 'w').write('x' * 5000)",
    "damaged": "open(path, 'a').write('{}\\n')",
    "not writable": "os.unlink(path); os.mkdir(path)",
}


@pytest.mark.slow
@pytest.mark.parametrize("harm", LOST.values(), ids=LOST.keys())
def test_a_trace_that_is_harmed_fails_the_run(run, harm):
    """What was recorded in it is not known, so nothing is proven."""
    text = f"def test_one():\n    path = os.environ['HATCH_CUDA_KERNELS_TRACE']\n    {harm}\n"
    text += "def test_two():\n    ask('saxpy')\n"
    done = run("--no-jit", test_one=text)
    assert done.returncode == 1, done.stdout
    assert re.search("was cut or replaced|cannot be read|are missing", done.stdout)


def test_without_the_plugin_the_options_are_unknown(run, slow):
    """Whoever turns the plugin off cannot believe that kernels are watched."""
    done = run("--no-jit", plugin="no:hatch-cuda-kernels", test_one="def test_one():\n    pass\n")
    assert done.returncode == 4
    assert "unrecognized arguments: --no-jit" in done.stderr


def test_markers_are_known_to_strict_runs(run, slow):
    """Without the options, too."""
    text = "@pytest.mark.allow_jit\ndef test_one():\n    pass\n"
    assert run("--strict-markers", "-W", "error", test_one=text).returncode == 0


def test_unused_it_imports_nothing_of_the_package(run, slow):
    """Pytest imports the plugin in every run, so it loads what makes names lazy, and no more."""
    text = """
def test_one():
    names = [name for name in sys.modules if name.startswith("hatch_cuda_kernels.")]
    assert sorted(names) == ["hatch_cuda_kernels.doors", "hatch_cuda_kernels.pytest_plugin"]
"""
    done = run(head="import sys", test_one=text)
    assert done.returncode == 0, done.stdout


def test_asserts_of_the_package_are_not_rewritten():
    """Pytest marks all of a distribution that has a plugin; importing it would take a third longer."""
    from hatch_cuda_kernels import pytest_plugin

    marked = {"hatch_cuda_kernels", "mine"}
    manager = SimpleNamespace(rewrite_hook=SimpleNamespace(_must_rewrite=marked))
    group = SimpleNamespace(addoption=lambda *_, **__: None)
    pytest_plugin.pytest_addoption(SimpleNamespace(getgroup=lambda *_: group), manager)
    assert marked == {"mine"}


def test_the_metadata_has_the_plugin():
    """An installed package brings it, under the name of its module, so that ``-p MODULE`` names the same plugin."""
    metadata = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    [(name, value)] = metadata["project"]["entry-points"]["pytest11"].items()
    assert name == value == "hatch_cuda_kernels.pytest_plugin"
    assert callable(EntryPoint(name, value, "pytest11").load().pytest_addoption)
