"""Writing a store: nobody's files are lost, what was compiled is what is shipped, all or nothing."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.build import build_store
from hatch_cuda_kernels.errors import BuildError, InputError
from hatch_cuda_kernels.manifest import load_manifest
from hatch_cuda_kernels.store.writer import check_replaceable, workspace

ONE = "{schema: 1, arches: [sm_90], modules: {a: {source: saxpy.cu}}}"


def build(root, out, **options):
    """Build a project's manifest."""
    return build_store(load_manifest(root / "kernels.yaml"), out, **options)


def files(folder):
    """Return every file below a folder with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_with_other_files_is_never_replaced(make_project, tmp_path, fresh_cache):
    """A mistyped --out is an error before anything is compiled, and the folder keeps what it has."""
    out = tmp_path / "thesis"
    (out / "chapter").mkdir(parents=True)
    (out / "chapter" / "one.txt").write_text("years of work")
    with pytest.raises(InputError, match=r"thesis is not a kernel store: it has files, but no kernels.tsv"):
        build(make_project(ONE), out)
    assert files(out) == {"chapter/one.txt": b"years of work"}
    assert not fresh_cache.exists()


def test_a_file_is_no_folder(tmp_path):
    """A file where the store should be is named."""
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError, match="out cannot hold a kernel store: Not a directory"):
        check_replaceable(tmp_path / "out")


def test_empty_folders_and_stores_are_replaced(make_project, tmp_path):
    """An empty folder becomes a store, and a store the next one."""
    (tmp_path / "out").mkdir()
    root = make_project(ONE)
    for _ in range(2):
        build(root, tmp_path / "out")
        assert "a/a.sm_90.cubin" in files(tmp_path / "out")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
@pytest.mark.parametrize("mask", [0o077, 0o022])
def test_a_store_is_readable_by_whom_the_umask_says(mask, make_project, tmp_path):
    """As what any compiler writes: nobody else may enter what a umask of 077 hides, and no mode is made wider."""
    before = os.umask(mask)
    try:
        build(make_project(ONE), tmp_path / "out")
    finally:
        os.umask(before)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out", *(tmp_path / "out").rglob("*"))}
    assert modes == {path: (0o777 if path.is_dir() else 0o666) & ~mask for path in modes}


def edit(path):
    """Add a comment to a source."""
    path.write_text(path.read_text() + "// edited\n")


def states(folder):
    """Return what tells of each file and folder whether it was written."""
    found = ((path, path.stat()) for path in (folder, *folder.rglob("*")))
    return {path: (state.st_ino, state.st_mtime_ns, state.st_ctime_ns) for path, state in found}


def test_a_store_that_would_be_the_same_is_not_touched(make_project, tmp_path):
    """What watches it, or copies what is newer, sees nothing new after a rebuild."""
    root, out = make_project(ONE), tmp_path / "out"
    build(root, out)
    before = states(out)
    build(root, out)
    assert states(out) == before
    edit(root / "saxpy.cu")
    build(root, out)
    assert (out / "project.source/saxpy.cu").read_bytes() == (root / "saxpy.cu").read_bytes()


def link(path):
    """Move a file elsewhere and link to it."""
    path.rename(path.parents[2] / path.name)
    path.symlink_to(path.parents[2] / path.name)


CHANGES = {
    "edited": lambda out: (out / "a/index.json").write_text(" "),
    "removed": lambda out: (out / "a/index.json").unlink(),
    "added": lambda out: (out / "a/notes.txt").write_text(""),
    "linked": lambda out: link(out / "a/index.json"),
    "link added": lambda out: (out / "a/link").symlink_to("index.json"),
    "link of nothing added": lambda out: (out / "a/link").symlink_to("nothing"),
    "link to a folder added": lambda out: (out / "link").symlink_to("a"),
    "empty folder added": lambda out: (out / "old").mkdir(),
    "empty folders added": lambda out: (out / "project.source/old/older").mkdir(parents=True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_store_in_which_something_changed_is_written_anew(make_project, tmp_path, change):
    """A rebuild gives what a first build gives, and leaves nothing beside it."""
    root, out = make_project(ONE), tmp_path / "out"
    build(root, out)
    before, there = files(out), sorted(out.rglob("*"))
    CHANGES[change](out)
    build(root, out)
    assert files(out) == before
    assert sorted(out.rglob("*")) == there
    assert not any(path.is_symlink() for path in there)


class Editor:
    """A progress display that edits a file when the compiles start."""

    def __init__(self, path):
        self.path = path

    def start(self, total):
        """Edit."""
        edit(self.path)

    def done(self, job, seconds):
        """Do nothing."""

    def finish(self):
        """Do nothing."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["saxpy.cu", "h.h"])
