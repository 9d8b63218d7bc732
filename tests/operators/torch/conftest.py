"""Operators on the CPU: torch checks and compiles them as it does those of a device."""

from __future__ import annotations

from itertools import count

import pytest

NUMBERS = count()


@pytest.fixture
def namespace():
    """Return a namespace that no other test uses, for torch forgets none."""
    return f"hatch_test_{next(NUMBERS)}"


@pytest.fixture
def make(namespace):
    """Return a function that registers kernels of Python as operators."""
    pytest.importorskip("torch", reason="torch is not installed")
    from hatch_cuda_kernels.operators.torch import make_operators

    def register(kernels, launcher, store="store", namespace=namespace, **options):
        return make_operators(kernels, namespace, store, launcher, options, device_key="CPU")

    return register
