"""``doctor``: what is here is named, what is missing or broken is told with its fix, and nothing of it is fatal."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import venv
from pathlib import Path

import pytest
from devices import no_device_reason

from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.cli.doctor import _ASKED
from hatch_cuda_kernels.compiler.toolchain.libraries import bindings_major, find_library
from hatch_cuda_kernels.compiler.toolchain.packages import pip_install, release_requirements
from hatch_cuda_kernels.compiler.toolchain.toolchain import load_toolchain
from hatch_cuda_kernels.doctor import TASKS, Finding, judge
from hatch_cuda_kernels.doctor import ask as ask_probes
from hatch_cuda_kernels.errors import Problem

REPOSITORY = Path(__file__).parents[2]
SECTIONS = ("python", "driver", "bindings", "nvrtc", "headers", "nvjitlink", "ptxas", "cache", "tools")
#: A driver of one device of compute capability 8.6 for CUDA 12.8, as far as the doctor asks one.
DRIVER = """
int cuDriverGetVersion(int* v) { *v = 12080; return 0; }
int cuInit(unsigned f) { return INIT; }
int cuGetErrorName(int e, const char** s) { *s = e == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_UNKNOWN"; return 0; }
int cuDeviceGetCount(int* n) { *n = 1; return 0; }
int cuDeviceGet(int* d, int n) { *d = n; return 0; }
int cuDeviceGetName(char* s, int n, int d) { __builtin_strcpy(s, "Example GPU"); return 0; }
int cuDeviceGetAttribute(int* v, int a, int d) { *v = a == 75 ? 8 : 6; return 0; }
int cuGetExportTable(const void** t, const void* id) { *t = 0; return 500; }
"""


def examine(capsys, *argv):
    """Run ``doctor --json`` here and return its status and data."""
    status = main(["doctor", "--json", *map(str, argv)])
    return status, json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def probed(isolation):
    """Return what the probes find that look at what is installed: no test here that uses it changes that."""
    names = ("bindings", "nvrtc", "headers", "nvjitlink", "ptxas")
    return dict(zip(names, ask_probes(*((name, "") for name in names)), strict=True))


@pytest.fixture
def settled(probed, monkeypatch):
    """Let ``doctor`` ask only the other probes: each is a process, and most load a library of 100 MB."""

    def ask(*questions):
        others = [question for question in questions if question[0] not in probed]
        found = probed | {name: finding for (name, _), finding in zip(others, ask_probes(*others), strict=True)}
        return [found[name] for name, _ in questions]

    monkeypatch.setattr(importlib.import_module("hatch_cuda_kernels.doctor"), "ask", ask)


@pytest.fixture
def bare(tmp_path, slow):
    """Return the Python of an environment with what the package depends on, and neither NVRTC nor the build extra."""
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    site = next((tmp_path / "bare" / "lib").glob("python*/site-packages"))
    for name in ("cuda", "platformdirs", "filelock"):
        (site / name).symlink_to(next(iter(importlib.import_module(name).__path__)))
    (site / "hatch_cuda_kernels").symlink_to(REPOSITORY / "hatch_cuda_kernels")
    return tmp_path / "bare" / "bin" / "python"


def ask(python, *argv, **environment):
    """Run ``doctor --json`` in another environment and return its status and data; it writes no other line."""
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environment
    command = [python, "-m", "hatch_cuda_kernels", "doctor", "--json", *argv]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, cwd=python.parent)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def compile_library(path, source, **macros):
    """Compile C into a shared library, or skip the test where there is no C compiler."""
    compiler = shutil.which("cc") or pytest.skip("needs a C compiler")
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = [f"-D{name}={value}" for name, value in macros.items()]
    subprocess.run([compiler, "-shared", "-fPIC", *flags, "-o", path, "-xc", "-"], input=source, text=True, check=True)
    return path.parent


@pytest.mark.slow
def test_what_is_here_is_named(capsys, fresh_cache):
    """The versions are those that compiles report, the library is the one they load, and building works."""
    status, data = examine(capsys, "--for", "build", "--for", "jit", "--for", "link", "--for", "record")
    assert status == 0
    assert set(data) == {*SECTIONS, "environment", "verdicts"}
    assert data["nvrtc"]["version"] == load_toolchain().nvrtc
    assert data["nvrtc"]["file"] == str(find_library("nvrtc").resolve())
    assert ", ".join(f"{name} {version}" for name, version in data["headers"]["versions"].items()) == (
        load_toolchain().headers
    )
    assert {"sm_80", "sm_90"} <= set(data["nvrtc"]["archs"])
    assert data["cache"]["path"] == str(fresh_cache)
    assert {name: data[name]["state"] for name in SECTIONS if name != "driver"} == dict.fromkeys(
        (name for name in SECTIONS if name != "driver"), "ok"
    )


@pytest.mark.slow
@pytest.mark.skipif(no_device_reason() is None, reason="needs a machine without a device")
def test_without_a_device_only_loading_does_not_work(settled, capsys):
    """A build machine is well by itself; whoever asks for loading is told what is missing."""
    status, data = examine(capsys)
    assert (status, data["driver"]["state"], data["verdicts"]["load"]["works"]) == (0, "missing", False)
    assert main(["doctor", "--for", "load"]) == 1
    out = capsys.readouterr().out
    assert "load    no     no CUDA driver here" in out
    assert "  to fix load: install NVIDIA's driver" in out


@pytest.mark.slow
@pytest.mark.skipif(no_device_reason() is None, reason="needs a machine without a device")
def test_images_without_a_device(settled, capsys, example_store):
    """Where there is no device to choose for, the command that takes a hypothetical one is named."""
    status, data = examine(capsys, "--package", example_store)
    assert (status, data["package"]["images"]) == (1, [])
    assert data["package"]["fix"].startswith("hatch-cuda-kernels explain KERNEL --package")
    assert examine(capsys, "--package", "no_such_package")[1]["package"]["problem"].startswith("no_such_package: no ")


def test_without_the_extras_nothing_is_broken(bare):
    """An environment that can only load says which extra brings what, for each task that does not work."""
    status, data = ask(bare)
    states = {name: data[name]["state"] for name in SECTIONS if name not in {"driver", "headers"}}
    assert states == {
        "python": "ok", "bindings": "ok", "nvrtc": "missing", "nvjitlink": "missing", "ptxas": "missing", "cache": "ok",
        "tools": "missing",
    }  # fmt: skip
    verdicts = data["verdicts"]
    assert [name for name, verdict in verdicts.items() if not verdict["works"] and name != "load"] == [
        "build", "jit", "link",
    ]  # fmt: skip
    assert verdicts["build"]["fix"] == 'python3 -m pip install "hatch-cuda-kernels[build]"'
    release = (13, 0) if bindings_major() == 13 else (12, 9)
    parts = release_requirements(release, finishers=["nvjitlink"])
    assert verdicts["jit"]["fix"] == pip_install(*parts, here=False)
    assert status == (0 if verdicts["load"]["works"] else 1)


@pytest.mark.parametrize("size", [50, 100_000_000])
def test_a_cut_compiler_is_named(bare, size):
    """A download that broke off is told with its file and the command that mends it; the rest is reported."""
    library = find_library("nvrtc")
    folder = next((bare.parent.parent / "lib").glob("python*/site-packages")) / "nvidia" / library.parts[-3] / "lib"
    folder.mkdir(parents=True)
    with library.open("rb") as whole:
        (folder / library.name).write_bytes(whole.read(size))
    status, data = ask(bare)
    assert (status, data["nvrtc"]["state"]) == (1, "broken")
    assert str(folder / library.name) in data["nvrtc"]["problem"]
    assert "--force-reinstall" in data["verdicts"]["jit"]["fix"]
    assert data["cache"]["state"] == "ok"


def test_a_compiler_that_kills_its_process_is_survived(bare):
    """What happens on loading a library happens to a process of its own."""
    library = find_library("nvrtc")
    folder = next((bare.parent.parent / "lib").glob("python*/site-packages")) / "nvidia" / library.parts[-3] / "lib"
    source = "#include <stdlib.h>\n__attribute__((constructor)) static void die(void) { abort(); }\n"
    compile_library(folder / library.name, source)
    status, data = ask(bare)
    assert (status, data["nvrtc"]["state"]) == (1, "broken")
    assert "SIGABRT" in data["nvrtc"]["problem"]
    assert data["nvjitlink"]["state"] == "missing"


@pytest.mark.slow
def test_a_driver_and_its_device(settled, capsys, tmp_path, monkeypatch, example_store):
    """The device and the driver's CUDA are named, and each module's image for them: here a driver too old for PTX."""
    folder = compile_library(tmp_path / "driver" / "libcuda.so.1", DRIVER, INIT=0)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
    status, data = examine(capsys, "--for", "load", "--package", example_store)
    assert status == 0
    assert data["driver"]["devices"] == [{"ordinal": 0, "name": "Example GPU", "capability": "8.6"}]
    assert (data["driver"]["cuda"], data["driver"]["file"]) == ("12.8", str(folder / "libcuda.so.1"))
    assert data["verdicts"]["load"]["reason"] == "Example GPU (8.6), driver for CUDA 12.8"
    assert data["environment"]["LD_LIBRARY_PATH"] == str(folder)
    images = {image["module"]: image for image in data["package"]["images"]}
    assert set(images) == {"filter", "reduce", "saxpy", "softmax"}
    assert {(image["device"], image["origin"], image["arch"]) for image in images.values()} == {
        ("8.6", "prebuilt", "sm_80")
    }
    main(["doctor", "--package", str(example_store)])
    assert "saxpy    8.6     prebuilt  sm_80  runs on 8.6 as code of the same major" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(("init", "state"), [(100, "missing"), (999, "broken")])
def test_a_driver_that_does_not_start(settled, capsys, tmp_path, monkeypatch, init, state):
    """A driver without a device is nothing broken; any other failure is."""
    folder = compile_library(tmp_path / "driver" / "libcuda.so.1", DRIVER, INIT=init)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
    status, data = examine(capsys)
    assert (status, data["driver"]["state"]) == (0 if state == "missing" else 1, state)
    assert f"({init})" in data["verdicts"]["load"]["reason"]


@pytest.mark.slow
def test_a_package_without_an_image_for_a_device(settled, capsys, tmp_path, monkeypatch, example_store, fresh_cache):
    """Status 1 where a module would get no image here, with what to do."""
    source = DRIVER.replace("a == 75 ? 8 : 6", "a == 75 ? 7 : 5")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(compile_library(tmp_path / "driver" / "libcuda.so.1", source, INIT=0)))
    monkeypatch.setenv("HATCH_CUDA_KERNELS_JIT", "0")
    status, data = examine(capsys, "--package", example_store)
    assert status == 1
    assert {image["origin"] for image in data["package"]["images"]} == {None}
    assert "unset HATCH_CUDA_KERNELS_JIT" in data["package"]["images"][0]["reason"]
    assert data["verdicts"]["jit"] == {
        "works": False, "reason": "HATCH_CUDA_KERNELS_JIT=0 forbids compiling", "fix": "unset HATCH_CUDA_KERNELS_JIT",
    }  # fmt: skip


@pytest.fixture(params=["file", "shared", "closed", "cap", "site"])
def bad_cache(request, tmp_path, monkeypatch):
    """Set a cache up that cannot be used as it is, and return what the doctor should say of it."""
    path = tmp_path / "cache"
    monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_DIR", str(path))
    if request.param == "file":
        path.write_text("mine")
        return f"{path} is not a folder"
    if request.param == "shared":
        path.mkdir()
        path.chmod(0o777)
        return f"{path} can be written by other users"
    if request.param == "closed":
        if os.geteuid() == 0:
            pytest.skip("root may read everything")
        path.mkdir(mode=0o000)
        return f"{path} cannot be read"
    if request.param == "cap":
        monkeypatch.setenv("HATCH_CUDA_KERNELS_CACHE_MAX_BYTES", "lots")
        return "HATCH_CUDA_KERNELS_CACHE_MAX_BYTES='lots' is not a size"
    monkeypatch.setenv("HATCH_CUDA_KERNELS_PATH", str(tmp_path / "gone"))
    return f"{tmp_path / 'gone'} in HATCH_CUDA_KERNELS_PATH is not a folder"


@pytest.mark.slow
def test_a_cache_that_cannot_be_used(settled, capsys, bad_cache):
    """Whatever is the matter with the cache is told, and is a no; all else is reported as ever."""
    status, data = examine(capsys)
    assert (status, data["cache"]["state"]) == (1, "broken")
    assert data["cache"]["problem"].startswith(bad_cache)
    assert data["verdicts"]["record"]["works"] is False
    assert data["nvrtc"]["state"] == "ok"


@pytest.mark.slow
def test_only_known_variables_are_shown(settled, capsys, monkeypatch):
    """A variable that only looks like one of CUDA's may be a secret."""
    monkeypatch.setenv("CUDA_REGISTRY_TOKEN", "hunter2")
    monkeypatch.setenv("HATCH_INDEX_AUTH", "hunter2")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("HATCH_CUDA_KERNELS_EXECUTOR", "process")
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "CUDA_VISIBLE_DEVICES=0" in out
    assert "HATCH_CUDA_KERNELS_EXECUTOR=process" in out
    assert "hunter2" not in out


def test_missing_headers_limit_what_can_be_compiled():
    """A compiler without some of the toolkit's headers works, and the report says for what it does not."""
    facts = {"version": "13.0.88", "archs": ["sm_75", "sm_121"], "devices": [], "path": "/cache"}
    found = {name: Finding(facts) for name in SECTIONS}
    found["headers"] = Finding({}, Problem("crt is not installed", "install it"), missing=True)
    verdicts = judge(found)
    assert verdicts["build"] == verdicts["jit"]
    assert verdicts["build"].to_json() == {
        "works": True,
        "reason": "NVRTC 13.0.88, sm_75 to sm_121; some sources will not compile: crt is not installed",
        "fix": "install it",
    }


def test_every_task_can_be_asked_for():
    """The words of ``--for`` are the tasks that are judged."""
    assert tuple(TASKS) == _ASKED


@pytest.mark.slow
def test_a_build_is_judged_by_the_manifest_here(settled, make_project, monkeypatch, capsys):
    """NVRTC of another release than the one stated builds nothing; the fix is what the manifest asks for."""
    root = make_project('{schema: 1, cuda: "13.4", arches: [sm_90], modules: {a: {source: saxpy.cu}}}')
    (root / "sub").mkdir()
    monkeypatch.chdir(root / "sub")
    status, data = examine(capsys, "--for", "build")
    assert (status, data["manifest"]["cuda"], data["verdicts"]["build"]["works"]) == (1, "13.4", False)
    assert "asks for CUDA 13.4" in data["verdicts"]["build"]["reason"]
    assert "nvidia-cuda-nvrtc==13.4.*" in data["verdicts"]["build"]["fix"]
    (root / "kernels.yaml").write_text("schema: 2")
    assert examine(capsys, "--for", "build")[0] == 1
    (root / "kernels.yaml").write_text("{schema: 1, arches: [sm_90], modules: {a: {source: saxpy.cu}}}")
    assert examine(capsys, "--for", "build")[0] == 0
