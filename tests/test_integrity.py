"""Shapes of JSON data: what fits, and how the place that does not is named."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from hatch_cuda_kernels.integrity import check_shape, file_name, inner_path, sha256
from hatch_cuda_kernels.runtime.launch.values import counts_as

FITS = [
    ("text é", str), (1, int), (True, bool), ({"any": []}, dict), (None, None), (9, range(10)), ("b", frozenset("ab")),
    ("a", (str, None)), (None, (str, None)), ([], [str]), (["a", "b"], [str]), ({}, {str: int}), ({"x": 1}, {str: int}),
    ({"a": 1}, {"a": int, "b?": str}), ({"a": 1, "b": "", "c": 0}, {"a": int, "b?": str}), ("a b.c", file_name),
    ("a/b.c", inner_path), ("ab:c/..d", inner_path), ([[("x")], "y"], [([str], str)]),
]  # fmt: skip
MISFITS = [
    (1, str, "the file"), (True, int, "the file"), ([], dict, "the file"), (10, range(10), "the file"),
    (1.0, range(10), "the file"), ("c", frozenset("ab"), "the file"), (["a"], frozenset("ab"), "the file"),
    ("\0", str, "the file"), ("\ud800", str, "the file"), ("x\ud800", (str, None), "the file"),
    ([1, "a"], [int], "[1]"), ({"a": {"b": [0, None]}}, {"a": {"b": [int]}}, "a.b[1]"), ({}, {"a": None}, "a"),
    ({"x": "1"}, {str: int}, "x"), ({"../x": 1}, {inner_path: int}, "'../x'"), ({"b": 1}, {"b?": str}, "b"),
    ("", file_name, "the file"), (".", file_name, "the file"), ("..", file_name, "the file"),
    ("a/b", file_name, "the file"), ("a\\b", file_name, "the file"), ("/a", inner_path, "the file"),
    ("\\a", inner_path, "the file"), ("C:a", inner_path, "the file"), ("a/../b", inner_path, "the file"),
    ("a\\..\\b", inner_path, "the file"), (["a"], inner_path, "the file"), (None, file_name, "the file"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "shape"), FITS)
def test_what_fits_passes(data, shape):
    """Each kind of shape takes its data."""
    check_shape(data, shape)


@pytest.mark.parametrize(("data", "shape", "place"), MISFITS)
def test_what_does_not_fit_is_named(data, shape, place):
    """The error says where in the data the first misfit is."""
    with pytest.raises(ValueError, match="is missing or damaged") as caught:
        check_shape(data, shape)
    assert str(caught.value) == f"{place} is missing or damaged"


def test_what_another_thread_is_importing_is_not_used(monkeypatch):
    """A module is in sys.modules before it has its names: digests and numbers are read without it."""
    for name in ("hashlib", "numbers"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    assert sha256(b"").hexdigest().startswith("e3b0c44298fc1c14")
    assert counts_as(bool, "Integral", int)
    assert not counts_as(str, "Integral", int)
