"""The example project's functions of JAX, traced on a machine without a device."""

from __future__ import annotations

import importlib
import sys

import pytest
from front_ends import EXAMPLE

import hatch_cuda_kernels
from hatch_cuda_kernels import open_store
from hatch_cuda_kernels.errors import ArgumentError


@pytest.fixture
def functions(jax, whole_example_store, monkeypatch):
    """Return the module of the example project that declares its calls."""
    store = open_store(whole_example_store)
    monkeypatch.setattr(hatch_cuda_kernels, "open_store", lambda _: store)
    monkeypatch.syspath_prepend(EXAMPLE)
    yield importlib.import_module("example_project.jax_functions")
    for name in [name for name in sys.modules if name.partition(".")[0] == "example_project"]:
        del sys.modules[name]


def test_shapes_and_dtypes_of_results(jax, functions):
    """They follow from those of the arguments, of gradients too."""
    half, keys, numbers = (
        jax.ShapeDtypeStruct((7, 1000), "float16"),
        jax.ShapeDtypeStruct((3000,), "uint32"),
        jax.ShapeDtypeStruct((5000,), "float32"),
    )
    gradient = jax.grad(lambda x: functions.softmax(x).astype("float32").sum())
    assert jax.eval_shape(functions.softmax, half) == jax.eval_shape(gradient, half) == half
    assert jax.eval_shape(functions.sort_tiles, keys) == keys
    assert jax.eval_shape(lambda x: functions.saxpy(2.0, x, x), numbers) == numbers
    assert jax.eval_shape(functions.block_sums, numbers).shape == (20,)
    assert jax.eval_shape(functions.total, numbers).shape == ()


def test_wrong_dtypes(jax, functions):
    """They are found by the kernel's types, or by there being no kernel."""
    x = jax.ShapeDtypeStruct((7, 100), "float32")
    with pytest.raises(ArgumentError, match=r"argument 0 \(x\) of softmax<32> is const __half\*, got float32\[7,100\]"):
        jax.eval_shape(functions.softmax, x)
    with pytest.raises(TypeError, match="x must be int32 or uint32 or float32, not float16"):
        jax.eval_shape(functions.sort_tiles, jax.ShapeDtypeStruct((3,), "float16"))
