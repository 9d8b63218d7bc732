"""Several builds at once with one empty cache: an image is compiled once, and no build keeps another from going on."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from processes import linux
from waiting import HANG_SECONDS, wait_until

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.cache import open_cache
from hatch_cuda_kernels.compiler.job import entry_of
from hatch_cuda_kernels.compiler.toolchain.toolchain import find_toolchain
from hatch_cuda_kernels.errors import BuildError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.plan import make_plan
from hatch_cuda_kernels.pool import executors
from hatch_cuda_kernels.pool.missing import image_keys
from hatch_cuda_kernels.pool.schedule import Elsewhere, Turns

MODULES = 6
KERNEL = 'extern "C" __global__ void k{0}(int* y) {{ *y = {0}; }}\n'


@pytest.fixture
def project(make_project, fresh_cache):
    """Return a project with some modules, one of which shares its front end, and an empty cache."""
    sources = {f"m{number}.cu": KERNEL.format(number) for number in range(MODULES)}
    return make_project(manifest(range(MODULES)), **sources, **{"reversed.yaml": manifest(range(MODULES)[::-1])})


def manifest(order):
    """Return a manifest with the modules in an order, by place and by name."""
    modules = [f"a{place}: {{source: m{number}.cu, " for place, number in enumerate(order)]
    ends = ["front_end: ptx}" if number == 0 else "chunk: 1}" for number in order]
    return f"{{schema: 1, arches: [sm_80, sm_90], modules: {{{', '.join(map(str.__add__, modules, ends))}}}}}"


def start(project, out):
    """Return a process that builds a project."""
    command = [sys.executable, "-m", "hatch_cuda_kernels", "build", "--jobs", "2", "--out", str(out)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=project, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def compiled(process):
    """Return how many images a build has compiled, and how many it has taken from the cache."""
    told, errors = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 0, errors
    return [int(count) for count in re.search(r"(\d+) compiled, (\d+) from the cache", told).groups()]


def files(folder):
    """Return every file below a folder with its bytes."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_three_builds_share_the_work(project, tmp_path):
    """Together they compile each image once, and have the same stores."""
    builds = [start(project, tmp_path / f"out{number}") for number in range(3)]
    counts = [compiled(build) for build in builds]
    assert sum(made for made, _ in counts) == 2 * MODULES
    assert {made + taken for made, taken in counts} == {2 * MODULES}
    stores = [files(tmp_path / f"out{number}") for number in range(3)]
    assert stores[0] == stores[1] == stores[2]


@pytest.mark.slow
@linux
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_build_that_ends_leaves_the_other_going_on(project, tmp_path, ending):
    """What it was compiling is compiled by the other build, at once."""
    builds = [start(project, tmp_path / f"out{number}") for number in range(2)]
    cache, keys = open_cache(), planned_keys(project)
    wait_until(lambda: any(cache.get(key) for key in keys))  # they are at it
    os.killpg(builds[0].pid, ending)
    builds[0].communicate()
    assert sum(compiled(builds[1])) == 2 * MODULES


def planned_keys(project):
    """Return the keys of a project's images."""
    toolchain = find_toolchain()
    plan = make_plan(load_manifest(project / "kernels.yaml"))
    return [key for planned in plan for key in image_keys(planned, toolchain).values()]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_builds_in_opposite_orders_do_not_wait_for_each_other(project, tmp_path, workers):
    """Each compiles what the other has not come to, and no image is compiled twice."""
    orders = [load_manifest(project / name) for name in ("kernels.yaml", "reversed.yaml")]
    meet = threading.Barrier(2)

    def build(number):
        meet.wait()
        with ThreadPoolExecutor(workers) as executor:
            return build_store(orders[number], tmp_path / f"out{number}", executor=executor)

    with ThreadPoolExecutor(2) as builds:
        reports = [*builds.map(build, range(2))]
    made = [key for report in reports for key in report.compiled]
    assert sorted(made) == sorted({*planned_keys(project)})


@pytest.mark.slow
def test_modules_of_one_source_are_compiled_once(make_project, fresh_cache, tmp_path, monkeypatch):
    """Equal keys are one compile, also in one build."""
    compiles = []
    run_job = executors.Task.compile
    monkeypatch.setattr(executors.Task, "compile", lambda self: (compiles.append(1), run_job(self))[1])
    modules = ", ".join(f"m{number}: {{source: saxpy.cu}}" for number in range(4))
    root = make_project(f"{{schema: 1, arches: [sm_90], modules: {{{modules}}}}}")
    report = build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out")
    assert (len(report.modules), len(compiles)) == (4, 1)


