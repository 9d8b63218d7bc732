"""What a build shows while it runs: what is being compiled, what failed, what took longest."""

from __future__ import annotations

import io
import os
import re
from contextlib import suppress
from types import SimpleNamespace

import pytest

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.pool.progress import LineProgress, open_progress


def job(module, arch="sm_90"):
    """Return what a progress display sees of a job."""
    return SimpleNamespace(module=module, arch=arch)


JOBS = [job("sort"), job("reduce"), job("saxpy")]


def test_a_log_names_what_runs_and_what_took_longest():
    """Jobs begin in the order given, so the first that is not done is the one that everybody waits for."""
    stream = io.StringIO()
    progress = LineProgress(stream, every=0.0)
    progress.start(JOBS)
    progress.done(JOBS[1], 2.5)
    progress.done(JOBS[2], None)
    progress.done(JOBS[0], 7.25)
    progress.finish()
    assert stream.getvalue().splitlines() == [
        "cuda-kernels: compiling 3 module x architecture pairs",
        "cuda-kernels: 1/3, compiling sort sm_90",
        "cuda-kernels: 2/3 saxpy sm_90 failed",
        "cuda-kernels: slowest: sort sm_90, 7.2 s",
    ]


def test_a_fast_build_has_nothing_to_say():
    """One line at the start; milliseconds are no news."""
    stream = io.StringIO()
    progress = LineProgress(stream)
    progress.start(JOBS)
    for done in JOBS:
        progress.done(done, 0.01)
    progress.finish()
    assert stream.getvalue().count("\n") == 1


def all_of(terminal):
    """Return everything that was written to a terminal whose other end is closed."""
    parts = []
    with suppress(OSError), os.fdopen(terminal, "rb", buffering=0) as file:  # Linux ends it with an error
        while part := file.read(10_000):
            parts.append(part)
    return b"".join(parts).decode()


def test_a_terminal_sees_what_runs():
    """The bar names the job that has been running longest; the slowest is left when the bar is gone."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stream:
        progress = open_progress(stream)
        progress.start(JOBS)
        progress.done(JOBS[0], 3.0)
        progress.done(JOBS[1], 2.0)
        progress.finish()
    written = all_of(ours)
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", written)
    assert re.search(r"compiling .* saxpy sm_90", shown)
    assert shown.rstrip().endswith("slowest: sort sm_90, 3.0 s")


def test_parts_of_one_module_are_told_apart():
    """A module's sources or chunks have the same name; it stays until the last of them is done."""
    stream = io.StringIO()
    progress = LineProgress(stream, every=0.0)
    progress.start([job("a"), job("a"), job("b")])
    progress.done(job("a"), 0.1)
    assert stream.getvalue().endswith("compiling a sm_90\n")


REFUSED = """\
unknown::T f(unknown::T b) { return {}; }
extern "C" __global__ void k(int* y) { *y = 3; }
"""


def test_a_compile_that_is_repeated_has_not_failed(tmp_path):
    """NVRTC refuses host code, of which more is cut then: the build counts each pair once, and no failure."""
    (tmp_path / "k.cu").write_text(REFUSED)
    (tmp_path / "kernels.yaml").write_text("{schema: 1, arches: [sm_90], modules: {m: {source: k.cu}}}")
    stream = io.StringIO()
    build_store(load_manifest(tmp_path / "kernels.yaml"), tmp_path / "out", progress=LineProgress(stream, every=0.0))
    lines = stream.getvalue().splitlines()
    assert lines[:2] == [
        "cuda-kernels: compiling 1 module x architecture pairs",
        "cuda-kernels: compiling 1 module x architecture pairs again, with more host code cut",
    ]
    assert "failed" not in stream.getvalue()
