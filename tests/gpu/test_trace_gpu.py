"""The trace on a device: what loads record, compiles while a context is made or in the background, and the proof."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.environment import TRACE
from hatch_cuda_kernels.runtime.ladder import read_trace
from hatch_cuda_kernels.verify import CHECKS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(tmp_path, fresh_cache):
    """Return a function that runs code in a new process, and returns the trace that it leaves."""

    def run_code(code):
        path = tmp_path / "trace.jsonl"
        environment = {**os.environ, TRACE: str(path)}
        subprocess.run([sys.executable, "-c", code], env=environment, check=True)
        return read_trace(path)

    return run_code


def opened(store, **options):
    """Return code that opens a store."""
    given = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"from hatch_cuda_kernels import open_store; store = open_store({str(store.path)!r}{given});"


def test_a_load_is_recorded_with_the_device_and_the_driver(build, native, driver, run):
    """Once, however often the kernel is asked for."""
    found = run(f"{opened(build(native))} [store.get_kernel('saxpy') for _ in range(100)]")
    [line] = found
    assert (line.answer, line.image) == ("prebuilt", {"arch": native, "kind": "cubin"})
    assert (line.capability, line.driver) == (f"{native[3:-1]}.{native[-1]}", "{}.{}".format(*driver))


def test_a_compile_while_the_context_is_made_is_recorded_once(build, native, run):
    """The first request of a process compiles before its device is asked."""
    found = run(f"{opened(build(native))} store.get_kernel('fill<float, 16>')")
    assert [line.answer for line in found] == ["compiling", "compiled"]


def test_a_compile_in_the_background_is_recorded(build, native, foreign, run):
    """With tier_up, the exact image is compiled after PTX was loaded; a process that ends then still records it."""
    store = build("compute_80", foreign)
    found = run(f"{opened(store, tier_up=True)} assert store.get_kernel('saxpy').image.kind == 'ptx'")
    assert sorted(line.answer for line in found) == ["compiling", "prebuilt"]
    assert all(line.tier_up for line in found)


def test_a_trace_of_the_examples_tests_proves_its_wheel(native, driver, tmp_path, fresh_cache, capsys):
    """None of them compiles; the trace is proven for this GPU, and for those that the wheel promises."""
    if importlib.util.find_spec("example_project") is None:
        pytest.skip("needs the example's wheel")
    tests = next(path for path in (ROOT / "example_tests", ROOT / "example_project" / "tests") if path.is_dir())
    trace = tmp_path / "requests.jsonl"
    plugin = ["-p", "hatch_cuda_kernels.pytest_plugin", "-p", "no:cacheprovider", "-c", os.devnull]
    command = [sys.executable, "-m", "pytest", *plugin, "--no-jit", "--kernel-trace", str(trace), str(tests)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    skipped = [part for check in CHECKS for part in ("--skip", check)]
    here = f"{native[3:-1]}.{native[-1]}@{driver[0]}.{driver[1]}"
    for gpus in (["--gpus", here], []):
        assert main(["verify", "example_project", "--requests", str(trace), *gpus, *skipped, "--json"]) == 0
        data = json.loads(capsys.readouterr().out)
        assert len(data["requests"]) > 5
        assert open_store("example_project").kernels