@pytest.mark.slow
def test_an_error_is_found_once(make_project, fresh_cache, tmp_path, monkeypatch):
    """Who waits for a compile that fails gets its error without another one."""
    compiles, begun, go = [], threading.Event(), threading.Event()
    run_job, begin = executors.Task.compile, Turns.begin

    def compile_once(self):
        compiles.append(1)
        go.wait(HANG_SECONDS)
        return run_job(self)

    def note(self, job):
        answer = begin(self, job)
        begun.set() if answer is None else go.set()
        return answer

    monkeypatch.setattr(executors.Task, "compile", compile_once)
    monkeypatch.setattr(Turns, "begin", note)
    root = make_project("{schema: 1, arches: [sm_90], modules: {m: {source: bad.cu}}}", **{"bad.cu": "int broken( {\n"})

    def build(number):
        with pytest.raises(BuildError) as caught:
            build_store(load_manifest(root / "kernels.yaml"), tmp_path / f"out{number}")
        return str(caught.value)

    with ThreadPoolExecutor(2) as builds:
        first = builds.submit(build, 0)
        assert begun.wait(HANG_SECONDS)
        second = builds.submit(build, 1)
        assert first.result() == second.result()
    assert len(compiles) == 1


@pytest.fixture
def one_job(make_project, fresh_cache):
    """Return the job of a module, and a function that gives the turns of a new build."""
    root = make_project("{schema: 1, arches: [sm_90], modules: {saxpy: {source: saxpy.cu}}}")
    (planned,) = make_plan(load_manifest(root / "kernels.yaml"))
    toolchain = find_toolchain()
    keys = image_keys(planned, toolchain)
    return planned.jobs[0], lambda: Turns(open_cache(), keys, toolchain)


@pytest.mark.slow
def test_a_turn_ends_with_the_build(one_job):
    """Nothing of a build that is over keeps others from its images, nor does what it leaves in threads begin any."""
    job, build = one_job
    first, second = build(), build()
    assert first.begin(job) is None
    assert isinstance(second.begin(job), Elsewhere)
    first.close()
    assert second.begin(job) is None
    second.end(job)
    assert first.begin(job) is None
    assert second.begin(job) is None


@pytest.mark.slow
def test_what_was_compiled_meanwhile_is_taken(one_job):
    """The images, and all that their compile said."""
    from hatch_cuda_kernels.compiler.nvrtc import run_job

    job, build = one_job
    first, second = build(), build()
    assert first.begin(job) is None
    made = run_job(job)
    open_cache().put(entry_of(job, "cubin", made))
    first.end(job)
    found = second.begin(job)
    assert found.images == made.images
    assert (found.kernels, found.resources, found.toolchain) == (made.kernels, made.resources, made.toolchain)
    assert [entry.image for entry in second.found(job).values()] == [made.images["cubin"]]


@pytest.mark.slow
def test_nobody_waits_for_ever(one_job, monkeypatch):
    """After the time that a process waits for others, a build compiles for itself."""
    job, build = one_job
    first, second = build(), build()
    assert first.begin(job) is None
    assert isinstance(second.begin(job), Elsewhere)
    monkeypatch.setattr(second._once, "timeout", 0.0)
    assert second.begin(job) is None


@pytest.mark.slow
def test_without_a_place_for_locks_builds_compile_for_themselves(one_job, fresh_cache):
    """Two compiles are better than none."""
    job, build = one_job
    shutil.rmtree(fresh_cache)
    fresh_cache.write_text("no folder")
    first, second = build(), build()
    with pytest.warns(RuntimeWarning, match="is a file, not a folder"):
        assert first.begin(job) is None
    assert second.begin(job) is None


@pytest.mark.slow
def test_a_compile_at_run_time_waits_for_a_build(project, tmp_path):
    """And takes what the build leaves."""
    build_store(load_manifest(project / "kernels.yaml"), tmp_path / "store")
    cache = open_cache()
    store = open_store(tmp_path / "store")
    request = {"arch": "sm_120", "policy": "exact"}
    image = store.find_image("k1", **request)
    entry = next(entry for entry, _, _ in cache.entries() if entry.image == image.data)
    cache.clear()
    held = cache.once().claim([entry.key])
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(open_store(tmp_path / "store").find_image, "k1", **request)
        cache.put(entry)
        held.close()
        assert asked.result().data == image.data