def test_a_source_that_changes_meanwhile_fails_the_build(make_project, tmp_path, fresh_cache, name):
    """The store never ships a source that its images were not compiled from."""
    root = make_project(ONE, **{"h.h": ""})
    (root / "saxpy.cu").write_text('#include "h.h"\n' + (root / "saxpy.cu").read_text())
    with pytest.raises(BuildError, match=f"{name} changed while it was built; build again"):
        build(root, tmp_path / "out", progress=Editor(root / name))
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".out*"))


def test_a_place_that_cannot_be_written_is_an_error_of_the_build(make_project, tmp_path):
    """What the system says about the folder is in the message."""
    (tmp_path / "file").write_text("")
    with pytest.raises(BuildError, match=r"cannot write the store .*/file/out: .*file"):
        build(make_project(ONE), tmp_path / "file" / "out")


@pytest.mark.parametrize("error", [OSError("no"), KeyboardInterrupt()], ids=["refused", "ctrl-c"])
def test_a_store_that_cannot_be_put_in_place_leaves_the_old_one(make_project, tmp_path, monkeypatch, error):
    """When the last rename fails, the old store is back and nothing else is left."""
    root, out = make_project(ONE), tmp_path / "out"
    build(root, out)
    before = files(out)
    rename = Path.rename

    def fail(self, target):
        if target == out and self.name != "old":
            raise error
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    edit(root / "saxpy.cu")
    with pytest.raises((BuildError, KeyboardInterrupt)):
        build(root, out)
    assert files(out) == before
    assert not list(tmp_path.glob(".out*"))


@pytest.mark.slow
def test_what_modules_share_is_stored_once(tmp_path, fresh_cache):
    """Modules and chunks ship one copy of a file, and each compiles what its own index lists."""
    for name, text in {
        "kernels.yaml": """
            schema: 1
            arches: [sm_90]
            options: {include: [include]}
            modules:
              a: {source: src/a.cu}
              b: {source: src/b.cu, instances: ["b<1>", "b<2>"], chunk: 1}
              own: {source: src/own.cu}
            """,
        "include/shared.h": "#define VALUE 7\n",
        "src/a.cu": "#include <shared.h>\n__global__ void a(int* y) { *y = VALUE; }\n",
        "src/b.cu": "#include <shared.h>\ntemplate <int I> __global__ void b(int* y) { *y = I * VALUE; }\n",
        "src/own.cu": "#if __has_include(<shared.h>)\n#endif\n__global__ void own(int* y) { *y = 1; }\n",
        "src/shared.h": "#error not this one\n",
    }.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    build(tmp_path / "project", tmp_path / "out")
    shipped = [name for name in files(tmp_path / "out") if name.endswith((".h", ".cu"))]
    assert sorted(shipped) == [
        f"project.source/{name}" for name in ("include/shared.h", "src/a.cu", "src/b.cu", "src/own.cu")
    ]
    store = open_store(tmp_path / "out")
    assert [store.find_image(kernel, arch="sm_80").origin for kernel in ("a", "b<1>", "b<3>", "own")] == ["jitted"] * 4


KILLS = Path(__file__).parents[1] / "support" / "staging_kills.py"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_killed_at_any_step(tmp_path):
    """Also on the way in, before there is a lock, and on the way out, when half of the folder is removed."""
    done = subprocess.run([sys.executable, KILLS, tmp_path / "parent"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10


def test_a_folder_that_another_process_takes_for_a_dead_ones(tmp_path, monkeypatch):
    """A new folder is empty until it is locked: whoever finds it then removes it, and the next one is taken."""
    made = []

    def mkdtemp(prefix, dir):  # noqa: A002 - tempfile's name
        made.append(tmp_path / f"{prefix}{len(made)}")
        if len(made) > 1:
            made[-1].mkdir()
        return str(made[-1])

    monkeypatch.setattr("hatch_cuda_kernels.store.writer.tempfile.mkdtemp", mkdtemp)
    with workspace(tmp_path, "new.") as folder:
        assert folder == tmp_path / "new.1"
    assert not folder.exists()
