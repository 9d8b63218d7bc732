"""The same bytes, wherever and in whatever order the compiles ran."""

from __future__ import annotations

import json
import multiprocessing
import random
import shutil
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest
from cache_entries import edit

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.pool.worker import WorkerExecutor

#: Without a seed, the images of the first would hold the process id.
SOURCES = {
    "cub.cu": """
        #include <cub/block/block_reduce.cuh>
        extern "C" __global__ void total(int* y) {
            __shared__ cub::BlockReduce<int, 128>::TempStorage storage;
            *y = cub::BlockReduce<int, 128>(storage).Sum(*y);
        }
        """,
    "twice.cu": '#include <twice.h>\nextern "C" __global__ void twice(int* y) { *y = TWICE(*y); }\n',
    "include/twice.h": "#define TWICE(x) (2 * (x))\n",
}  # fmt: skip
MANIFEST = """
schema: 1
arches: [sm_90, compute_90]
options: {include: [include]}
modules:
  cub: {source: cub.cu, arches: [sm_90]}
  saxpy: {source: saxpy.cu}
  twice: {source: twice.cu, arches: [sm_80, sm_120], options: {lineinfo: true}}
"""


class ShuffledExecutor(Executor):
    """Runs calls in this process once all have come, in a random order."""

    def __init__(self, expected):
        self._expected = expected
        self._calls = []

    def submit(self, fn, /, *args, **kwargs):
        """Keep a call; run all with the last one."""
        future = Future()
        self._calls.append((future, fn, args, kwargs))
        if len(self._calls) == self._expected:
            random.shuffle(self._calls)
            for waiting, called, given, named in self._calls:
                waiting.set_result(called(*given, **named))
        return future


def spawned():
    """Return the standard library's process pool."""
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))


EXECUTORS = {
    "threads": lambda: ThreadPoolExecutor(3),
    "processes": lambda: WorkerExecutor(2),
    "more processes than jobs": lambda: WorkerExecutor(6),
    "the standard library's processes": spawned,
    "any order": lambda: ShuffledExecutor(4),
}


def files(folder):
    """Return every file below a folder with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def reference(tmp_path_factory, isolation, slow):
    """Return a project and every file of its store as one thread makes it."""
    folder = tmp_path_factory.mktemp("reference")
    saxpy = 'extern "C" __global__ void saxpy(float* y, float a) { y[threadIdx.x] *= a; }'
    for name, text in {"kernels.yaml": MANIFEST, "saxpy.cu": saxpy, **SOURCES}.items():
        path = folder / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    build_store(load_manifest(folder / "project" / "kernels.yaml"), folder / "out", workers=1)
    return folder / "project", files(folder / "out")


@pytest.mark.parametrize("name", EXECUTORS)
def test_stores_are_byte_identical_on_every_executor(reference, tmp_path, fresh_cache, name):
    """Another executor, number of workers, order of results and place of the checkout: the same files."""
    project, expected = reference
    elsewhere = shutil.copytree(project, tmp_path / "another" / "checkout")
    with EXECUTORS[name]() as executor:
        report = build_store(load_manifest(elsewhere / "kernels.yaml"), tmp_path / "out", executor=executor)
        assert executor.submit(len, "still open") is not None
    assert len(report.compiled) == 5
    assert files(tmp_path / "out") == expected


def test_what_took_longest_elsewhere_starts_first(make_project, tmp_path, fresh_cache, monkeypatch):
    """A module whose compile is known to be slow, from other architectures, goes before those that look slower."""
    manifest = "{schema: 1, arches: [%s], modules: {a: {source: saxpy.cu}, b: {source: b.cu}, z: {source: z.cu}}}"
    kernel = 'extern "C" __global__ void k() {}'
    texts = {"b.cu": "// a comment\n" * 20_000 + kernel, "z.cu": kernel}

    def first_module(arches):
        root = make_project(manifest % arches, **texts)
        recorder = Recorder()
        with ThreadPoolExecutor(1) as executor:
            build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out", executor=executor, progress=recorder)
        return recorder.modules[0]

    assert first_module("sm_80") == "b"
    recorded = shutil.copytree(fresh_cache, tmp_path / "recorded")
    for entry in recorded.rglob("entry.json"):
        edit(entry.parent, seconds=5.0 if json.loads(entry.read_text())["module"] == "z" else 0.1)
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(recorded))
    assert first_module("sm_80, sm_90") == "z"


class Recorder:
    """A progress that keeps the modules in the order in which they finish."""

    def __init__(self):
        self.modules = []

    def start(self, total):
        """Nothing has been compiled yet."""

    def done(self, job, seconds):
        """Keep its name."""
        self.modules.append(job.module)

    def finish(self):
        """Nothing is left to do."""


def test_a_broken_executor_is_told_once(reference, tmp_path, fresh_cache):
    """An executor that takes no jobs any more is one problem, not one for each job."""
    project, _ = reference
    executor = spawned()
    executor.shutdown()
    with pytest.raises(BuildError, match="cannot schedule new futures after shutdown") as caught:
        build_store(load_manifest(project / "kernels.yaml"), tmp_path / "out", executor=executor)
    assert len(caught.value.problems) == 1
