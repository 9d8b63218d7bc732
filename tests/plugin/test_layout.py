"""Where the store goes in every layout that hatchling ships: beside the package's own files, in tree and in wheel."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

PYPROJECT = """
[build-system]
requires = ["hatchling", "hatch-cuda-kernels[build]"]
build-backend = "hatchling.build"
[project]
name = "{name}"
version = "1.0"
[tool.hatch.build.targets.wheel]
{wheel}
[tool.hatch.build.hooks.cuda-kernels]
{hook}
"""
MANIFEST = "{schema: 1, arches: [sm_90], modules: {a: {source: a.cu}}}"
IMAGE = "_kernels/a/a.sm_90.cubin"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return a function that lays out a project with these Python files and changes into it."""

    def lay_out(*python, name="mylib", wheel="", hook=""):
        texts = {
            "pyproject.toml": PYPROJECT.format(name=name, wheel=wheel, hook=hook),
            "kernels.yaml": MANIFEST,
            "a.cu": 'extern "C" __global__ void a() {}\n',
            **dict.fromkeys(python, ""),
        }
        for file, text in texts.items():
            path = tmp_path / "p" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        monkeypatch.chdir(tmp_path / "p")
        return tmp_path / "p"

    return lay_out


def build(root, version="standard", builder=WheelBuilder):
    """Build an artifact and return its path."""
    return Path(next(builder(str(root)).build(directory=str(root / "dist"), versions=[version])))


def image_in_wheel(root):
    """Return the path of the one image in the project's wheel."""
    with zipfile.ZipFile(build(root)) as archive:
        [found] = [name for name in archive.namelist() if name.endswith(".cubin")]
        return found


def image_in_tree(root):
    """Return the path of the one image that an editable install leaves in the project."""
    build(root, "editable")
    [found] = root.rglob("*.cubin")
    return found.relative_to(root).as_posix()


