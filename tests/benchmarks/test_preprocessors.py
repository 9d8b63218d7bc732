"""The comparison of preprocessors says where readings are equal, and where they are not."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from argparse import Namespace
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SOURCE = """
#include "own.h"
#define TWICE(x) x x
#ifdef __CUDACC_RTC__
TWICE(int) a;
#elif defined(__GNUC__)
TWICE(long) b;
#endif
#if __has_include(<cuda_fp16.h>) || OWN
/* a */ char c = TWICE("s");
#endif
"""


@pytest.fixture
def preprocessors(monkeypatch):
    """Return the module of the comparison, which does not lower the priority of the tests."""
    monkeypatch.setattr("os.nice", lambda _: 0)
    spec = importlib.util.spec_from_file_location("benchmarks_preprocessors", BENCHMARKS / "preprocessors.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # another module of the tests has its plain name
    spec.loader.exec_module(module)
    return module


def compared(preprocessors, what, folder, *folders):
    """Return the result of one file."""
    (folder / "list.txt").write_text(" ".join(map(str, (folder / "k.cu", *folders))))
    given = Namespace(given=folder / "list.txt", out=folder / "out.jsonl")
    getattr(preprocessors, what)(given)
    return json.loads(given.out.read_text())


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None or shutil.which("nvcc") is None, reason="needs gcc and nvcc")
def test_the_same_reading_is_equal(preprocessors, tmp_path):
    """Branches, tokens, definitions and strings are the same for all, also where the package does not know a value."""
    (tmp_path / "k.cu").write_text(SOURCE)
    found = compared(preprocessors, "files_alone", tmp_path)
    assert [found[name]["outcome"] for name in ("gcc", "nvcc", "nvrtc")] == ["equal"] * 3
    assert found["gcc"]["conditions"] == {"decided": 2, "unknown": 1}


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc, to compare with")
def test_what_is_included_is_read_as_gcc_reads_it(preprocessors, tmp_path):
    """A header's macros hold behind its include; one that is nowhere is left out for both."""
    (tmp_path / "k.cu").write_text(SOURCE + "#include <nowhere.h>\n")
    (tmp_path / "own.h").write_text("#pragma once\n#define OWN 1\n")
    found = compared(preprocessors, "closures", tmp_path)
    assert (found["outcome"], found["missing"], found["files"]) == ("equal", 1, 1)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc, to compare with")
def test_another_reading_is_told(preprocessors, tmp_path, monkeypatch):
    """A macro that one side knows alone shows as another branch, with its line."""
    (tmp_path / "k.cu").write_text(SOURCE)
    known = dict(preprocessors._gcc_macros())
    del known["__GNUC__"]
    monkeypatch.setattr(preprocessors, "_gcc_macros", lambda: known)
    found = compared(preprocessors, "closures", tmp_path)
    assert (found["outcome"], found["kind"]) == ("different", "branch")
