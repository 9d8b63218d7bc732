"""Calls of kernels that run on XLA's CPU."""

from __future__ import annotations

import pytest
from cpu_kernels import CpuTarget, array_at, operator_kernel

SAXPY = "float* y, const float* x, unsigned int n, float a"


def add_scaled(_, y, x, n, a):
    """Do what saxpy does."""
    array_at(y, n)[:] += a * array_at(x, n)


@pytest.fixture(scope="session")
def jax():
    """Return JAX, or skip the test."""
    return pytest.importorskip("jax", reason="needs jax: pip install jax")


@pytest.fixture
def make(jax, request):
    """Return the function that makes a call of a kernel and the target that it goes to.

    Each test has its own kernels: a handler is registered for the rest of the process.
    """
    from hatch_cuda_kernels.operators.jax.call import JaxCall

    def make(declarations=SAXPY, run=add_scaled, *, out=(), aliases=(), vmap="sequential", name="saxpy", **sizes):
        kernel = operator_kernel(name, declarations, identity=(request.node.nodeid, repr(sorted(sizes))), **sizes)
        target = CpuTarget(kernel, run)
        return JaxCall(kernel, out=dict(out), aliases=dict(aliases), vmap=vmap, target=target), target

    return make


@pytest.fixture
def saxpy(make):
    """Return saxpy, which updates y in place, and its target."""
    return make(aliases={"y": "y"}, grid=lambda args: -(-args["n"] // 256), block=256)
