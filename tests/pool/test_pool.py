"""Worker processes: used where they pay, gone when the build ends however it ends, and replaced when one dies."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from processes import children_of, command_of, linux, runs, workers_of
from waiting import HANG_SECONDS, wait_until

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.child_process import ChildProcess
from hatch_cuda_kernels.daemon_executor import DaemonThreads
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.plan import make_plan
from hatch_cuda_kernels.pool.executors import WorkerExecutor, open_executor
from hatch_cuda_kernels.pool.schedule import How, compile_all
from hatch_cuda_kernels.store.writer import temporary_workspace

pytestmark = pytest.mark.every_python

#: NVRTC's front end takes a minute for this.
ENDLESS = """
template <int N, int M> struct Tree { static constexpr int value = Tree<N - 1, 2 * M>::value + Tree<N - 1, 2 * M + 1>::value; };
template <int M> struct Tree<0, M> { static constexpr int value = M & 1; };
extern "C" __global__ void endless(int* y) { *y = Tree<16, 0>::value; }
"""  # noqa: E501

#: What a user's script looks like that knows nothing of multiprocessing's rules.
SCRIPT = """
from pathlib import Path
from hatch_cuda_kernels.pool import executors
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.manifest import load_manifest
executors._WORTH_ANOTHER = 0.0
report = build_store(load_manifest("kernels.yaml"), Path("out"), workers=2)
print(len(report.compiled), "compiled")
"""


@pytest.fixture
def in_workers(monkeypatch, worker_processes):
    """Send even the smallest jobs to several worker processes."""
    monkeypatch.setattr("hatch_cuda_kernels.pool.executors._WORTH_ANOTHER", 0.0)


@pytest.fixture
def make_jobs(make_project):
    """Return a function that gives the jobs of sources, one module each, for sm_90, with its name as the source's."""

    def make(**sources):
        modules = ", ".join(f"{name}: {{source: {name}.cu}}" for name in sources)
        manifest = f"{{schema: 1, arches: [sm_90], modules: {{{modules}}}}}"
        root = make_project(manifest, **{f"{name}.cu": text for name, text in sources.items()})
        return [job for planned in make_plan(load_manifest(root / "kernels.yaml")) for job in planned.jobs]

    return make


@pytest.fixture
def processes(monkeypatch):
    """Return the list of worker processes that this test starts."""
    start, started = ChildProcess.__init__, []

    def record(self, *args, **kwargs):
        start(self, *args, **kwargs)
        started.append(self.process)

    monkeypatch.setattr(ChildProcess, "__init__", record)
    return started


@pytest.mark.slow
def test_jobs_that_follow_count_as_work(make_project, processes, worker_processes, fresh_cache):
    """Where few front ends begin what many links end, as after an edit of a header, all workers are used."""
    modules = ", ".join(f"m{number}: {{source: m{number}.cu, front_end: lto}}" for number in range(3))
    manifest = f"{{schema: 1, arches: [sm_75, sm_80, sm_86, sm_89, sm_90, sm_100], modules: {{{modules}}}}}"
    sources = {f"m{number}.cu": f"__global__ void m{number}(int* y) {{ *y = 1; }}" for number in range(3)}
    root = make_project(manifest, **sources)
    report = build_store(load_manifest(root / "kernels.yaml"), root / "out", workers=2)
    assert (len(report.compiled), len(processes)) == (3 + 18, 2)


def kernel(name, body=""):
    """Return a source with one kernel."""
    return f'extern "C" __global__ void {name}() {{{body}}}\n'


@contextlib.contextmanager
def outcomes_of(jobs, workers, **options):
    """Yield the outcomes of jobs as they come, from worker processes, or from this one for a single worker."""
    executor = WorkerExecutor(workers) if workers > 1 else DaemonThreads(1)
    with open_executor("process", {}, local=lambda: executor, warn=None) as opened:
        yield compile_all(jobs, opened, How(**options))


def compiled(jobs, workers, **options):
    """Return the outcome of each module's one job, in the order they came."""
    with outcomes_of(jobs, workers, **options) as outcomes:
        return {job.module: outcome for job, outcome in outcomes}


@pytest.mark.slow
def test_workers_compile_what_this_process_would(make_jobs, processes, monkeypatch):
    """Jobs that are worth it are compiled in other processes, to the same bytes."""
    jobs = make_jobs(a=kernel("a"), b=kernel("b"), c=kernel("c"))
    here = {module: outcome.images for module, outcome in compiled(jobs, 1).items()}
    monkeypatch.setattr("hatch_cuda_kernels.compiler.nvrtc.run_job", None)  # nothing can be compiled here any more
    there = {module: outcome.images for module, outcome in compiled(jobs, 2).items()}
    assert there == here
    assert 1 <= len({process.pid for process in processes}) <= 2
    assert not any(runs(process.pid) for process in processes)


