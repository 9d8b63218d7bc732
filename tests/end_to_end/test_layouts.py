"""Whatever way a project is laid out: sdist, wheel, install, import and ``explain`` work, or the build says the fix."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from subprocess import PIPE, STDOUT

import pytest
from front_ends import run
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from layouts import LAYOUTS, Link
from slow_parameters import slow_but
from uv import find_uv_bin

PYPROJECT = """
[build-system]
requires = ["hatchling", "hatch-cuda-kernels[build]"]
build-backend = "hatchling.build"
[project]
name = "{name}"
version = "1.0"
{settings}
[tool.hatch.build.hooks.cuda-kernels]
{hook}
"""
#: Imports each package that it reads in a child, from the folder behind it, and says what ``explain`` says there.
#: What the command imports and finds out for a first store is there for all packages. To leave Python in order takes
#: three times as long as the command.
ASKER = """
import contextlib, importlib, io, os, site, sys, traceback
from hatch_cuda_kernels.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    main(["explain", "saxpy", "--package", sys.argv[1], "--arch", "sm_90", "--policy", "prebuilt"])
for line in sys.stdin:
    package, folder = line.rstrip().split("\t")
    if os.fork() == 0:
        status = 1
        try:
            site.addsitedir(folder)
            importlib.import_module(package)
            status = main(["explain", "scale", "--package", package, "--arch", "sm_90", "--policy", "prebuilt"])
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(status)
    print("status", os.wait()[1], flush=True)
"""
INSTALL = (find_uv_bin(), "pip", "install", "--quiet", "--python", sys.executable, "--no-deps", "--offline", "--target")


@pytest.fixture(scope="module")
def explain(isolation, example_store):
    """Return a function that gives what ``explain`` says of the kernel of a package that is installed in a folder."""
    command = [sys.executable, "-c", ASKER, str(example_store)]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=STDOUT, text=True, bufsize=1) as asker:

        def ask(package, folder):
            asker.stdin.write(f"{package}\t{folder}\n")
            *told, status = until_status(asker.stdout)
            assert status == "status 0\n", "".join(told)
            return "".join(told)

        yield ask
        asker.stdin.close()


def until_status(lines):
    """Yield lines until one is a status, with that."""
    for line in lines:
        yield line
        if line.startswith("status "):
            return


@pytest.fixture
def lay_out(tmp_path, monkeypatch):
    """Return a function that makes a layout's project, and returns its folder; the working folder is restored."""

    def make(layout, folder):
        root = tmp_path / folder / "repository" / "project"
        text = PYPROJECT.format(name=layout.name, settings=layout.settings, hook=layout.hook)
        for name, content in {"pyproject.toml": text, **layout.files}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Link):
                path.symlink_to(content.target)
            else:
                path.write_text(content)
        return root

    monkeypatch.chdir(tmp_path)
    return make


@pytest.mark.slow
@pytest.mark.parametrize("name", slow_but({"flat", "another name", "sources of all"}, LAYOUTS))
def test_a_layout_is_right_or_refused_with_the_fix(name, lay_out, explain, tmp_path, capsys):
    """What is refused says why, from the tree and on the way to an sdist, and with the fix the layout is right."""
    layout = LAYOUTS[name]
    check(layout, lay_out(layout, "first"), tmp_path / "first", capsys, explain)
    if layout.mended is not None:
        mended = layout._replace(**{"wheel": "", "sdist": None, "editable": None, **layout.mended})
        check(mended, lay_out(mended, "mended"), tmp_path / "mended", capsys, explain)


def check(layout, root, folder, capsys, explain):
    """Build what can be built of a project, install it and ask for its kernel."""
    editable = build(WheelBuilder, root, capsys, layout.editable, layout.wheel, version="editable")
    wheel = build(WheelBuilder, root, capsys, layout.wheel)
    sdist = build(SdistBuilder, root, capsys, layout.sdist, layout.wheel)
    for site, made in {"site": wheel, "editable": editable}.items():
        if made:
            run(*INSTALL, folder / site, made)
            assert " -> accepted prebuilt sm_90 cubin: made for this device" in explain(layout.package, folder / site)
    if sdist:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder / "sdist", filter="data")
        [unpacked] = (folder / "sdist").iterdir()
        assert not [*unpacked.rglob("*.cubin")]
        again = build(WheelBuilder, unpacked, capsys, layout.wheel)
        assert again is None or again.read_bytes() == wheel.read_bytes()


def build(builder, root, capsys, *refusals, version="standard"):
    """Return what is built; None if it is refused, as the first of the refusals that is stated says."""
    refusal = next(pattern for pattern in refusals if pattern is not None)
    out = root / "dist" / version
    os.chdir(root)  # the fixture changes back
    try:
        [made] = builder(str(root)).build(directory=str(out), versions=[version])
    except (SystemExit, ValueError) as error:
        told = f"{capsys.readouterr().err}{error}"
        assert refusal, told
        assert re.search(refusal, told, re.DOTALL), told
        assert not [*out.glob("*.tar.gz" if builder is SdistBuilder else "*.whl")]
        return None
    assert not refusal
    return Path(made)
