"""The manifest of a project is found from wherever in it a command runs."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.cli import main
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.manifest import find_manifest

HOOK = '[tool.hatch.build.{0}hooks.cuda-kernels]\nmanifest = "cuda/k.yaml"\n'


@pytest.mark.slow
def test_from_a_subfolder(make_project, monkeypatch, capsys):
    """The next one above counts, and errors are at its place as seen from here."""
    root = make_project("{schema: 1, arches: [sm_90], modules: {a: {source: saxpy.cu}}}")
    (root / "src" / "deep").mkdir(parents=True)
    monkeypatch.chdir(root / "src" / "deep")
    assert main(["check"]) == 0
    assert "1 module, 1 image" in capsys.readouterr().out
    (root / "kernels.yaml").write_text("schema: 2")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["check"]) == 2
    assert "../../kernels.yaml:1:9: error: schema: " in capsys.readouterr().err


@pytest.mark.parametrize("table", ["", "targets.wheel."])
def test_where_the_hook_has_it(table, write, tmp_path):
    """A manifest of another name, or in a folder of its own, is found by the hook's table."""
    write("pyproject.toml", HOOK.format(table))
    manifest = write("cuda/k.yaml", "")
    (tmp_path / "src").mkdir()
    assert (tmp_path / "src" / find_manifest(tmp_path / "src")).resolve() == manifest


@pytest.mark.parametrize("pyproject", ["[broken", "tool = 1", "[tool.hatch.build.hooks]\ncuda-kernels = 5", HOOK])
def test_a_pyproject_that_says_nothing_of_it(pyproject, write, tmp_path):
    """Whatever else is in there is the business of whoever builds it."""
    write("pyproject.toml", pyproject)
    write("kernels.yaml", "")
    assert str(find_manifest(tmp_path)) == "kernels.yaml"


def test_none_at_all(tmp_path, monkeypatch, capsys):
    """What makes one is named."""
    with pytest.raises(InputError, match=r"there is no kernels.yaml in .* or above"):
        find_manifest(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["build"]) == 2
    assert "hint: name one, or let hatch-cuda-kernels init write the first" in capsys.readouterr().err
