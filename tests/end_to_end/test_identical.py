"""The same bytes, wherever and in whatever order the compiles ran."""

from __future__ import annotations

import json
import multiprocessing
import random
import shutil
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest
from cache_entries import edit

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.compiler.toolchain.libraries import bindings_major
from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.pool.executors import WorkerExecutor

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
    "processes": lambda: WorkerExecutor(6),  # more than there are jobs
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


@pytest.mark.slow
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


#: Every option that a compiler is told, those together that have nothing to do with paths.
OPTIONS = (
    "std: c++20, ftz: true, prec_div: false, prec_sqrt: false, fma: false, maxrregcount: 32",
    "lineinfo: true", "debug: true", "lineinfo: true, lto: true",
    "default_device: true, standard_headers: false", "use_fast_math: true, host_code: drop",
    "include: [include], define: {X: 1}, pre_include: [first.h], host_only: [Task]",
    "lineinfo: true, extra: [--restrict, -extra-device-vectorization, -Xptxas=-O1]",
)  # fmt: skip
#: What says where the next line is from, before the kernels of a source.
LINES = {
    "none": "",
    "number": "#line 5\n",
    "relative": '#line 1 "gen.cu"\n',
    "upwards": '#line 1 "../x.cu"\n',
    "absolute": '#line 1 "/abs/x.cu"\n',
    "marker": '# 1 "gen.cu" 1 3\n# 1 "k.cu" 2\n',
    "macros": '#define FILE "gen.cu"\n#define LINE 7\n#line LINE FILE\n',
    "empty": '#line 1 ""\n',
}
TOP = """
#include <toy.h>
class Task {};
static __device__ int seen;
static __device__ __noinline__ int length(const char* s) { int n = 0; while (s[n]) ++n; return n; }
"""
KERNEL = """
extern "C" __global__ void %s(int* y) {
    const char* volatile file = __FILE__;
    if (*y == 3) __assertfail("", __FILE__, __LINE__, "", 1);
    *y = length(file) + toy(seen);
    seen = *y;
}
"""
#: Every option with all lines in one source; those that have most to do with lines also with each by itself, by the
#: routes that have their own ways to give a source its name: what finishes shared code is given no name. A number alone
#: and macros are not: the one has no name, and the others give one that another line gives.
ALONE = [line for line in LINES if line not in {"number", "macros"}]
PLACES = [(options, tuple(LINES)) for options in OPTIONS] + [("lineinfo: true", (line,)) for line in ALONE]


def source_of(name, lines):
    """Return a source with a kernel behind each line; the first line stands before all there is."""
    kernels = [LINES[line] + KERNEL % f"{name}_{line}" for line in lines]
    return f"{LINES[lines[0]]}{TOP}{''.join(kernels)}"


def modules_of(number, options, lines):
    """Return a manifest's modules with these options: one for each front end that takes them, and a linked one."""
    refused = {"debug": ("lto", "ptx"), "lto: true": ("ptx",)}
    shared = {"lto", "ptx"} if len(lines) > 1 else set()
    ends = ({"per-arch"} | shared).difference(*(ends for word, ends in refused.items() if word in options))
    arches = "sm_80, compute_90"
    if "extra" in options:  # each compile takes a process
        ends, arches = {"per-arch"}, "sm_90"
    elif "debug" in options:  # linked PTX is made from LTO-IR
        arches = "sm_80, sm_90"
    settings = f"arches: [{arches}], options: {{{options}}}"
    for end in sorted(ends):
        yield f"p{number}-{end}: {{source: p{number}/a.cu, front_end: {end}, {settings}}}"
    yield f"p{number}-linked: {{sources: [p{number}/a.cu, p{number}/b.cu], {settings}}}"


def placed_project(root):
    """Write a project with the modules of every place, and a toolkit's header beside it."""
    modules = [module for number, place in enumerate(PLACES) for module in modules_of(number, *place)]
    texts = {"kernels.yaml": f"{{schema: 1, modules: {{{', '.join(modules)}}}}}", "first.h": "", "include/any.h": ""}
    for number, (_, lines) in enumerate(PLACES):
        texts |= {f"p{number}/{name}.cu": source_of(name, lines) for name in "ab"}
    folder = "cuda_runtime" if bindings_major() < 13 else f"cu{bindings_major()}"
    texts[f"../toolkit/nvidia/{folder}/include/toy.h"] = "inline __device__ int toy(int x) { return x / 7; }\n"
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return load_manifest(root / "kernels.yaml")


@pytest.fixture(scope="module")
def placed(tmp_path_factory, isolation, slow):
    """Return a folder, and the files of two stores: another checkout, working directory and toolkit's folder.

    The compiles ran in threads of this process for the first one, and in processes for the other.
    """
    folder = tmp_path_factory.mktemp("places")
    stores, path = [], sys.path
    with pytest.MonkeyPatch.context() as patch:
        for name, executor in (("one", ThreadPoolExecutor(2)), ("an/other", WorkerExecutor(2))):
            (folder / name / "here").mkdir(parents=True)
            patch.chdir(folder / name / "here")
            patch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(folder / name / "cache"))
            patch.setattr(sys, "path", [str(folder / name / "toolkit"), *path])
            load_toolchain.cache_clear()
            with executor:
                build_store(placed_project(folder / name / "checkout"), folder / name / "out", executor=executor)
            stores.append(files(folder / name / "out"))
    load_toolchain.cache_clear()
    return folder, stores


@pytest.mark.parametrize(
    "number", range(len(PLACES)), ids=[f"{options}-{'-'.join(lines)}" for options, lines in PLACES]
)
def test_no_folder_shows_in_a_module(placed, number):
    """What is compiled with each option, with and without lines that say where they are from."""
    folder, stores = placed
    first, second = ({file: store[file] for file in store if file.startswith(f"p{number}-")} for store in stores)
    assert len({file.partition("/")[0] for file in first}) == len([*modules_of(number, *PLACES[number])])
    assert first == second
    assert not [file for file, data in first.items() if bytes(folder) in data]


def test_no_folder_shows_in_a_store(placed):
    """Nor in what the modules share."""
    folder, stores = placed
    assert stores[0] == stores[1]
    assert not [file for file, data in stores[0].items() if bytes(folder) in data]
