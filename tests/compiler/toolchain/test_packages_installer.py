"""The command that brings what is missing is that of whatever made the environment, and works as it is typed."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

from hatch_cuda_kernels.compiler.toolchain import packages
from hatch_cuda_kernels.compiler.toolchain.packages import editable_install, own, pip_install

NVRTC, BINDINGS = "nvidia-cuda-nvrtc==13.0.*", "cuda-bindings>=12.9,<14"
WHOLE = "hatch-cuda-kernels[build] @ file:///src/hck"
UV = "home = /usr/bin\nuv = 0.9.0\n"


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Return a function that makes an environment's folder, of this name and with these files, the one that runs.

    The program was started as ``check my.yaml``, and no package of the toolkit is there.
    """
    monkeypatch.setattr(packages, "direct_reference", lambda: "file:///src/hck")
    monkeypatch.setattr("sys.argv", ["/somewhere/bin/hatch-cuda-kernels", "check", "my file.yaml"])
    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    monkeypatch.setattr(packages, "_version", lambda name: "13.0.1" if name == "cuda-bindings" else "0")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.setattr(packages.shutil, "which", lambda name: f"/bin/{name}" if name == "uvx" else None)

    def make(name, **files):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        for file, text in {"pyvenv.cfg": UV, **{key.replace("__", "."): text for key, text in files.items()}}.items():
            (folder / file).write_text(text)
        monkeypatch.setattr(sys, "prefix", str(folder))
        return folder

    return make


def pipx_notes(version):
    """Return what pipx notes in an environment, as far as it is read."""
    return {"pipx_metadata__json": json.dumps({"pipx_metadata_version": version})}


def test_an_environment_of_uv_gets_its_form(made, monkeypatch):
    """Active or found by uv, its name is not needed."""
    environment = made("environment")
    assert pip_install("a>=1") == f'uv pip install --python {environment} "a>=1"'
    monkeypatch.setenv("VIRTUAL_ENV", str(environment))
    assert pip_install("a>=1") == 'uv pip install "a>=1"'
    assert pip_install("a", here=False) == "python3 -m pip install a"


def test_any_other_gets_pips(made):
    """A venv without pip can still be given one."""
    made("environment", pyvenv__cfg="home = /usr/bin\n")
    assert pip_install("a") == "python3 -m pip install a"


def test_uvx_runs_the_program_again(made):
    """Its environment is for one run: the command is the whole one, and what it brings anyway is left out."""
    made("archive-v0/x")
    again = 'hatch-cuda-kernels check "my file.yaml"'
    assert pip_install(BINDINGS, NVRTC) == f'uvx --with "{NVRTC}" --from "{WHOLE}" {again}'
    assert pip_install(own("build")) == f'uvx --from "{WHOLE}" {again}'
    assert pip_install(own("report")) == f'uvx --with "{own("report")}" --from "{WHOLE}" {again}'
    assert (
        pip_install("a", options="--force-reinstall --no-deps") == f'uvx --reinstall --with a --from "{WHOLE}" {again}'
    )


def test_uvx_of_another_program(made, monkeypatch):
    """It is not known how that one was asked for."""
    made("archive-v0/x")
    monkeypatch.setattr("sys.argv", ["/somewhere/bin/train"])
    assert pip_install(NVRTC) == f'uvx --with "{NVRTC}" ...'


def test_a_tool_of_uvs_is_installed_anew(made):
    """With all that it needs besides: uv forgets what it was installed with before."""
    made("hatch-cuda-kernels", uv_receipt__toml="")
    (made("tools/train") / "uv-receipt.toml").write_text("")
    assert pip_install(NVRTC) == f'uv tool install --with "{NVRTC}" train'


def test_pipx_injects(made):
    """Into what it installed; the program itself comes with its extra."""
    made("venvs/hatch-cuda-kernels", **pipx_notes("0.12"))
    assert pip_install(BINDINGS, NVRTC) == f'pipx inject hatch-cuda-kernels "{NVRTC}"'
    assert pip_install(own("build"), NVRTC) == (
        f'pipx install --force "{WHOLE}" && pipx inject hatch-cuda-kernels "{NVRTC}"'
    )
    assert pip_install("a", options="--upgrade") == 'pipx inject --pip-args="--upgrade" hatch-cuda-kernels a'


def test_pipx_run_runs_the_program_again(made):
    """As with uvx; before 1.10, pipx can only install it first."""
    made("new", **pipx_notes("0.12"))
    again = 'hatch-cuda-kernels check "my file.yaml"'
    assert pip_install(BINDINGS, NVRTC) == f'pipx run --with "{NVRTC}" --spec "{WHOLE}" {again}'
    made("old", **pipx_notes("0.5"))
    assert pip_install(NVRTC) == f'pipx install "{WHOLE}" && pipx inject hatch-cuda-kernels "{NVRTC}"'


def test_pipx_may_have_a_uv_of_its_own(made, monkeypatch):
    """Where there is no uvx to type, the environment of uv's is pipx's."""
    made("archive-v0/x")
    monkeypatch.setattr(packages.shutil, "which", lambda name: None)
    assert pip_install(NVRTC).startswith(f'pipx run --with "{NVRTC}" --spec "{WHOLE}" ')


def test_what_is_there_is_not_named(made, monkeypatch):
    """Unless nothing else is left: files can be missing of what is installed."""
    made("environment", pyvenv__cfg="")
    have = {"nvidia-cuda-nvrtc": "13.0.88", "cuda-bindings": "13.0.1", "nvidia-cuda-crt": "13.5.1"}
    monkeypatch.setattr(packages, "_version", lambda name: have.get(name, "0"))
    crt = "nvidia-cuda-crt==13.0.*"
    assert pip_install(BINDINGS, NVRTC, crt) == f'python3 -m pip install "{crt}"'
    assert pip_install(BINDINGS, NVRTC) == f'python3 -m pip install "{BINDINGS}" "{NVRTC}"'


@pytest.mark.parametrize("word", ["a", "a b", "block_sum<float, 512>", 'a"b', "$HOME", "`a`", "it's", "a\\b"])
def test_words_are_quoted_for_a_shell(word):
    """What is typed is what the program gets."""
    assert shlex.split(packages.quoted(word)) == [word]


def editable_project(folder):
    """Make a project with a package, and return the package's folder."""
    package = folder / "src" / "p"
    package.mkdir(parents=True)
    (folder / "pyproject.toml").write_text('[project]\nname = "my-lib"\n')
    return package


def test_an_editable_install_is_made_again_in_the_form_of_the_environment(made, tmp_path, monkeypatch):
    """With uv by name, as it takes what is there for up to date; in a project of its own, by the command for that."""
    package = editable_project(tmp_path / "project")
    project = package.parents[1]
    again = "--reinstall-package my-lib"
    made("plain", pyvenv__cfg="home = /usr/bin\n")
    assert editable_install(package) == f"python3 -m pip install --editable {project}"
    environment = made("other")
    assert editable_install(package) == f"uv pip install --python {environment} {again} --editable {project}"
    monkeypatch.chdir(project)
    made("archive-v0/x")
    assert editable_install(package) == f"uv pip install {again} --editable ."
    (project / "uv.lock").write_text("")
    assert editable_install(package) == f"uv sync {again} --inexact"
    made("project/.venv")
    assert editable_install(package) == f"uv sync {again} --inexact"
    monkeypatch.chdir(tmp_path)
    assert editable_install(package) == f"uv sync --project {project} {again} --inexact"
