"""``init``: what a project lacks is added, what is there stays as it is, and the result builds and passes its tests."""

from __future__ import annotations

import json
import os
import sys

import pytest
from front_ends import REPOSITORY, build_isolated, build_wheel, run

from hatch_cuda_kernels.cli import main

FIRST_KERNEL = ["kernels.yaml", "kernels/saxpy.cu", "tests/test_saxpy.py"]

EXISTING = """\
# My project.
[build-system]
build-backend = "hatchling.build"
requires = [
    "hatchling",
    "hatch-vcs",  # for the version
]

[project]
name = "old-lib"
version = "1.0"
dependencies = [ 'numpy>=1.26' ] # few
requires-python = ">=3.9"

[project.scripts]
old = "old_lib:main"

[tool.hatch.build.targets.wheel]
packages = ["old_lib"]

[tool.ruff]
line-length=99
"""
ADDED = """\
# My project.
[build-system]
build-backend = "hatchling.build"
requires = [
    "hatchling",
    "hatch-vcs",  # for the version
    "hatch-cuda-kernels[build]",
]

[project]
name = "old-lib"
version = "1.0"
dependencies = [ 'numpy>=1.26', "hatch-cuda-kernels" ] # few
requires-python = ">=3.9"

[project.scripts]
old = "old_lib:main"

[tool.hatch.build.targets.wheel]
packages = ["old_lib"]

[tool.ruff]
line-length=99

# kernels.yaml says what to compile. This line alone turns it on.
[tool.hatch.build.targets.wheel.hooks.cuda-kernels]
"""
HATCH = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "p"
version = "1"
"""


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Return an empty folder that is the working folder."""
    folder = tmp_path / "my-lib"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def init(root, capsys):
    """Return a function that writes files into the folder and runs ``init --json`` there: status, data or message."""

    def run(*argv, **files):
        for name, text in files.items():
            write(root / name, text)
        status = main(["init", "--json", *argv])
        out, err = capsys.readouterr()
        return status, json.loads(out) if out else err

    return run


def write(path, text):
    """Write a file as it is, making its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def tree(root):
    """Return every file's bytes and time of change."""
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in root.rglob("*")
        if path.is_file()
    }


def test_an_empty_folder_becomes_a_project(root, init, capsys):
    """Everything a wheel needs is made, under the folder's name; a second time nothing changes, and that is said."""
    status, done = init()
    assert status == 0
    assert sorted(done["created"]) == sorted(
        ["pyproject.toml", "README.md", ".gitignore", "src/my_lib/__init__.py", "src/my_lib/saxpy.py", *FIRST_KERNEL]
    )
    assert sorted(tree(root)) == sorted(done["created"])
    assert 'open_store("my_lib")' in (root / "src/my_lib/saxpy.py").read_text()
    assert 'name = "my-lib"' in (root / "pyproject.toml").read_text()
    before = tree(root)
    assert main(["init"]) == 0
    assert capsys.readouterr().out == "nothing to do: this project is set up\n"
    assert tree(root) == before
    assert main(["check"]) == 0


def test_files_that_are_there_stay(root, init):
    """A README, a kernel of that name and a flat package are the user's own."""
    mine = {"README.md": "mine", "kernels/saxpy.cu": "// mine", "other/__init__.py": "# mine", ".venv/x": "mine"}
    status, done = init("--name", "other", **mine)
    assert status == 0
    assert sorted(done["kept"]) == ["README.md", "kernels/saxpy.cu", "other/__init__.py"]
    assert {name: (root / name).read_text() for name in mine} == mine
    assert (root / "other/saxpy.py").is_file()
    assert not (root / "src").exists()


def test_an_existing_project_keeps_its_formatting(root, init):
    """Three additions, nothing else: comments, order, quotes and spaces stay; so it is the second time."""
    status, done = init(**{"pyproject.toml": EXISTING, "old_lib/__init__.py": "# mine"})
    assert status == 0
    assert (root / "pyproject.toml").read_text() == ADDED
    assert sorted(done["created"]) == sorted(["old_lib/saxpy.py", *FIRST_KERNEL])
    assert done["notes"] == ["requires-python is '>=3.9'; hatch-cuda-kernels needs Python 3.11 or newer"]
    before = tree(root)
    again = {"created": [], "changed": [], "kept": [], "notes": done["notes"]}
    assert init() == (0, again)
    assert tree(root) == before


def test_windows_line_ends_stay(root, init):
    """A file with CRLF has them on every line afterwards."""
    init(**{"pyproject.toml": EXISTING.replace("\n", "\r\n"), "old_lib/__init__.py": ""})
    assert (root / "pyproject.toml").read_bytes() == ADDED.replace("\n", "\r\n").encode()


PARTLY = {
    "no dependencies yet": (
        HATCH.replace('version = "1"', 'version = "1"\nrequires-python = ">=3.11"'), {},
        ['dependencies = ["hatch-cuda-kernels"]', '"hatch-cuda-kernels[build]"'], [],
    ),
    "a requirement without the extra": (
        HATCH.replace('["hatchling"]', '["hatchling", "hatch_cuda_kernels>=0.1"]'), {},
        ['"hatch_cuda_kernels[build]>=0.1"]'], [],
    ),
    "a hook for all targets": (f"{HATCH}[tool.hatch.build.hooks.cuda-kernels]\n", {}, [], ["targets.wheel.hooks"]),
    "a manifest for CUDA 12": (
        HATCH, {"kernels.yaml": '{schema: 1, cuda: "12.9", arches: [sm_70], modules: {a: {source: a.cu}}}', "a.cu": ""},
        ['"hatch-cuda-kernels[build-cu12]"'], [],
    ),
    "dependencies that are computed": (
        HATCH.replace('version = "1"', 'version = "1"\ndynamic = ["dependencies"]'), {}, [], ['"hatch-cuda-kernels"'],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "files", "there", "absent"), PARTLY.values(), ids=PARTLY.keys())
