"""Fixtures: an isolated cache, small projects, and what a run makes once; marks that follow from the fixtures used."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import shutil
import signal
import sys
import textwrap
from collections import Counter
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from unittest import mock

import pytest
from devices import no_device_reason
from front_ends import EXAMPLE, REPOSITORY, build_wheel, copy_project, of_one_arch, without_cub
from jobs import compile_in_threads
from shared import SKIPPED_FILES, make_once, shared_folder

from hatch_cuda_kernels.compiler.toolchain.libraries import bindings_major

#: Variables that say who started the tests, how it is used, or how it shows text: what a test starts would go by them.
#: And uv links, as it does unless told otherwise: to copy 300 MB takes longer than most isolated builds.
OF_THE_CALLER = re.compile(
    "UV|UV_RUN_.*|UV_LINK_MODE|VIRTUAL_ENV.*|(?:CONDA|HATCH|PIPX)_.*|CUDA_(?!VISIBLE_DEVICES|DEVICE_ORDER).*"
    "|COLUMNS|LINES|NO_COLOR|CLICOLOR.*|FORCE_COLOR|PY_COLORS|PYTHON(?:_COLORS|HASHSEED|IOENCODING|SAFEPATH|STARTUP|WARNINGS)"
)
EXAMPLE_WHEEL = "example_project-0.1.0-py3-none-any.whl"
SAXPY = """
extern "C" __global__ void saxpy(float* y, const float* x, unsigned int n, float a) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""


def pytest_configure():
    """Let the tests' processes take Ctrl-C: what a shell starts in its background ignores it, children included."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def isolation(tmp_path_factory):
    """Give the whole run a cache folder of its own and an environment without its caller's variables.

    Builds compile in threads of this process. Tests about workers ask for ``worker_processes``.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in filter(OF_THE_CALLER.fullmatch, [*os.environ]):
            patch.delenv(name)
        patch.setenv("TERM", "xterm")
        patch.setenv("PIP_COMPILE", "0")  # of what a test installs, a tenth is imported, and once
        patch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(shared_folder(tmp_path_factory) / "cache"))
        compile_in_threads(patch)
        patch.setenv("MYPY_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "mypy"))
        yield


@pytest.fixture
def worker_processes(monkeypatch):
    """Let the builds of this test compile in worker processes, as they do outside the tests."""
    from hatch_cuda_kernels.pool.executors import local_executor
    from hatch_cuda_kernels.pool.schedule import run_isolated

    monkeypatch.setattr("hatch_cuda_kernels.port.trials.run_isolated", run_isolated)
    monkeypatch.setattr("hatch_cuda_kernels.pool.schedule.local_executor", local_executor)


@pytest.fixture(scope="session", autouse=True)
def untainted():
    """Look once whether NVRTC compiles here as in a new process, and not after every compile (see ``taint``).

    The state never goes back: if it is clean at the end, it was clean during all compiles.
    """
    from hatch_cuda_kernels.compiler import nvrtc, nvrtc_calls

    with mock.patch.object(nvrtc, "is_tainted", return_value=False) as asked:
        yield
    assert not (asked.called and nvrtc_calls.is_tainted())


@pytest.fixture
def fresh_cache(tmp_path, monkeypatch):
    """Return the path of an empty cache folder that this test alone uses."""
    path = tmp_path / "fresh-cache"
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(path))
    return path


@pytest.fixture
def make_project(tmp_path):
    """Return a function that writes a project's files and returns its folder."""

    def make(manifest: str, /, **files: str) -> Path:
        root = tmp_path / "project"
        root.mkdir(exist_ok=True)
        (root / "kernels.yaml").write_text(textwrap.dedent(manifest))
        for name, text in {"saxpy.cu": SAXPY, **files}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return root

    return make


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a text file under the test's folder, making its parents."""

    def write_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    return write_file


@pytest.fixture(scope="session")
def example_store(tmp_path_factory, isolation):
    """Return the folder of the example project's store, less what uses CUB; for CUDA 12 with its bindings."""
    return make_once(tmp_path_factory, "example_store", partial(_build_store, without_cub)) / "_kernels"


@pytest.fixture(scope="session")
def whole_example_store(tmp_path_factory, isolation, slow):
    """Return the folder of the example project's store, with the images of one architecture; for CUDA 12 likewise."""
    return make_once(tmp_path_factory, "whole_example_store", partial(_build_store, of_one_arch)) / "_kernels"


@pytest.fixture(scope="session")
def example_wheel(tmp_path_factory, isolation):
    """Return the example project's wheel, less what uses CUB, built with what is installed here."""
    return make_once(tmp_path_factory, "example_wheel", partial(_build_wheel, without_cub)) / EXAMPLE_WHEEL


