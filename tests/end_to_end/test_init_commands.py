"""``init`` in a project of each back end: what it prints is done, and its commands are run as they are printed.

The environment is a newcomer's: made by uv, with this package and no compiler. All back ends share it, so the compiler
is what the first one's commands installed.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from doc_blocks import write
from front_ends import run

KERNELS = {
    "csrc/a.cu": '#include "more.h"\n#include "tile.h"\nextern "C" __global__ void a(int* p) { *p = TILE + MORE; }\n',
    "csrc/more.h": "#define MORE 1\n",
    "include/tile.h": "#define TILE 16\n",
}
PROJECT = """\
[build-system]
requires = [{requires}]
build-backend = "{backend}"

[project]
name = "vecops"
version = "0.1.0"
description = "Operations on vectors."
requires-python = ">=3.11"
"""
CMAKE = "cmake_minimum_required(VERSION 3.20)\nproject(${SKBUILD_PROJECT_NAME} LANGUAGES NONE)\n"
MESON = """\
project('vecops', version: '0.1.0')
py = import('python').find_installation(pure: true)
install_subdir('src/vecops', install_dir: py.get_install_dir())
"""
PACKAGE = 'packages = ["src/vecops"]\n'
#: By a name: the back end, what it requires, tables of its own, files of its own, the folder of the package.
BACK_ENDS = {
    "hatchling": ("hatchling.build", "hatchling>=1.27", "", {}, "src"),
    "setuptools": ("setuptools.build_meta", "setuptools>=77", "", {}, "src"),
    "setuptools, flat": ("setuptools.build_meta", "setuptools>=77", "", {}, ""),
    "scikit-build-core": (
        "scikit_build_core.build", "scikit-build-core>=0.11", f"[tool.scikit-build]\nwheel.{PACKAGE}",
        {"CMakeLists.txt": CMAKE}, "src",
    ),
    "meson-python": ("mesonpy", "meson-python>=0.17", "", {"meson.build": MESON}, "src"),
    "flit": ("flit_core.buildapi", "flit_core>=3.11", "", {}, "src"),
    "Poetry": ("poetry.core.masonry.api", "poetry-core>=2", "", {}, "src"),
    "uv_build": ("uv_build", "uv_build>=0.9", "", {}, "src"),
}  # fmt: skip
#: Those whose wheel is installed, too: of others it has the same files in the same places.
INSTALLED = ("hatchling", "setuptools, flat")
_PLACE = re.compile(r"in (?:the table (?P<table>\[\S+\]) of )?(?P<file>[\w.]+)[, ].*:")


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory, plugin_wheel):
    """Return a function that runs a line of a shell in a folder, in a new environment with this package alone."""
    place = tmp_path_factory.mktemp("newcomer") / "environment"
    settings = {"UV_FIND_LINKS": str(plugin_wheel), "PYTHONPATH": "", "HOME": os.environ["HOME"]}
    uv = (sys.executable, "-m", "uv")
    run(*uv, "venv", "--python", sys.executable, place)
    run(*uv, "pip", "install", "--python", place / "bin" / "python", "hatch-cuda-kernels[build]", **settings)
    path = os.pathsep.join([str(place / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])

    def type_in(line, folder):
        return run("bash", "-euo", "pipefail", "-c", line, cwd=folder, **settings, PATH=path, VIRTUAL_ENV=str(place))

    return type_in


def do(steps, root):
    """Add the lines that are to be added to files, as ``init`` says it."""
    place = None
    for step in steps:
        if not step.startswith("    "):
            place = _PLACE.match(step)
        elif place is not None and not step.startswith("    more: "):
            file, heading = root / place["file"], place["table"] or ""
            text = file.read_text()
            if heading not in text:
                text += f"\n{heading}\n"
            start, found, rest = text.partition(f"{heading}\n") if heading else (text, "", "")
            file.write_text(f"{start}{found}{step[4:]}\n{rest}")


def store_of(wheel):
    """Return the files of a wheel's store with their bytes."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if "/_kernels/" in name}


@pytest.mark.parametrize("name", BACK_ENDS)
def test_the_commands_that_init_prints_work_as_they_are_printed(name, newcomer, tmp_path):
    """They try the kernels, check the manifest, and build a wheel; one that is built from an sdist is the same."""
    backend, requires, tables, files, folder = BACK_ENDS[name]
    root = tmp_path / "project"
    package = {f"{folder}/vecops/__init__.py".lstrip("/"): '"""Operations on vectors."""\n'}
    project = {"pyproject.toml": PROJECT.format(backend=backend, requires=f'"{requires}"') + tables}
    for path, text in (KERNELS | package | project | files).items():
        write(root / path, text)
    done = json.loads(newcomer("hatch-cuda-kernels init --json", root))
    do(done["steps"], root)
    newcomer("git init -q && git add -A && git -c user.name=x -c user.email=x@example.org commit -qm x", root)
    for command in done["next"]:
        newcomer(command, root)
    (build,) = (command for command in done["next"] if command.endswith(" --wheel"))
    (wheel,) = (root / "dist").glob("*.whl")
    assert wheel.name == "vecops-0.1.0-py3-none-any.whl"
    newcomer(build.replace("--wheel", "--sdist"), root)
    (sdist,) = (root / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "sdist", filter="data")
    (unpacked,) = (tmp_path / "sdist").iterdir()
    newcomer(build, unpacked)
    (again,) = (unpacked / "dist").glob("*.whl")
    assert store_of(again) == store_of(wheel) != {}
    assert {f"vecops/_kernels/{file}" for file in ("kernels.tsv", "a/index.json")} < store_of(wheel).keys()
    if name not in INSTALLED:
        return
    newcomer(f"uv pip install --no-deps --reinstall {again}", tmp_path)
    explained = newcomer("hatch-cuda-kernels explain a --package vecops --arch sm_90", tmp_path)
    assert " -> accepted prebuilt sm_90 cubin" in explained
    assert json.loads(newcomer("hatch-cuda-kernels init --json", root))["next"] == []
