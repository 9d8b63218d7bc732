"""Builds on a Dask cluster: a real scheduler and real worker processes, one of which dies or has another NVRTC."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from dask_cluster import run_cluster
from front_ends import PYPROJECT
from hatchling.builders.wheel import WheelBuilder

from hatch_cuda_kernels import cli
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cache import open_cache
from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.pool.executors import WorkerMismatchError

#: The first module takes a while for each architecture.
MANIFEST = """
schema: 1
arches: [sm_80, sm_90, compute_80]
modules: {heavy: {source: heavy.cu}, light: {source: saxpy.cu}}
"""
HEAVY = """
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void total(__nv_bfloat16* y, __half* x) { *y += *y; *x += *x; }
"""
OTHER_NVRTC = """
from hatch_cuda_kernels.compiler.toolchain import toolchain
found = toolchain.load_toolchain()
toolchain.load_toolchain = lambda: found._replace(nvrtc="13.0.1")
"""
OTHER_VERSION = "import hatch_cuda_kernels; hatch_cuda_kernels.__version__ = '0.0.9'"
DEADLY = "from hatch_cuda_kernels.compiler import nvrtc; import os; nvrtc.run_job = lambda job: os._exit(1)"
NO_PACKAGE = "import sys; sys.modules['hatch_cuda_kernels'] = None"


@pytest.fixture(autouse=True)
def distributed(slow):
    """Return the package, which takes half a second to import: no run without these tests pays for it."""
    return pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, slow):
    """Return a cluster of all tests here; each says how many workers it keeps, and what others it adds."""
    pytest.importorskip("distributed")
    with run_cluster(tmp_path_factory.mktemp("dask")) as running:
        yield running


@pytest.fixture
def own_cluster(tmp_path, monkeypatch):
    """Return a cluster of this test, without workers yet, which gives up a job at its first death."""
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    with run_cluster(tmp_path) as running:
        yield running


@pytest.fixture
def project(make_project):
    """Return a project with a heavy and a light module."""
    return make_project(MANIFEST, **{"heavy.cu": HEAVY, "pyproject.toml": PYPROJECT, "p/__init__.py": ""})


@pytest.fixture
def light(make_project):
    """Return the manifest of one small module."""
    root = make_project("{schema: 1, arches: [sm_80, sm_90], modules: {a: {source: saxpy.cu}}}")
    return load_manifest(root / "kernels.yaml")


class Killer:
    """A progress that kills a process when the first job is done."""

    def __init__(self, process):
        self._process = process
        self.finished = 0

    def start(self, total):
        """Nothing has been compiled yet."""

    def done(self, job, seconds):
        """Kill it."""
        self.finished += 1
        self._process.kill()

    def finish(self):
        """Nothing is left to do."""


def files(folder):
    """Return every file below a folder with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def build_wheel(root):
    """Build the project's wheel in this process and return its bytes."""
    wheel = Path(next(WheelBuilder(str(root)).build(directory=str(root / "dist"), versions=["standard"])))
    return wheel.read_bytes()


def test_a_worker_killed_in_the_build_costs_nothing(cluster, project, tmp_path, monkeypatch):
    """Two workers, one killed after the first result: store and wheel are those of a build here, and all is cached."""
    monkeypatch.chdir(project)
    manifest = load_manifest("kernels.yaml")
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(tmp_path / "cache-here"))
    build_store(manifest, tmp_path / "here", workers=1)
    wheel = build_wheel(project)

    cluster.keep(2)
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(tmp_path / "cache-dask"))
    killer = Killer(cluster.workers[0])
    report = build_store(manifest, tmp_path / "there", executor=f"dask:{cluster.address}", progress=killer)
    assert cluster.workers[0].wait() == -9
    assert killer.finished == 4
    assert len(report.compiled) == 6
    assert files(tmp_path / "there") == files(tmp_path / "here")
    assert open_cache().info().entries == 6

    cluster.keep(0)  # what is cached needs no worker
    monkeypatch.setenv("HATCH_CUDA_KERNELS_EXECUTOR", f"dask:{cluster.address}")
    assert build_wheel(project) == wheel


def test_the_environment_redirects_a_wheel_build(cluster, project, fresh_cache, monkeypatch):
    """The variable alone sends the compiles of a wheel elsewhere: here, none could run."""
    monkeypatch.chdir(project)
    (project / "kernels.yaml").write_text("{schema: 1, arches: [sm_90], modules: {a: {source: saxpy.cu}}}")
    cluster.keep(1)
    monkeypatch.setattr("hatch_cuda_kernels.compiler.nvrtc.run_job", None)
    monkeypatch.setenv("HATCH_CUDA_KERNELS_EXECUTOR", f"dask:{cluster.file}")
    build_wheel(project)
    with zipfile.ZipFile(project / "dist" / "p-1.0-py3-none-any.whl") as archive:
        assert "p/_kernels/a/a.sm_90.cubin" in archive.namelist()


