"""``init``: what a project lacks is added, what is there stays as it is, and the result builds and passes its tests."""

from __future__ import annotations

import json
import os
import sys
import tarfile
import tomllib
import zipfile

import pytest
from front_ends import REPOSITORY, build_isolated, build_wheel, run
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.compiler.toolchain import packages
from hatch_cuda_kernels.scaffold import project as setup

CI = ".github/workflows/kernels.yml"
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
[tool.hatch.build.hooks.cuda-kernels]

# uv builds again when one of these changes.
[tool.uv]
cache-keys = [{ file = "pyproject.toml" }, { file = "kernels.yaml" }, { file = "kernels/**" }]
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
    """Return an empty folder that is the working folder; the package is as if it came from an index."""
    monkeypatch.setattr(packages, "direct_reference", lambda: "")
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


@pytest.mark.slow
def test_an_empty_folder_becomes_a_project(root, init, capsys):
    """Everything a wheel needs is made, under the folder's name; a second time nothing changes, and that is said."""
    status, done = init()
    assert status == 0
    assert sorted(done["created"]) == sorted(
        [
            "pyproject.toml",
            "README.md",
            ".gitignore",
            "src/my_lib/__init__.py",
            "src/my_lib/saxpy.py",
            *FIRST_KERNEL,
            CI,
        ]
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
    """Additions, nothing else: comments, order, quotes and spaces stay; so it is the second time."""
    status, done = init(**{"pyproject.toml": EXISTING, "old_lib/__init__.py": "# mine"})
    assert status == 0
    assert (root / "pyproject.toml").read_text() == ADDED
    assert sorted(done["created"]) == sorted(["old_lib/saxpy.py", *FIRST_KERNEL, CI])
    assert done["notes"] == ["requires-python is '>=3.9'; hatch-cuda-kernels needs Python 3.11 or newer"]
    before = tree(root)
    assert ".gitignore: _kernels/" in done["changed"]
    again = {"created": [], "changed": [], "kept": [], "notes": done["notes"], "steps": [], "next": []}
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
    "a hook for all targets": (f"{HATCH}[tool.hatch.build.hooks.cuda-kernels]\n", {}, [], ["wheel"]),
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
    assert sorted(done["created"]) == [
        CI,
        "cuda/k.yaml",
        "cuda/kernels/saxpy.cu",
        "p/gpu/saxpy.py",
        "tests/test_saxpy.py",
    ]
    assert 'open_store("p.gpu")' in (root / "p/gpu/saxpy.py").read_text()
    assert main(["check", "cuda/k.yaml"]) == 0


REFUSED = {
    "setup.py": ({"setup.py": ""}, (), "only setup.py says how this project is built; "),
    "setup.py and no requirements": (
        {"setup.py": "", "pyproject.toml": "[project]\nname = 'p'\n"}, (),
        "pyproject.toml: build-system.requires is missing",
    ),
    "no project": ({"pyproject.toml": HATCH.partition("[project]")[0]}, (), "pyproject.toml has no [project] table"),
    "no TOML": ({"pyproject.toml": "[build-system\n"}, (), "pyproject.toml: not valid TOML: "),
    "no package": ({"pyproject.toml": HATCH}, (), "Unable to determine which files to ship inside the wheel"),
    "no package of another back end": (
        {"pyproject.toml": HATCH.replace("hatchling.build", "flit_core.buildapi")}, (),
        "no package folder p (or src/p) in ",
    ),
    "a package that Hatch would not find": (
        {"pyproject.toml": HATCH, "src/p/code.py": ""}, (), "hatchling does not know which files the wheel ships: ",
    ),
    "hatch.toml": (
        {"pyproject.toml": HATCH, "p/__init__.py": "", "hatch.toml": "[build]\n"}, (), "hatch.toml has a build table",
    ),
    "an inline table": (
        {"pyproject.toml": HATCH + "[tool.hatch]\nbuild = {}\n", "p/__init__.py": ""}, (),
        "pyproject.toml is laid out so that it cannot be changed safely; add ",
    ),
    "another name": (
        {"pyproject.toml": HATCH, "p/__init__.py": ""}, ("--name", "q"), "--name is for a new project, and this one is"
    ),
    "a name nobody can import": ({}, ("--name", "7zip"), "the package of project '7zip' would be "),
    "a name that Windows reserves": (
        {}, ("--name", "Com1"), "the package of project 'Com1': 'com1' cannot be a file on Windows",
    ),
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
    (problem,) = told["problems"]
    assert problem.startswith(message)
    assert tree(root) == before


@pytest.mark.parametrize("files", [{"pyproject.toml": HATCH}, {"setup.py": ""}], ids=str)
def test_a_folder_of_a_project_is_none(files, root, init, monkeypatch):
    """The project is named; another one is made where a name says so, or where a repository of its own begins."""
    (root / "src" / "kernels").mkdir(parents=True)
    for name, text in files.items():
        write(root / name, text)
    before = tree(root)
    monkeypatch.chdir(root / "src" / "kernels")
    status, told = init()
    assert status == 2
    (problem,) = told["problems"]
    assert problem.splitlines() == [
        f"this folder is part of the project in ../.. ({root})",
        "  to fix: run init there, or name a separate project for this folder: init --name kernels",
    ]
    assert tree(root) == before
    assert init("--name", "other")[0] == 0
    (root / "src" / ".git").mkdir()
    (root / "src" / "one").mkdir()
    monkeypatch.chdir(root / "src" / "one")
    assert init()[0] == 0


def test_settings_of_tools_make_no_project(root, init, monkeypatch):
    """A repository of several projects has such a pyproject.toml above them."""
    (root / "one").mkdir()
    write(root / "pyproject.toml", "[tool.ruff]\nline-length = 99\n")
    monkeypatch.chdir(root / "one")
    assert init()[0] == 0


ELSEWHERE = "file:///src/hck"


@pytest.mark.parametrize("existing", [False, True])
def test_a_package_that_no_index_has(existing, root, init, monkeypatch):
    """Requirements name where the package was installed from, and Hatch is told that they may."""
    monkeypatch.setattr(packages, "direct_reference", lambda: ELSEWHERE)
    init(**({"pyproject.toml": HATCH, "p/__init__.py": ""} if existing else {}))
    data = tomllib.loads((root / "pyproject.toml").read_text())
    assert f"hatch-cuda-kernels[build] @ {ELSEWHERE}" in data["build-system"]["requires"]
    assert data["project"]["dependencies"] == [f"hatch-cuda-kernels @ {ELSEWHERE}"]
    assert data["tool"]["hatch"]["metadata"]["allow-direct-references"]


@pytest.mark.parametrize("tables", ["[tool.hatch.metadata.hooks.vcs]", "[tool.hatch.metadata]\nx = 1\n"])
def test_tables_that_are_there_are_added_to(tables, root, init, monkeypatch):
    """What Hatch and uv are told already stays."""
    monkeypatch.setattr(packages, "direct_reference", lambda: ELSEWHERE)
    tables = f"{tables}\n[tool.uv]\npackage = true\n"
    assert init(**{"pyproject.toml": HATCH + tables, "p/__init__.py": ""})[0] == 0
    tool = tomllib.loads((root / "pyproject.toml").read_text())["tool"]
    assert len(tool["hatch"]["metadata"]) == 2
    assert tool["hatch"]["metadata"]["allow-direct-references"]
    assert tool["uv"]["package"]
    assert {"file": "kernels.yaml"} in tool["uv"]["cache-keys"]
    assert init()[1]["changed"] == []


@pytest.mark.parametrize("text", ["dist/", "dist/\n", "a\n/_kernels/\nb", "**/_kernels\n", None])
def test_git_leaves_out_what_is_compiled(text, root, init):
    """One line more, unless one says so."""
    files = {"pyproject.toml": HATCH, "p/__init__.py": ""} | ({} if text is None else {".gitignore": text})
    init(**files)
    lines = (root / ".gitignore").read_text().splitlines()
    assert sum("_kernels" in line for line in lines) == 1
    assert [line for line in lines if "_kernels" not in line] == [
        x for x in (text or "").split() if "_kernels" not in x
    ]


def test_a_hook_of_wheels_only_is_told_of(root, init):
    """It is left as it is; an sdist would have what an editable install compiled."""
    table = "[tool.hatch.build.targets.wheel.hooks.cuda-kernels]\n"
    _, done = init(**{"pyproject.toml": HATCH + table, "p/__init__.py": ""})
    assert any("[tool.hatch.build.hooks.cuda-kernels]" in note for note in done["notes"])


def test_a_ci_that_is_there_is_the_users(root, init):
    """Nothing is put beside other workflows."""
    files = {"pyproject.toml": HATCH, "p/__init__.py": "", ".github/workflows/test.yml": "on: push"}
    assert CI not in init(**files)[1]["created"]


def test_a_project_that_nothing_builds_is_given_hatch(root, init):
    """One that uv runs, say, without being built."""
    text = '[project]\nname = "p"\nversion = "1"\nrequires-python = ">=3.11"\n'
    status, done = init(**{"pyproject.toml": text, "p/__init__.py": ""})
    data = tomllib.loads((root / "pyproject.toml").read_text())
    assert status == 0
    assert done["changed"][0] == "pyproject.toml: [build-system]"
    assert data["build-system"]["build-backend"] == "hatchling.build"
    assert init()[1]["changed"] == []


OTHERS = {
    "setuptools.build_meta": ([], {"setup.py", "MANIFEST.in"}, True),
    "scikit_build_core.build": (
        ["in CMakeLists.txt, add:", "install(DIRECTORY ${STORE} DESTINATION p)", 'py-api = "py3"', "platlib = false"],
        set(), True,
    ),
    "mesonpy": (["in meson.build, where py is", "install_dir: py.get_install_dir() / 'p'"], set(), True),
    "flit_core.buildapi": (["compile the kernels first, as below"], set(), False),
    "poetry.core.masonry.api": (['include = [{ path = "src/p/_kernels/**/*"'], set(), False),
    "uv_build": ([" init --backend hatchling"], set(), False),
    "backend_of_their_own": ([" init --backend hatchling"], set(), False),
}  # fmt: skip


@pytest.mark.parametrize(("backend", "expected"), OTHERS.items(), ids=OTHERS.keys())
def test_other_back_ends(backend, expected, root, init):
    """What is the same for all is done; what is not is written, or told in a few lines; a second run does nothing."""
    steps, files, builds = expected
    text = HATCH.replace("hatchling.build", backend).replace('["hatchling"]', '["x"]')
    status, done = init(**{"pyproject.toml": text, "src/p/__init__.py": ""})
    data = tomllib.loads((root / "pyproject.toml").read_text())
    assert status == 0
    assert data["project"]["dependencies"] == ["hatch-cuda-kernels"]
    assert ("nvidia-cuda-nvrtc==13.0.*" in data["build-system"]["requires"]) is builds
    assert {"src/p/saxpy.py", "kernels.yaml", *files} <= set(done["created"])
    assert all(any(line in told for told in done["steps"]) for line in steps)
    assert len(done["steps"]) < 12
    assert any(command.endswith(" build --out src/p/_kernels") for command in done["next"]) is not builds
    before = tree(root)
    again = init()[1]
    assert (again["created"], again["changed"], again["steps"]) == ([], [], [])
    assert tree(root) == before


def test_a_package_without_init_of_another_back_end(init):
    """A folder that is called like the project counts where Hatch is not asked to ship it."""
    text = HATCH.replace("hatchling.build", "setuptools.build_meta").replace('["hatchling"]', '["x"]')
    status, done = init(**{"pyproject.toml": text, "src/p/code.py": ""})
    assert status == 0
    assert "src/p/saxpy.py" in done["created"]


def test_a_project_can_move_to_hatch(root, init):
    """Asked to, init changes the back end, and then does all that Hatch takes."""
    text = HATCH.replace("hatchling.build", "uv_build").replace('["hatchling"]', '["uv_build>=0.9"]')
    status, done = init("--backend", "hatchling", **{"pyproject.toml": text, "src/p/__init__.py": ""})
    data = tomllib.loads((root / "pyproject.toml").read_text())
    assert (status, done["steps"]) == (0, [])
    assert data["build-system"]["build-backend"] == "hatchling.build"
    assert data["build-system"]["requires"] == ["hatchling>=1.27", "hatch-cuda-kernels[build]"]
    assert "cuda-kernels" in data["tool"]["hatch"]["build"]["hooks"]
    assert init("--backend", "hatchling")[1]["changed"] == []


def test_a_setup_py_that_is_there_is_changed_by_its_author(root, init):
    """The lines to add are told; no file is overwritten."""
    text = HATCH.replace("hatchling.build", "setuptools.build_meta")
    _, done = init(**{"pyproject.toml": text, "p/__init__.py": "", "setup.py": "# mine"})
    assert (root / "setup.py").read_text() == "# mine"
    assert '    build_kernels("kernels.yaml", Path(self.build_lib, "p"))' in done["steps"]


def test_what_is_done_is_not_told_again(root, init):
    """Once there are new sources, the lines for their folders are left, and nothing of what setup.py does already."""
    text = HATCH.replace("hatchling.build", "setuptools.build_meta")
    init(**{"pyproject.toml": text, "src/p/__init__.py": ""})
    manifest = root / "kernels.yaml"
    manifest.write_text(f"{manifest.read_text()}  more:\n    source: csrc/more.cu\n")
    _, done = init(**{"csrc/more.cu": "__global__ void more() {}\n"})
    assert done["changed"] == ["pyproject.toml: tool.uv.cache-keys: csrc/**"]
    what, *lines = done["steps"][:-1]
    assert what.startswith("in MANIFEST.in, ")
    assert lines == ["    graft csrc"]


def test_what_comes_next_works_here(init, monkeypatch):
    """The front end that is installed, and the program as it can be run; whatever started the tests."""
    monkeypatch.setenv("UV", "/usr/bin/uv")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    check, build, inspect = init()[1]["next"]
    assert check.endswith(" check")
    assert build.endswith(" -m build --wheel")
    assert inspect.endswith(" inspect dist/*.whl")


MAKERS = {
    "uvx": ('uvx --from "hatch-cuda-kernels[build]" hatch-cuda-kernels', "uv build --wheel"),
    "pipx run": ('pipx run --spec "hatch-cuda-kernels[build]" hatch-cuda-kernels', "pipx run build --wheel"),
    "uv tool": ("hatch-cuda-kernels", "uv build --wheel"),
    "pipx": ("hatch-cuda-kernels", "pipx run build --wheel"),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_what_comes_next_goes_by_what_made_the_environment(maker, init, monkeypatch):
    """What uvx made is gone when the command is typed."""
    for module in (packages, setup):
        monkeypatch.setattr(module, "made_by", lambda: maker)
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    program, build = MAKERS[maker]
    assert init()[1]["next"] == [f"{program} check", build, f"{program} inspect dist/*.whl"]


def test_what_uv_runs_is_run_by_uv(init, monkeypatch):
    """Its environment is not active."""
    monkeypatch.setattr(packages, "made_by", lambda: "uv")
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    assert init()[1]["next"][0] == "uv run hatch-cuda-kernels check"


@pytest.mark.slow
def test_an_editable_installs_store_is_in_no_sdist(root, init, fresh_cache):
    """The table that is written is of all targets: sources go in, what was compiled into the source tree does not."""
    init()
    main(["build", "-q", "--out", "src/my_lib/_kernels"])
    (root / ".gitignore").unlink()
    sdist = next(SdistBuilder(str(root)).build(directory=str(root / "dist")))
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    assert not any("_kernels" in name for name in names)
    assert "my_lib-0.1.0/kernels/saxpy.cu" in names


@pytest.mark.slow
@pytest.mark.parametrize("ignored", [True, False])
def test_a_wheel_has_the_store_whatever_git_ignores(ignored, root, init, fresh_cache):
    """The line in .gitignore is about the source tree."""
    init()
    if not ignored:
        (root / ".gitignore").unlink()
    wheel = next(WheelBuilder(str(root)).build(directory=str(root / "dist"), versions=["standard"]))
    assert "my_lib/_kernels/kernels.tsv" in zipfile.ZipFile(wheel).namelist()


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
