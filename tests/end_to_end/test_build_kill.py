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
from processes import descendants, linux, runs, workers_of
from waiting import HANG_SECONDS, wait_until

from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.store.writer import workspace

pytestmark = linux

#: Enough work for worker processes.
MODULES = 4
MANIFEST = f"""
schema: 1
arches: [sm_80, sm_90, sm_120]
modules: {{{", ".join(f"m{i}: {{source: m{i}.cu}}" for i in range(MODULES))}}}
"""
SOURCE = """
template <int N> __device__ float power(float x) {{ return N == 0 ? 1.0f : x * power<(N ? N - 1 : 0)>(x) + {0}; }}
extern "C" __global__ void k{0}(float* y) {{ y[threadIdx.x] = power<40>(y[threadIdx.x]); }}
"""
#: How many images a build of it compiles; kills are spread over them.
IMAGES = 3 * MODULES


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
def start(project, tmp_path, slow):
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


@pytest.fixture
def end(tmp_path):
    """Return a function that lets a build compile so many images and ends it, or one of its workers.

    It returns the processes that the build had.
    """

    def recorded():
        return len(list((tmp_path / "cache").glob("v1/*/*/entry.json")))

    def end_build(process, how, images):
        wait_until(
            lambda: process.poll() is not None or (workers_of(process.pid) if images == 0 else recorded() >= images)
        )
        time.sleep(random.uniform(0, 0.05))
        below = descendants(process.pid)
        if how == "a worker":
            with contextlib.suppress(IndexError, ProcessLookupError):
                os.kill(random.choice(below), signal.SIGKILL)
        elif how == "ctrl-c":
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGINT)
        else:
            process.kill()
        process.wait(HANG_SECONDS)
        return below

    return end_build


def test_ctrl_c_is_an_interrupt_while_nvrtc_compiles_in_the_build_itself(start, end):
    """NVRTC's front end would end the process with a status of its own, and nothing said."""
    process = start("hatch_cuda_kernels", "build", "--out", "out", "--jobs", "1")
    end(process, "ctrl-c", IMAGES // 2)
    assert process.returncode in {0, -signal.SIGINT, 130}


#: What ends a build, before the first image, in the middle, and while the store is written.
ENDS = [("killed", 0), ("a worker", 0), ("killed", IMAGES // 2), ("ctrl-c", IMAGES // 2), ("killed", IMAGES)]


@pytest.mark.parametrize(("how", "images"), ENDS)
def test_a_store_is_whole_or_not_there(start, end, project, reference, how, images):
    """Whatever dies and whenever: the store is complete or absent, no process stays, and a build completes it."""
    process = start("hatch_cuda_kernels", "build", "--out", "out", "--jobs", "2")
    below = end(process, how, images)
    wait_until(lambda: not any(map(runs, below)))
    assert process.returncode in {0, -signal.SIGKILL, -signal.SIGINT, 130}
    if process.returncode == 0 or (project / "out").exists():
        assert files(project / "out") == reference
    assert start("hatch_cuda_kernels", "build", "--out", "out", "--jobs", "2").wait(HANG_SECONDS) == 0
    assert files(project / "out") == reference
    assert [path.name for path in project.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(("how", "images"), [("killed", 1), ("a worker", 1), ("ctrl-c", IMAGES)])
def test_a_wheel_is_whole_or_not_there(start, end, project, reference, tmp_path, how, images):
    """A wheel that a killed build leaves has every image; the next one has, too, and clears up."""
    process = start("hatchling", "build", "-t", "wheel")
    below = end(process, how, images)
    wait_until(lambda: not any(map(runs, below)))
    for wheel in project.glob("dist/*.whl"):
        assert store_in(wheel) == reference
    assert start("hatchling", "build", "-t", "wheel").wait(HANG_SECONDS) == 0
    assert store_in(project / "dist" / "p-1.0-py3-none-any.whl") == reference
    assert list((tmp_path / "tmp").glob("hatch-cuda-kernels*")) == []


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
from hatch_cuda_kernels.store.writer import workspace
with workspace(Path(sys.argv[1]), ".out.") as folder:
    (folder / "old").mkdir()
    (folder / "old" / "file").touch()
    print(folder, flush=True)
    time.sleep(3600)
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
    assert start("hatch_cuda_kernels", "build", "--out", "out").wait(HANG_SECONDS) == 1
    assert files(project / "out") == reference


def test_other_folders_of_that_name_stay(tmp_path):
    """A folder of files without a lock, a file, and a link are nobody's unfinished store."""
    (tmp_path / ".out.theirs").mkdir()
    (tmp_path / ".out.theirs" / "mine").touch()
    (tmp_path / ".out.file").touch()
    (tmp_path / ".out.link").symlink_to(tmp_path / ".out.theirs")
    with workspace(tmp_path, ".out."):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {".out.theirs", ".out.file", ".out.link"}