MISMATCHES = [
    (OTHER_NVRTC, r"Dask worker tcp://\S+ has NVRTC 13\.0\.1, this build needs \d+\.\d+\.\d+$"),
    (OTHER_VERSION, r"Dask worker tcp://\S+ has hatch-cuda-kernels 0\.0\.9, this build needs \S+$"),
    (NO_PACKAGE, r"Dask worker tcp://\S+ cannot compile for this build: \w+: .*hatch_cuda_kernels"),
]


@pytest.mark.parametrize(("preload", "message"), MISMATCHES, ids=["nvrtc", "version", "no package"])
def test_workers_with_other_tools_are_refused_at_once(cluster, light, tmp_path, fresh_cache, preload, message):
    """Before the first job, every worker says what it has; each one that differs is named, with what to install."""
    cluster.keep(1)
    cluster.add(1, preload=preload)
    with pytest.raises(WorkerMismatchError, match=f"(?m){message}") as caught:
        build_store(light, tmp_path / "out", executor=f"dask:{cluster.address}")
    assert len(caught.value.message.splitlines()) == 1
    assert " nvidia-cuda-nvrtc==" in caught.value.fix
    assert open_cache().info().entries == 0


def test_a_worker_with_other_tools_that_joins_later_is_reported_once(
    cluster, distributed, light, tmp_path, fresh_cache
):
    """Jobs carry what they need, so a worker that was not asked refuses them; the build says so, and not for each."""
    cluster.keep(0)
    cluster.add(1, preload=OTHER_NVRTC)
    with (
        distributed.Client(cluster.address, set_as_default=False) as client,
        pytest.raises(WorkerMismatchError, match=r"the worker on \S+, process \d+, has NVRTC 13\.0\.1") as caught,
    ):
        build_store(light, tmp_path / "out", executor=client.get_executor(pure=False))
    assert str(caught.value).count("13.0.1") == 1
    assert not (tmp_path / "out").exists()


def test_compile_errors_come_back_with_their_logs(cluster, make_project, tmp_path, fresh_cache):
    """What NVRTC says on a worker is what it would say here, for all failing jobs."""
    root = make_project("{schema: 1, arches: [sm_80, sm_90], modules: {a: {source: a.cu}}}", **{"a.cu": "broken"})
    cluster.keep(1)
    with pytest.raises(BuildError) as caught:
        build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out", executor=f"dask:{cluster.address}")
    [problem] = caught.value.problems
    assert "module 'a' for sm_80, sm_90: " in problem
    assert "a.cu:1:1: error" in problem


def test_a_job_that_kills_its_workers_is_named_and_a_lost_scheduler_ends_the_build(
    own_cluster, light, project, tmp_path, fresh_cache
):
    """Dask gives a job up after some workers have died of it; what was compiled before the end is kept."""
    own_cluster.add(2, preload=DEADLY)
    there = f"dask:{own_cluster.address}"
    with pytest.raises(BuildError, match=r"modules\.a: module 'a' for sm_\d+: KilledWorker: "):
        build_store(light, tmp_path / "out", executor=there)
    own_cluster.keep(1)
    manifest = load_manifest(project / "kernels.yaml")
    with pytest.raises(BuildError, match=r"the connection to the Dask scheduler at .* was lost"):
        build_store(manifest, tmp_path / "out", executor=there, progress=Killer(own_cluster.scheduler))
    assert open_cache().info().entries >= 1
    assert not (tmp_path / "out").exists()


def test_a_cluster_without_workers_is_given_up(cluster, light, tmp_path, fresh_cache, monkeypatch):
    """A build whose workers all went away for good does not wait for ever."""
    monkeypatch.setattr("hatch_cuda_kernels.pool.executors._NO_WORKER_SECONDS", 1.0)
    cluster.keep(0)
    cluster.add(1, preload=DEADLY)
    with pytest.raises(BuildError, match=r"had no worker for 1 s"):
        build_store(light, tmp_path / "out", executor=f"dask:{cluster.address}")


def test_no_scheduler_is_one_sentence(light, monkeypatch, capsys):
    """A wrong address ends the build with status 1 and what to do."""
    monkeypatch.setattr("hatch_cuda_kernels.pool.executors._CONNECT_SECONDS", 1.0)
    monkeypatch.chdir(light.root)
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(light.root / "empty"))
    assert cli.main(["build", "--executor", "dask:tcp://127.0.0.1:9"]) == 1
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err


def test_no_worker_is_one_sentence(cluster, light, tmp_path, fresh_cache, monkeypatch):
    """A cluster that gets no worker for a long time is given up, with the command that starts one."""
    monkeypatch.setattr("hatch_cuda_kernels.pool.executors._NO_WORKER_SECONDS", 1.0)
    cluster.keep(0)
    with pytest.raises(BuildError, match=r"had no worker for 1 s\n  to fix: start some, for example with 'dask worker"):
        build_store(light, tmp_path / "out", executor=f"dask:{cluster.address}")
