"""This package's own sdist and wheel: complete, with nothing else, accepted by indexes, the same every time."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.util import find_spec

import pytest
from front_ends import REPOSITORY, run
from shared import make_once

VERSION = "1.2.0"
NAME = f"hatch_cuda_kernels-{VERSION}"
#: Tracked files that only a repository needs.
LEFT_OUT = (".ci/", ".git_archival.txt", ".gitattributes", ".github/")


def build(tree, out):
    """Build the sdist of a tree, and the wheel from that sdist."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", out, tree]
    run(*command, SETUPTOOLS_SCM_PRETEND_VERSION=VERSION)


@pytest.fixture(scope="module")
def built(tmp_path_factory, slow):
    """Return the folder with sdist and wheel, and the sdist unpacked."""

    def make(folder):
        build(REPOSITORY, folder)
        with tarfile.open(folder / f"{NAME}.tar.gz") as archive:
            archive.extractall(folder, filter="data")

    return make_once(tmp_path_factory, "distribution", make)


@pytest.fixture(scope="module")
def members(built):
    """Return the paths of the sdist's files, relative to its folder."""
    with tarfile.open(built / f"{NAME}.tar.gz") as archive:
        return {member.name.partition("/")[2] for member in archive if not member.isdir()}


def test_indexes_accept_both(built):
    """The description renders, the metadata is valid, and the wheel has no odd contents."""
    missing = [name for name in ("twine", "check_wheel_contents") if find_spec(name) is None]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)}")
    sdist, wheel = built / f"{NAME}.tar.gz", built / f"{NAME}-py3-none-any.whl"
    run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
    run(sys.executable, "-m", "check_wheel_contents", wheel, cwd=REPOSITORY)


def test_the_sdist_has_what_is_tracked(members):
    """It has each file of the repository but those that only a repository needs, and no other."""
    if shutil.which("git") is None or not (REPOSITORY / ".git").exists():
        pytest.skip("needs git and a checkout")
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=REPOSITORY).splitlines()
    there = [name for name in listed if (REPOSITORY / name).is_file() and not name.startswith(LEFT_OUT)]
    assert members - {"PKG-INFO"} == {*there}


def test_the_wheel_has_the_package(built, members):
    """It has each file of the package that the sdist has, and its metadata."""
    with zipfile.ZipFile(built / f"{NAME}-py3-none-any.whl") as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert found == {name for name in members if name.startswith("hatch_cuda_kernels/")}


def test_builds_are_the_same_from_the_sdist(built, tmp_path):
    """Built again elsewhere, from the unpacked sdist, which knows its version, both have the same bytes."""
    elsewhere = shutil.copytree(built / NAME, tmp_path / "another" / "place", symlinks=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path, elsewhere)
    for name in (f"{NAME}.tar.gz", f"{NAME}-py3-none-any.whl"):
        assert (tmp_path / name).read_bytes() == (built / name).read_bytes()


def test_the_sdist_can_be_tested(built):
    """The unpacked sdist has what tests take: docs, examples and conformance files."""
    conformance = "tests/runtime/test_conformance.py::test_the_files_are_what_the_script_writes"
    tests = ["tests/docs/test_pages.py", conformance, "tests/benchmarks/test_benchmarks.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *tests]
    done = subprocess.run(command, cwd=built / NAME, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_a_copy_without_git_builds(built, tmp_path):
    """A tree that tells no version has one all the same, below every release."""
    tree = shutil.copytree(built / NAME, tmp_path / "tree")
    (tree / "PKG-INFO").unlink()
    assert built_version(tree, tmp_path) == "0.1.0.dev0"


def test_an_archive_knows_its_tag(tmp_path, slow):
    """What git archives, which is what GitHub offers for download, has the version of the tag."""
    if shutil.which("git") is None or not (REPOSITORY / ".git").exists():
        pytest.skip("needs git and a checkout")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    run("git", "clone", "--quiet", "--depth=1", f"file://{REPOSITORY}", tmp_path / "clone")
    run(*git, "tag", "--annotate", "v7.8.9rc1", "--message", "candidate", cwd=tmp_path / "clone")
    run("git", "archive", "--output", tmp_path / "tree.tar", "HEAD", cwd=tmp_path / "clone")
    with tarfile.open(tmp_path / "tree.tar") as archive:
        archive.extractall(tmp_path / "tree", filter="data")
    assert built_version(tmp_path / "tree", tmp_path) == "7.8.9rc1"


def built_version(tree, out):
    """Return the version of the wheel that a tree gives."""
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, tree)
    [wheel] = out.glob("hatch_cuda_kernels-*-py3-none-any.whl")
    return wheel.name.split("-")[1]
