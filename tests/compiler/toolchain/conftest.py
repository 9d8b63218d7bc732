"""Fixtures of the tests of toolchains."""

from __future__ import annotations

import pytest

from hatch_cuda_kernels.compiler.toolchain import libraries


@pytest.fixture(autouse=True)
def files_are_settled(monkeypatch):
    """Let what is known of files be remembered though these tests have written them just before."""
    monkeypatch.setattr(libraries, "_TICKS_NS", 0)
