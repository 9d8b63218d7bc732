"""The corpus: what a repository's build would add to its checkout is added as the list says, and nothing else."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

CORPUS = Path(__file__).parents[2] / "benchmarks/corpus"
LIST = """\
[repositories."a/b"]
commit = "0"
field = "x"
folders = ["src"]
include = ["src", "third/lib"]
needs = {"third/lib" = "headers/lib"}
empty = ["src/names.h"]
configured."src/config.h" = {from = "config.in", WITH_GPU = true, SIZE = 4}
"""
TEMPLATE = "#cmakedefine WITH_GPU\n  #cmakedefine01 WITH_MPI\n#cmakedefine LEVEL ${LEVEL}\n#define SIZE @SIZE@\n"
CONFIGURED = "#define WITH_GPU\n  #define WITH_MPI 0\n/* #undef LEVEL */\n#define SIZE 4\n"


@pytest.fixture
def sources(monkeypatch):
    """Return the module that reads the list."""
    monkeypatch.syspath_prepend(str(CORPUS))
    monkeypatch.delitem(sys.modules, "sources", raising=False)
    return importlib.import_module("sources")


def test_headers_are_added_below_one_folder(tmp_path, sources):
    """Those of others are copied, those that configure writes are written; includes are looked for there, too."""
    (tmp_path / "list.toml").write_text(LIST)
    root = tmp_path / "a+b"
    for path in ("a+b/src/k.cu", "headers/lib/lib.h", "headers/lib/lib.cu"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("__global__ void k() {}\n")
    (root / "config.in").write_text(TEMPLATE)
    (entry,) = sources.load_list(tmp_path / "list.toml")
    before = {path for path in root.rglob("*") if path.is_file()}
    importlib.import_module("prepared").prepare(entry, tmp_path)
    added = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file() and path not in before}
    assert added == {".corpus/third/lib/lib.h", ".corpus/src/names.h", ".corpus/src/config.h"}
    assert (root / ".corpus/src/config.h").read_text() == CONFIGURED
    assert entry.include_of("src/k.cu", root) == ("src", ".corpus/src", ".corpus/third/lib")
    assert sources.kernel_sources(entry, root) == ["src/k.cu"]


def test_the_list_can_be_read(sources):
    """Each repository has what the runner asks for."""
    entries = sources.load_list()
    assert len(entries) > 50
    assert all(len(entry.commit) == 40 and entry.folders for entry in entries)
