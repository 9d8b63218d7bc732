"""A build killed at any moment: nothing half made is in place, nothing survives it, and the next one completes it."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from front_ends import PYPROJECT

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.store.staging import workspace

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks for processes in /proc")

#: Enough work for worker processes.
MODULES = 6
MANIFEST = f"""
schema: 1
arches: [sm_80, sm_90, sm_120]
modules: {{{", ".join(f"m{i}: {{source: m{i}.cu}}" for i in range(MODULES))}}}
"""
SOURCE = """
template <int N> __device__ float power(float x) {{ return N == 0 ? 1.0f : x * power<(N ? N - 1 : 0)>(x) + {0}; }}
extern "C" __global__ void k{0}(float* y) {{ y[threadIdx.x] = power<40>(y[threadIdx.x]); }}
"""
#: How long a build of it takes here, roughly; kills are spread over that time.
SECONDS = 2.5


@pytest.fixture
def project(make_project):
    """Return a project with enough modules."""
    sources = {f"m{i}.cu": SOURCE.format(i) for i in range(MODULES)}
    return make_project(MANIFEST, **sources, **{"pyproject.toml": PYPROJECT, "p/__init__.py": ""})


@pytest.fixture
def reference(project, tmp_path_factory):
    """Return every file of the store as an undisturbed build makes it."""
    out = tmp_path_factory.mktemp("reference") / "out"
    build_store(load_manifest(project / "kernels.yaml"), out)
    return files(out)


@pytest.fixture
def start(project, tmp_path):
    """Return a function that starts a build of the project in a session of its own, with its own temporary folder."""
    started = []
    (tmp_path / "tmp").mkdir()

    def run(*command, out=subprocess.DEVNULL):
        environment = os.environ | {
            "HATCH_CUDA_KERNELS_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "tmp"),
        }  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-m", *command], cwd=project, env=environment, stdout=out, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()


def files(folder):
    """Return every file below a folder with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def descendants(pid):
    """Return the processes that a process and its children have started."""
    found = []
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(child) for child in listing.read_text().split()]
    return found + [below for child in found for below in descendants(child)]


def runs(pid):
    """Return whether a process is there and more than a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def end(process, how, moment):
    """Let a build run for a while, then end it, or one of its workers; return the processes it had."""
    time.sleep(moment)
    workers = descendants(process.pid)
    if how == "a worker":
        with contextlib.suppress(IndexError, ProcessLookupError):
            os.kill(random.choice(workers), signal.SIGKILL)
    elif how == "ctrl-c":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
    else:
        process.kill()
    process.wait(60)
    return workers


def none_left(pids):
    """Wait for processes to end, and return whether all did."""
    for _ in range(500):
        if not any(map(runs, pids)):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("part", [0.2, 0.4, 0.6, 0.8])
def test_ctrl_c_is_an_interrupt_while_nvrtc_compiles_in_the_build_itself(start, project, part):
    """NVRTC's front end would end the process with a status of its own, and nothing said."""
    process = start("hatch_cuda_kernels", "build", "--out", "out", "--jobs", "1")
    end(process, "ctrl-c", SECONDS * random.uniform(part - 0.2, part + 0.2))
    assert process.returncode in {0, -signal.SIGINT, 130}


@pytest.mark.parametrize("how", ["killed", "ctrl-c", "a worker"])
@pytest.mark.parametrize("part", [0.2, 0.6, 0.9])
def test_a_store_is_whole_or_not_there(start, project, reference, how, part):
    """Whatever dies and whenever: the store is complete or absent, no process stays, and a build completes it."""
    process = start("hatch_cuda_kernels", "build", "--out", "out", "--jobs", "2")
    workers = end(process, how, SECONDS * random.uniform(part - 0.2, part + 0.1))
    assert none_left(workers)
    assert process.returncode in {0, -signal.SIGKILL, -signal.SIGINT, 130}
    if process.returncode == 0 or (project / "out").exists():
        assert files(project / "out") == reference
    assert start("hatch_cuda_kernels", "build", "--out", "out", "--jobs", "2").wait(120) == 0
    assert files(project / "out") == reference
    assert [path.name for path in project.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("how", ["killed", "ctrl-c", "a worker"])
@pytest.mark.parametrize("part", [0.3, 0.8])
def test_a_wheel_is_whole_or_not_there(start, project, reference, tmp_path, how, part):
    """A wheel that a killed build leaves has every image; the next one has, too, and clears up."""
    process = start("hatchling", "build", "-t", "wheel")
    workers = end(process, how, SECONDS * random.uniform(part - 0.2, part + 0.1))
    assert none_left(workers)
    for wheel in project.glob("dist/*.whl"):
        assert store_in(wheel) == reference
    assert start("hatchling", "build", "-t", "wheel").wait(120) == 0
    assert store_in(project / "dist" / "p-1.0-py3-none-any.whl") == reference
    assert list((tmp_path / "tmp").glob("hatch-cuda-kernels-*")) == []


def store_in(wheel):
    """Return every file of the store in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {
            name.removeprefix("p/_kernels/"): archive.read(name)
            for name in archive.namelist()
            if name.startswith("p/_kernels/")
        }


HOLD = """
import sys, time
from pathlib import Path
from hatch_cuda_kernels.store.staging import workspace
with workspace(Path(sys.argv[1]), ".out.") as folder:
    (folder / "old").mkdir()
    (folder / "old" / "file").touch()
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """Return a process that holds a workspace, and the workspace."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    with process:
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def test_a_living_build_keeps_its_folder(holder, tmp_path):
    """What another process is writing just now is not swept; what it left when it died is."""
    process, folder = holder
    with workspace(tmp_path, ".out."):
        assert (folder / "old" / "file").exists()
    process.kill()
    process.wait()
    assert folder.exists()
    with workspace(tmp_path, ".out.") as ours:
        assert not folder.exists()
    assert not ours.exists()


def test_the_old_store_comes_back(project, reference, tmp_path, start):
    """A build killed between its two renames costs nothing, also when the next one fails."""
    manifest = load_manifest(project / "kernels.yaml")
    build_store(manifest, project / "out")
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(project)], stdout=subprocess.PIPE, text=True)
    with process:
        folder = Path(process.stdout.readline().strip())
        (folder / "old" / "file").unlink()
        (folder / "old").rmdir()
        (project / "out").rename(folder / "old")
        process.kill()
    (project / "m0.cu").write_text("broken")
    assert start("hatch_cuda_kernels", "build", "--out", "out").wait(60) == 1
    assert files(project / "out") == reference


def test_other_folders_of_that_name_stay(tmp_path):
    """A folder without a lock, a file, and a link are nobody's unfinished store."""
    (tmp_path / ".out.theirs").mkdir()
    (tmp_path / ".out.file").touch()
    (tmp_path / ".out.link").symlink_to(tmp_path / ".out.theirs")
    with workspace(tmp_path, ".out."):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {".out.theirs", ".out.file", ".out.link"}
