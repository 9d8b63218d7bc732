"""A project that is built once for the tests of a file: each has a copy of it, of its store and of its cache."""

from __future__ import annotations

import shutil
from contextlib import contextmanager

import pytest

__all__ = ["copy_with_cache", "own_cache"]

_VARIABLE = "HATCH_CUDA_KERNELS_CACHE_DIR"


@contextmanager
def own_cache(folder):
    """Compile into a cache in this folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(_VARIABLE, str(folder / "cache"))
        yield


def copy_with_cache(folder, copy, monkeypatch):
    """Return a copy of a folder whose cache is the one that this test uses."""
    shutil.copytree(folder, copy)
    monkeypatch.setenv(_VARIABLE, str(copy / "cache"))
    return copy
