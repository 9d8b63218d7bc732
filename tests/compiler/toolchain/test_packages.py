"""Requirements, and the commands that install them: their release, where this package came from, uv's form."""

from __future__ import annotations

import sys

import pytest

from hatch_cuda_kernels.compiler.toolchain import packages
from hatch_cuda_kernels.compiler.toolchain.libraries import install_compiler
from hatch_cuda_kernels.compiler.toolchain.origin import reference_of
from hatch_cuda_kernels.compiler.toolchain.packages import own, pip_install

COMMIT = "0" * 40
NOTED = {
    "a folder": ({"url": "file:///src/hck", "dir_info": {}}, "file:///src/hck"),
    "an editable folder": ({"url": "file:///src/hck", "dir_info": {"editable": True}}, "file:///src/hck"),
    "a wheel": (
        {"url": "file:///w/hck-0.1.0-py3-none-any.whl", "archive_info": {}}, "file:///w/hck-0.1.0-py3-none-any.whl",
    ),
    "a commit": (
        {"url": "https://host/hck.git", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
        f"git+https://host/hck.git@{COMMIT}",
    ),
    "a tag of a repository's folder": (
        {
            "url": "https://host/all.git", "subdirectory": "hck",
            "vcs_info": {"vcs": "git", "commit_id": COMMIT, "requested_revision": "v1"},
        },
        "git+https://host/all.git@v1#subdirectory=hck",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("noted", "reference"), NOTED.values(), ids=NOTED.keys())
def test_the_package_is_asked_for_where_it_came_from(noted, reference, monkeypatch):
    """Whatever installers note, a requirement brings it again."""
    assert reference_of(noted) == reference
    monkeypatch.setattr(packages, "direct_reference", lambda: reference)
    assert own("build") == f"hatch-cuda-kernels[build] @ {reference}"
    assert own("build", "1.0") == own("build")
    assert own() == f"hatch-cuda-kernels @ {reference}"


def test_of_an_index_the_name_will_do(monkeypatch):
    """With a version where one is needed."""
    monkeypatch.setattr(packages, "direct_reference", lambda: "")
    assert (own(), own("build"), own("build", "1.0")) == (
        "hatch-cuda-kernels", "hatch-cuda-kernels[build]", "hatch-cuda-kernels[build]==1.0",
    )  # fmt: skip


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """Return the folder of an environment that uv made, which has no pip."""
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nuv = 0.9.0\n")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    return tmp_path


def test_an_environment_of_uv_gets_its_form(environment, monkeypatch):
    """Active or found by uv, its name is not needed."""
    monkeypatch.setenv("VIRTUAL_ENV", str(environment))
    assert pip_install("a>=1") == 'uv pip install "a>=1"'
    monkeypatch.delenv("VIRTUAL_ENV")
    monkeypatch.chdir(environment)
    assert pip_install("a") == f"uv pip install --python {environment} a"


def test_any_other_gets_pips(environment):
    """A venv without pip can still be given one."""
    (environment / "pyvenv.cfg").write_text("home = /usr/bin\n")
    assert pip_install("a") == "python3 -m pip install a"


def test_a_compiler_is_asked_for_by_its_release():
    """The newest release would be refused by the next build of a manifest that states another."""
    command = install_compiler()
    for name in ("nvrtc", "runtime", "cccl", "crt"):
        assert f'"nvidia-cuda-{name}==13.0.*"' in command