@pytest.fixture(scope="session")
def example_site(tmp_path_factory, example_wheel):
    """Return a folder with the package of the example's wheel, as an installer leaves it, for ``sys.path``."""

    def unpack(folder):
        shutil.unpack_archive(example_wheel, folder / "site", "zip")

    return make_once(tmp_path_factory, "example_site", unpack) / "site"


@pytest.fixture(scope="session")
def whole_example_wheel(tmp_path_factory, isolation, slow):
    """Return the example project's wheel, built with what is installed here."""
    return make_once(tmp_path_factory, "whole_example_wheel", partial(_build_wheel, str)) / EXAMPLE_WHEEL


def _build_store(edit, folder):
    from hatch_cuda_kernels.build import build_store
    from hatch_cuda_kernels.manifest import load_manifest

    project = _edited_example(edit, folder)
    if bindings_major() == 12:
        manifest = project / "kernels.yaml"
        manifest.write_text(manifest.read_text().replace('cuda: "13.0"', 'cuda: "12.9"'))
    build_store(load_manifest(project / "kernels.yaml"), folder / "_kernels")


def _build_wheel(edit, folder):
    from hatchling.builders.wheel import WheelBuilder  # as build front ends do, less their processes

    [_] = WheelBuilder(str(_edited_example(edit, folder))).build(directory=str(folder), versions=["standard"])


def _edited_example(edit, folder):
    project = copy_project(folder / "example_project")
    (project / "kernels.yaml").write_text(edit((EXAMPLE / "kernels.yaml").read_text()))
    return project


@pytest.fixture(scope="session")
def plugin_wheel(tmp_path_factory, slow):
    """Return the folder with this package's own wheel, as an index of packages offers it.

    Its version is higher than any that the index has: what is tested is what is here.
    """
    version = {"SETUPTOOLS_SCM_PRETEND_VERSION": "999"}
    return make_once(tmp_path_factory, "plugin_wheel", lambda folder: build_wheel(REPOSITORY, folder, **version))


@pytest.fixture(scope="session")
def device():
    """Mark the test ``gpu``: it is skipped, with the driver's reason, where there is no CUDA device."""


@pytest.fixture(scope="session")
def slow():
    """Mark the test ``slow``: it takes a tenth of a second of processor time or more, what it starts included.

    ``hatch run quick`` leaves it out, and CI runs it on one Python; on all if it is marked ``every_python``, too.
    ``slow_parameters`` marks some of a test's cases.
    """


@pytest.hookimpl(tryfirst=True)  # before -m selects by these marks
def pytest_collection_modifyitems(items):
    """Mark tests by the fixtures they use, and begin with the files that have slow ones."""
    for item in items:
        for fixture, mark in (("device", "gpu"), ("slow", "slow")):
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(mark)
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: -slow[item.path])


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    """Let each worker of pytest-xdist import the tests from another place on: in a new checkout, that rewrites asserts.

    What one has rewritten the others read; if all began at the same file, all would rewrite all.
    """
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    if number == 0:
        return
    given = [Path(argument.partition("::")[0]) for argument in session.config.args]
    files = [file for path in given for file in (sorted(path.rglob("test_*.py")) if path.is_dir() else [path])]
    begin = len(files) * number // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    for file in files[begin:] + files[:begin]:
        sys.path.insert(0, folder := str(file.resolve().parent))
        with suppress(Exception, pytest.skip.Exception):  # told when it is collected
            import_module(file.stem)
        sys.path.remove(folder)


def pytest_collectreport(report):
    """Keep the names of the files that are skipped at once."""
    if report.skipped:
        SKIPPED_FILES.add(report.nodeid)


def pytest_collection_finish():
    """Let garbage collections pass over the thousands of tests: those that tests ask for take a tenth of a second."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keep a file's tests in one process, because they share what they make, and the files in their order."""
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False
    return LoadFileScheduling(config, log)


def pytest_runtest_setup(item):
    """Skip what cannot run here; in one place, so that the summary has a line a reason in place of one a test."""
    for name, why_not in (("gpu", _no_gpu), ("cuda12", _no_cuda12)):
        if item.get_closest_marker(name) and (reason := why_not()):
            pytest.skip(reason)


def pytest_runtest_teardown(item, nextitem):
    """Give memory back after each file: what compilers in threads have freed stays with the process, 2 GB at last."""
    if sys.platform == "linux" and (nextitem is None or nextitem.path != item.path):
        getattr(ctypes.CDLL(None), "malloc_trim", int)(0)  # glibc has it


@cache
def _no_gpu():
    reason = no_device_reason()
    return reason and f"needs a CUDA device: {reason}"


@cache
def _no_cuda12():
    return "" if bindings_major() == 12 else "needs cuda-bindings 12: hatch run cu12:test"
