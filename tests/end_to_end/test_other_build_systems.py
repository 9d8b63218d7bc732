"""The same store without Hatch: through ``build_kernels``, from setuptools and on its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile

import pytest
from front_ends import REPOSITORY, build_isolated, copy_project, run

from hatch_cuda_kernels import InputError, ManifestError, build_kernels, open_store

EXAMPLE = REPOSITORY / "examples" / "setuptools_project"
HATCH = """
[build-system]
requires = ["hatchling", "hatch-cuda-kernels[build]"]
build-backend = "hatchling.build"
[project]
name = "vecops"
version = "0.1.0"
[tool.hatch.build.targets.wheel.hooks.cuda-kernels]
"""


@pytest.fixture
def example(tmp_path):
    """Return a copy of the example without what builds left in it."""
    return copy_project(tmp_path / "project", EXAMPLE)


def store_of(wheel):
    """Return the files of a wheel's store with their bytes, and all other names."""
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    return {name: data for name, data in files.items() if "/_kernels/" in name}, sorted(files)


def test_setuptools_ships_the_store_that_hatch_would(example, plugin_wheel, tmp_path):
    """By way of an sdist, the wheel is pure, its store resolves, and it is byte for byte that of the hook.

    The stub in it is of this very build.
    """
    manifest = example / "kernels.yaml"
    manifest.write_text(manifest.read_text().replace("[float, double]", "[float, double, int]"))
    find = {"offered": plugin_wheel, "PYTHONPATH": ""}
    build_isolated(example, tmp_path / "setuptools", **find)
    (example / "setup.py").unlink()
    (example / "pyproject.toml").write_text(HATCH)
    build_isolated(example, tmp_path / "hatch", "--wheel", **find)
    name = "vecops-0.1.0-py3-none-any.whl"
    store, names = store_of(tmp_path / "setuptools" / name)
    assert store
    assert store == store_of(tmp_path / "hatch" / name)[0]
    assert {"vecops/__init__.py", "vecops/kernels.py", "vecops/_kernels/scale/index.json"} <= set(names)
    with zipfile.ZipFile(tmp_path / "setuptools" / name) as archive:
        assert '"scale<int>"' in archive.read("vecops/kernels.pyi").decode()  # not the stub of before the edit
        archive.extractall(tmp_path / "site")
    image = open_store(tmp_path / "site" / "vecops").find_image("scale<double>", arch="sm_86")
    assert (image.origin, str(image.arch)) == ("prebuilt", "sm_80")


def test_an_editable_install_by_setuptools_sees_edits(example, plugin_wheel, fresh_cache, tmp_path):
    """The store lies in the source tree, out of git's sight, and an edited source is compiled instead."""
    uv = (sys.executable, "-m", "uv", "pip", "install", "--no-deps", "--target", tmp_path / "site")
    run(*uv, "--editable", example, UV_FIND_LINKS=str(plugin_wheel), PYTHONPATH="")
    package = example / "src" / "vecops"
    assert (package / "_kernels" / ".gitignore").read_text() == "*\n"
    assert open_store(package).find_image("scale<float>", arch="sm_90").origin == "prebuilt"
    source = example / "kernels" / "scale.cu"
    source.write_text(f"{source.read_text()}// edited\n")
    assert open_store(package).find_image("scale<float>", arch="sm_90").origin == "jitted"


def test_setuptools_shows_the_error_alone(example, plugin_wheel, tmp_path):
    """What is wrong with the source, and no lines of code of setuptools or of this package."""
    source = example / "kernels" / "scale.cu"
    source.write_text(f"{source.read_text()}broken\n")
    command = [sys.executable, "-m", "build", "--installer", "uv", "--wheel", "--outdir", tmp_path / "dist", example]
    environment = {**os.environ, "UV_FIND_LINKS": str(plugin_wheel), "PYTHONPATH": ""}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode != 0
    assert "error: kernels.yaml:5:3: modules.scale: module 'scale' for " in done.stdout
    assert "\nkernels/scale.cu:6:1: error: " in done.stdout
    assert 'File "' not in done.stdout


PAGE = REPOSITORY / "docs" / "howto" / "other-build-systems.md"


def shown_files(heading):
    """Return the files that the page shows for a build system."""
    section = PAGE.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', section, re.MULTILINE | re.DOTALL))


def test_the_page_shows_the_example():
    """The files on the page are the example's."""
    assert shown_files("setuptools") == {name: (EXAMPLE / name).read_text() for name in ("setup.py", "MANIFEST.in")}


@pytest.mark.parametrize(
    ("backend", "build_file"), [("scikit-build-core", "CMakeLists.txt"), ("meson-python", "meson.build")]
)
def test_what_the_page_shows_builds_the_same_store(backend, build_file, example, plugin_wheel, tmp_path):
    """The files shown, over the example's package and kernels, give a pure wheel with the store."""
    (example / "setup.py").unlink()
    files = shown_files(backend)
    assert set(files) == {"pyproject.toml", build_file}
    for name, text in files.items():
        (example / name).write_text(text)
    for command in ("init -q", "add -A", "-c user.name=x -c user.email=x@example.org commit -qm x"):
        run("git", *command.split(), cwd=example)  # meson-python packs what is committed
    build_isolated(example, tmp_path / "dist", "--wheel", offered=plugin_wheel, PYTHONPATH="")
    store, names = store_of(tmp_path / "dist" / "vecops-0.1.0-py3-none-any.whl")
    build_kernels(example / "kernels.yaml", example / "src" / "vecops")
    built = example / "src"
    here = {path.relative_to(built).as_posix(): path for path in built.rglob("_kernels/**/*") if path.is_file()}
    assert store == {name: path.read_bytes() for name, path in here.items()}
    assert "vecops/__init__.py" in names


def test_build_kernels_puts_the_store_into_the_package(make_project, capsys):
    """The run side finds it by the package's folder; the report can be printed and says what was compiled."""
    root = make_project("{schema: 1, arches: [sm_90], modules: {a: {source: saxpy.cu}}}")
    (root / "mylib").mkdir()
    report = build_kernels(root / "kernels.yaml", root / "mylib", jobs=1)
    assert open_store(root / "mylib").find_image("saxpy", arch="sm_90").origin == "prebuilt"
    assert "a       sm_90  cubin" in str(report)
    assert capsys.readouterr().out == ""


def test_build_kernels_refuses_a_package_that_is_not_there(make_project):
    """A wrong folder is an error, not a store that no wheel gets; so is a wrong manifest."""
    root = make_project("{schema: 1, arches: [sm_9], modules: {a: {source: saxpy.cu}}}")
    with pytest.raises(InputError, match=r"the package folder .*mylib does not exist; build the package"):
        build_kernels(root / "kernels.yaml", root / "mylib")
    (root / "mylib").mkdir()
    with pytest.raises(ManifestError, match="unknown architecture"):
        build_kernels(root / "kernels.yaml", root / "mylib")