@pytest.mark.slow
def test_jobs_start_longest_first(make_jobs):
    """Whatever the order in which they come, the header-heavy job starts first and the smallest last."""
    jobs = make_jobs(
        small=kernel("small"),
        long=kernel("long_") + "// a comment\n" * 20_000,
        heavy="#include <cuda/std/cstdint>\n" + kernel("heavy"),
    )
    assert list(compiled(jobs, 1)) == ["heavy", "long", "small"]


@pytest.mark.slow
def test_a_compile_error_does_not_cost_the_worker(make_jobs, processes):
    """An error travels back with its log, and the same process goes on to the next job."""
    jobs = make_jobs(a="broken", b=kernel("b"), c=kernel("c"), d="broken too")
    outcomes = compiled(jobs, 2)
    assert "a.cu(1): error" in outcomes["a"].log
    assert isinstance(outcomes["d"], CompileError)
    assert outcomes["b"].images["cubin"]
    assert outcomes["c"].images["cubin"]
    assert len(processes) <= 2


@pytest.fixture
def killer(monkeypatch):
    """Return a function that makes the workers of one module's job die while they compile it, so many times."""
    call_in_worker = ChildProcess.call
    left = {}

    def die(self, call):
        _, (task,), _ = call
        if left.get(task._job.module, 0) > 0:
            left[task._job.module] -= 1
            self.process.kill()
        return call_in_worker(self, call)

    monkeypatch.setattr(ChildProcess, "call", die)
    return left.update


@pytest.mark.slow
def test_the_job_of_a_dead_worker_is_compiled_again(make_jobs, killer):
    """A killed worker costs no image: its job, and no other, is compiled again, and the build is told once."""
    jobs = make_jobs(a=kernel("a"), b=kernel("b"), c=kernel("c"))
    killer(b=1)
    warnings = []
    outcomes = compiled(jobs, 2, warn=warnings.append)
    assert all(outcome.images["cubin"] for outcome in outcomes.values())
    assert len(outcomes) == 3
    assert len(warnings) == 1
    assert warnings[0].endswith("compiling again, one at a time: b for sm_90")


@pytest.mark.slow
def test_a_job_that_kills_its_worker_twice_is_blamed_alone(make_jobs, killer):
    """What dies again is an error of that job; the others keep their images."""
    jobs = make_jobs(a=kernel("a"), b=kernel("b"), c=kernel("c"))
    killer(b=2)
    outcomes = compiled(jobs, 2)
    assert "module 'b' for sm_90: the worker process died twice" in str(outcomes["b"])
    assert outcomes["a"].images["cubin"]
    assert outcomes["c"].images["cubin"]


@pytest.mark.slow
def test_a_build_survives_a_dead_worker_and_says_so(make_project, in_workers, killer, tmp_path, fresh_cache):
    """The report warns of a worker that died, and the store is complete."""
    root = make_project("{schema: 1, arches: [sm_80, sm_90], modules: {a: {source: saxpy.cu}}}")
    killer(a=1)
    report = build_store(load_manifest(root / "kernels.yaml"), tmp_path / "out", workers=2)
    assert [warning.split(" (")[0] for warning in report.warnings] == ["a worker process died"]
    assert len(report.compiled) == 2


@pytest.mark.slow
def test_leaving_kills_the_workers(make_jobs, processes):
    """Who stops listening does not wait for compiles that nobody will see."""
    with outcomes_of(make_jobs(quick=kernel("quick"), endless=ENDLESS), 2) as outcomes:
        assert next(outcomes)[0].module == "quick"
    assert processes
    assert not any(runs(process.pid) for process in processes)


class Grouped:
    """An argument of calls that go faster one after another."""

    def __init__(self, group):
        self.group = group
        self.alike = 0

    def announce(self, alike):
        """Keep what it is told."""
        self.alike = alike

    def told(self):
        """Return its group, and what it was told."""
        return self.group, self.alike


@pytest.mark.slow
def test_calls_of_a_group_follow_each_other():
    """A worker goes on with what it did before, and each call says how many of its kind are left for the worker."""
    executor = WorkerExecutor(1)
    order = []
    futures = [executor.submit(Grouped.told, Grouped(group)) for group in ("x", *"abab")]
    for future in futures:
        future.add_done_callback(lambda done: order.append(done.result()))
    executor.shutdown()
    assert order == [("x", 1), ("a", 2), ("a", 1), ("b", 2), ("b", 1)]


def test_processes_wait_for_what_follows_a_compile(make_project, processes, tmp_path):
    """What ptxas finishes needs no new ones, and all end with the build, also on an executor that stays open."""
    manifest = "{schema: 1, arches: [sm_80, sm_90], modules: {a: {source: a.cu, front_end: ptx}}}"
    root = make_project(manifest, **{"a.cu": kernel("a")})
    with WorkerExecutor(2) as executor:
        build_store(load_manifest(root / "kernels.yaml"), tmp_path / "store", executor=executor)
        assert len(processes) == 2
        wait_until(lambda: not any(map(runs, (process.pid for process in processes))))


@pytest.mark.slow
def test_a_worker_that_ends_takes_no_other_ones_files_along():
    """Each has a folder of its own: one may end while others work."""
    executor = WorkerExecutor(2)
    slow = executor.submit(subprocess.run, ["sh", "-c", "sleep 2; test -d $TMPDIR"], check=False)
    executor.submit(os.getpid).result()
    assert slow.result().returncode == 0
    executor.shutdown()