def test_a_project_that_has_a_part(text, files, there, absent, root, init):
    """What is there counts, in whatever form, and is not added again."""
    status, _ = init(**{"pyproject.toml": text, "src/p/__init__.py": "", **files})
    edited = (root / "pyproject.toml").read_text()
    assert status == 0
    assert all(part in edited for part in there)
    assert not any(part in edited for part in absent)
    assert (root / "src/p/saxpy.py").exists() == ("kernels.yaml" not in files)


def test_computed_dependencies_are_left_to_the_user(init):
    """Where dependencies come from elsewhere, that is where the new one must go."""
    text = HATCH.replace('version = "1"', 'version = "1"\nrequires-python = ">=3.12"\ndynamic = ["dependencies"]')
    notes = init(**{"pyproject.toml": text, "p/__init__.py": ""})[1]["notes"]
    assert notes == ["project.dependencies is dynamic: add hatch-cuda-kernels where they are defined"]


def test_the_hooks_own_options_count(root, init):
    """The manifest and the package that the hook's table names are the ones that are used."""
    table = '[tool.hatch.build.targets.wheel.hooks.cuda-kernels]\nmanifest = "cuda/k.yaml"\npackage = "p.gpu"\n'
    status, done = init(**{"pyproject.toml": HATCH + table, "p/__init__.py": "", "p/gpu/__init__.py": ""})
    assert status == 0
    assert sorted(done["created"]) == ["cuda/k.yaml", "cuda/kernels/saxpy.cu", "p/gpu/saxpy.py", "tests/test_saxpy.py"]
    assert 'open_store("p.gpu")' in (root / "p/gpu/saxpy.py").read_text()
    assert main(["check", "cuda/k.yaml"]) == 0


REFUSED = {
    "setuptools": (
        {"pyproject.toml": HATCH.replace("hatchling.build", "setuptools.build_meta")}, (),
        "pyproject.toml states the build backend setuptools.build_meta; ",
    ),
    "no backend": ({"pyproject.toml": "[project]\nname = 'p'\n"}, (), "pyproject.toml states no build backend; "),
    "setup.py": ({"setup.py": ""}, (), "setup.py says that setuptools builds this project; "),
    "no project": ({"pyproject.toml": HATCH.partition("[project]")[0]}, (), "pyproject.toml has no [project] table"),
    "no TOML": ({"pyproject.toml": "[build-system\n"}, (), "pyproject.toml: not valid TOML: "),
    "no package": ({"pyproject.toml": HATCH}, (), "no package folder p (or src/p) in "),
    "hatch.toml": (
        {"pyproject.toml": HATCH, "p/__init__.py": "", "hatch.toml": "[build]\n"}, (), "hatch.toml has a build table",
    ),
    "an inline table": (
        {"pyproject.toml": HATCH + "[tool.hatch.build]\ntargets = {wheel = {}}\n", "p/__init__.py": ""}, (),
        "pyproject.toml is laid out so that it cannot be changed safely; add ",
    ),
    "another name": (
        {"pyproject.toml": HATCH, "p/__init__.py": ""}, ("--name", "q"), "--name is for a new project, and this one is"
    ),
    "a name nobody can import": ({}, ("--name", "7zip"), "Python cannot import a package '7zip'"),
    "a name that is none": ({}, ("--name", "my lib"), "'my lib' is not a project name"),
}  # fmt: skip


@pytest.mark.parametrize(("files", "argv", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_set_up_is_left_alone(files, argv, message, root, init):
    """Status 2 and a reason that says what to do, and no file is made or changed."""
    for name, text in files.items():
        write(root / name, text)
    before = tree(root)
    status, told = init(*argv)
    assert status == 2
    assert told.startswith(message)
    assert tree(root) == before


@pytest.mark.parametrize("kind", ["new", "existing"])
def test_the_result_builds_and_passes_its_tests(kind, root, init, plugin_wheel, fresh_cache, tmp_path):
    """The wheel of an isolated build passes the tests that came with it; what needs a device may be skipped."""
    files = {"pyproject.toml": HATCH, "p/__init__.py": ""} if kind == "existing" else {}
    assert init(**files)[0] == 0
    if kind == "new":
        build_isolated(root, root / "dist", "--wheel", offered=plugin_wheel)
    else:
        build_wheel(root, root / "dist")
    (wheel,) = (root / "dist").iterdir()
    python = (sys.executable, "-m")
    site = tmp_path / "site"
    run(*python, "pip", "install", "--no-deps", "--no-index", "--target", site, wheel)
    path = os.pathsep.join([str(site), str(REPOSITORY)])
    (tmp_path / "tests").mkdir()
    (root / "tests/test_saxpy.py").rename(tmp_path / "tests/test_saxpy.py")
    out = run(*python, "pytest", "-q", "-p", "no:cacheprovider", cwd=tmp_path / "tests", PYTHONPATH=path)
    assert "4 passed" in out or "5 passed" in out