LAYOUTS = {
    "flat": (["mylib/__init__.py"], {}, "mylib", "mylib"),
    "src": (["src/mylib/__init__.py"], {}, "src/mylib", "mylib"),
    "src beside a folder of that name": (["mylib/notes.txt", "src/mylib/__init__.py"], {}, "src/mylib", "mylib"),
    "capital letters": (["MyLib/__init__.py"], {"name": "MyLib"}, "MyLib", "MyLib"),
    "capital letters, listed": (
        ["MyLib/__init__.py"], {"name": "my-lib", "wheel": 'packages = ["MyLib"]', "hook": 'package = "MyLib"'},
        "MyLib", "MyLib",
    ),
    "another folder": (
        ["python/mylib/__init__.py"], {"wheel": 'packages = ["python/mylib"]'}, "python/mylib", "mylib",
    ),
    "another name than the project": (["core/__init__.py"], {"wheel": 'packages = ["core"]'}, "core", "core"),
    "the one of two packages that is called like the project": (
        ["mylib/__init__.py", "aaa/__init__.py"], {"wheel": 'packages = ["aaa", "mylib"]'}, "mylib", "mylib",
    ),
    "one of two packages, named": (
        ["b/__init__.py", "a/__init__.py"], {"wheel": 'packages = ["a", "b"]', "hook": 'package = "b"'}, "b", "b",
    ),
    "renamed by sources": (
        ["lib/core/__init__.py"],
        {"wheel": 'only-include = ["lib/core"]\n[tool.hatch.build.targets.wheel.sources]\n"lib/core" = "mylib"'},
        None, "mylib",
    ),
    "prefixed by sources": (
        ["core/__init__.py"],
        {"wheel": 'packages = ["core"]\n[tool.hatch.build.targets.wheel.sources]\n"" = "mylib"', "name": "mylib-core"},
        None, "mylib/core",
    ),
    "dropped by sources": (
        ["lib/mylib/__init__.py"], {"wheel": 'only-include = ["lib"]\nsources = ["lib"]'}, "lib/mylib", "mylib",
    ),
    "found by a pattern": (
        ["lib/mylib/__init__.py"], {"wheel": 'include = ["lib/**/*.py"]\nsources = ["lib"]'}, "lib/mylib", "mylib",
    ),
    "namespace": (["acme/mylib/__init__.py"], {}, "acme/mylib", "acme/mylib"),
    "deep namespace": (
        ["src/acme/cloud/mylib/__init__.py"], {"wheel": 'packages = ["src/acme"]', "name": "acme-cloud-mylib"},
        "src/acme/cloud/mylib", "acme/cloud/mylib",
    ),
    "package without __init__.py": (["mylib/code.py"], {"wheel": 'packages = ["mylib"]'}, "mylib", "mylib"),
    "package inside the package": (
        ["src/mylib/__init__.py", "src/mylib/gpu/__init__.py"], {"hook": 'package = "mylib.gpu"'},
        "src/mylib/gpu", "mylib/gpu",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("python", "settings", "tree", "wheel"), LAYOUTS.values(), ids=LAYOUTS.keys())
def test_the_store_lies_in_the_package(project, python, settings, tree, wheel):
    """The wheel has the store where the import finds it, and so has the tree of an editable install."""
    root = project(*python, **settings)
    assert image_in_wheel(root) == f"{wheel}/{IMAGE}"
    if tree is not None:  # editable installs cannot rename
        assert image_in_tree(root) == f"{tree}/{IMAGE}"
        assert image_in_wheel(root) == f"{wheel}/{IMAGE}"


@pytest.mark.parametrize("layout", ["src", "another folder", "namespace"])
def test_the_sdist_leaves_the_store_out(project, layout):
    """The sdist finds the package as the wheel does, to leave its editable store out."""
    import tarfile

    python, settings, *_ = LAYOUTS[layout]
    root = project(*python, **settings)
    build(root, "editable")
    with tarfile.open(build(root, builder=SdistBuilder)) as archive:
        names = archive.getnames()
    assert any(name.endswith("a.cu") for name in names)
    assert not any("_kernels" in name for name in names)


REFUSED = {
    "several packages": (
        ["one/__init__.py", "two/__init__.py"], {"wheel": 'packages = ["one", "two"]'},
        "the wheel has the packages one, two; name the one that gets the kernels with option `package`",
    ),
    "no package": (
        [], {"wheel": 'include = ["a.cu"]'},
        "the wheel has no Python package, and kernels need one to be in: make mylib/__init__.py",
    ),
    "no such package": (
        ["mylib/__init__.py"], {"hook": 'package = "mylib.gpu"'},
        "the wheel has no package mylib.gpu, only mylib; name the one that gets the kernels with option `package`",
    ),
    "somebody's own folder": (
        ["mylib/__init__.py", "mylib/_kernels/__init__.py"], {}, "mylib/_kernels is not a kernel store",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("python", "settings", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_unclear_is_asked(project, capsys, python, settings, message):
    """Where no package or more than one could get the store, or its place is taken, the build says what to write."""
    root = project(*python, **settings)
    for builder, version in ((WheelBuilder, "standard"), (WheelBuilder, "editable"), (SdistBuilder, "standard")):
        with pytest.raises(SystemExit) as caught:
            build(root, version, builder)
        assert caught.value.code == 2
        assert message in capsys.readouterr().err


def test_somebodys_own_folder_is_never_cleaned(project, capsys):
    """``hatch clean`` removes stores, not a folder that happens to have their name."""
    root = project("mylib/__init__.py", "mylib/_kernels/mine.py")
    with pytest.raises(SystemExit):
        list(WheelBuilder(str(root)).build(directory=str(root / "dist"), clean_only=True))
    assert "mylib/_kernels is not a kernel store" in capsys.readouterr().err
    assert (root / "mylib/_kernels/mine.py").is_file()


def test_clean_without_a_package_has_nothing_to_do(project):
    """A project without a package folder can be cleaned."""
    root = project(wheel='include = ["a.cu"]')
    assert list(WheelBuilder(str(root)).build(directory=str(root / "dist"), clean_only=True)) == []


@pytest.mark.slow
@pytest.mark.parametrize("link", ["package", "checkout", "parent"])
def test_an_edit_is_seen_through_links(project, tmp_path, link, fresh_cache):
    """With a linked checkout or package folder, the store still finds the project's sources, and sees an edit."""
    from hatch_cuda_kernels import open_store

    root = place = project("mylib/__init__.py")
    if link == "package":
        (tmp_path / "deep" / "er").mkdir(parents=True)
        (root / "mylib").rename(tmp_path / "deep" / "er" / "mylib")
        (root / "mylib").symlink_to(tmp_path / "deep" / "er" / "mylib")
    elif link == "checkout":
        place = tmp_path / "link"
        place.symlink_to(root)
    else:
        (tmp_path / "a" / "b").mkdir(parents=True)
        (tmp_path / "a" / "b" / "link").symlink_to(tmp_path)
        place = tmp_path / "a" / "b" / "link" / "p"
    build(place, "editable")
    for package in (place / "mylib", root / "mylib"):
        assert open_store(package).find_image("a", arch="sm_90").origin == "prebuilt"
    (root / "a.cu").write_text('extern "C" __global__ void a() { /* edited */ }\n')
    assert open_store(place / "mylib").find_image("a", arch="sm_90").origin == "jitted"