def folder_after_another_build_began():
    """Return whether a worker's temporary folder is there."""
    folder = Path(os.environ["TMPDIR"])
    tempfile.tempdir = str(folder.parent)  # as in another process
    with temporary_workspace():
        return folder.is_dir()


@pytest.mark.slow
def test_a_build_leaves_the_files_of_other_builds_workers():
    """It removes what dead builds left, and a worker's folder is as empty as one of those at first."""
    executor = WorkerExecutor(1)
    kept = executor.submit(folder_after_another_build_began).result()
    executor.shutdown()
    assert kept


@pytest.mark.slow
def test_workers_need_no_temporary_folder(make_jobs, monkeypatch):
    """A build goes on where no temporary file can be written."""
    monkeypatch.setattr("tempfile.tempdir", "/dev/null/nowhere")
    jobs = make_jobs(**{name: kernel(name) for name in "abcdefghij"})
    assert all(outcome.images["cubin"] for outcome in compiled(jobs, 2).values())


def test_workers_leave_no_temporary_files(make_jobs, tmp_path, monkeypatch):
    """What workers put into the folder for temporary files goes when they do."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    executor = WorkerExecutor(2)
    folder = executor.submit(os.getenv, "TMPDIR").result()
    assert Path(folder).parent == tmp_path
    executor.kill()
    assert not list(tmp_path.iterdir())


@linux
def test_ctrl_c_while_workers_start_leaves_nothing(monkeypatch, tmp_path):
    """Neither a process nor its folder is lost when the signal comes before all are there."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    start, started = ChildProcess.__init__, []

    def start_and_interrupt(self, *args, **kwargs):
        start(self, *args, **kwargs)
        started.append(self.process.pid)
        if len(started) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(ChildProcess, "__init__", start_and_interrupt)
    executor = WorkerExecutor(3)

    def start_and_wait():
        executor.start_workers(3)
        wait_until(lambda: False)

    with pytest.raises(KeyboardInterrupt):
        start_and_wait()
    executor.kill()
    assert not list(tmp_path.iterdir())
    assert not any(map(runs, started))


@linux
@pytest.mark.parametrize("end", ["killed", "input closed"])
def test_a_worker_takes_the_program_it_waits_for_along(processes, end):
    """A ptxas runs for a worker, and would go on without it: for minutes, at a large kernel."""
    executor = WorkerExecutor(1)
    executor.submit(subprocess.run, ["sleep", str(HANG_SECONDS)])
    found = []

    def sleeps():
        """Look once: the kernel may leave a child out of the next list, and a worker starts other programs, too."""
        found[:] = [child for worker in processes for child in children_of(worker.pid) if command_of(child) == "sleep"]
        return found

    wait_until(sleeps)
    (child,) = found
    if end == "killed":
        executor.kill()
    else:  # as when the build itself was killed
        processes[0].stdin.close()
    wait_until(lambda: not runs(child) and not runs(processes[0].pid))
    executor.shutdown()


@pytest.fixture
def script(make_project, tmp_path):
    """Return a function that starts the script on a manifest of some sources."""
    started = []

    def start(**sources):
        modules = ", ".join(f"{name}: {{source: {name}.cu}}" for name in sources)
        manifest = f"{{schema: 1, arches: [sm_90], modules: {{{modules}}}}}"
        root = make_project(manifest, **{f"{name}.cu": text for name, text in sources.items()}, **{"script.py": SCRIPT})
        (tmp_path / "temporary").mkdir()
        environment = os.environ | {
            "HATCH_CUDA_KERNELS_CACHE_DIR": str(tmp_path / "cache"),
            "TMPDIR": str(tmp_path / "temporary"),
        }
        process = subprocess.Popen(
            [sys.executable, "script.py"], cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_a_script_without_a_main_guard_builds(script):
    """Workers do not run the caller's script again."""
    process = script(a=kernel("a"), b=kernel("b"))
    out, err = process.communicate(timeout=HANG_SECONDS)
    assert (process.returncode, out, err) == (0, "2 compiled\n", "")


@pytest.mark.slow
@linux
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "killed"])
def test_workers_end_with_the_build(script, end, tmp_path):
    """Neither Ctrl-C nor a killed build leaves a compile running, or a temporary file."""
    process = script(a=ENDLESS, b=ENDLESS.replace("endless", "other"))
    wait_until(lambda: process.poll() is not None or len(workers_of(process.pid)) == 2)
    workers = workers_of(process.pid)
    if end == signal.SIGINT:
        os.killpg(process.pid, end)  # as a terminal does: the workers get it too
    else:
        process.send_signal(end)
    wait_until(lambda: not any(map(runs, workers)))
    _, err = process.communicate(timeout=HANG_SECONDS)
    assert not list((tmp_path / "temporary").iterdir())
    assert process.returncode == -end
    assert err.count("KeyboardInterrupt") == (end == signal.SIGINT)
