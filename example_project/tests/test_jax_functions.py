"""The functions of JAX: what they trace to, which takes no device, and what they compute on one."""

from __future__ import annotations

import importlib
import os

import numpy as np
import pytest

from example_project import TILE, reference
from example_project._checks import error_of

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # other tests need memory, too
jax = pytest.importorskip("jax", reason="needs jax: pip install .[jax]")
functions = importlib.import_module("example_project.jax_functions")


@pytest.fixture
def gpu(device):  # noqa: ARG001  (skips without a device)
    """Skip where JAX sees no device."""
    if jax.default_backend() != "gpu":
        pytest.skip("jax sees no GPU here")


def aval(*shape, dtype="float32"):
    """Return what an array is like."""
    return jax.ShapeDtypeStruct(shape, dtype)


@pytest.mark.parametrize(
    ("name", "given", "result"),
    [
        ("softmax", [aval(7, 100, dtype="float16")], aval(7, 100, dtype="float16")),
        ("softmax", [aval(7, 1000, dtype="float16")], aval(7, 1000, dtype="float16")),
        ("sort_tiles", [aval(3000, dtype="uint32")], aval(3000, dtype="uint32")),
        ("block_sums", [aval(5000)], aval(20)),
        ("block_sums", [aval(0)], aval(1)),
        ("total", [aval(5000)], aval()),
    ],
)
def test_what_is_traced(name, given, result):
    """Shapes and dtypes of results follow from those of the arguments."""
    assert jax.eval_shape(getattr(functions, name), *given) == result


def test_a_gradient_is_traced():
    """Softmax has one; it is as large as what it is the gradient of."""
    x = aval(7, 100, dtype="float16")
    assert jax.eval_shape(jax.grad(lambda x: functions.softmax(x).astype("float32").sum()), x) == x


def test_a_wrong_dtype_is_found_while_tracing():
    """By the kernel's types, or by there being no kernel."""
    with pytest.raises(Exception, match=r"argument 0 \(x\) of softmax<32> is const __half\*, got float32\[7,100\]"):
        jax.eval_shape(functions.softmax, aval(7, 100))
    with pytest.raises(TypeError, match="x must be int32 or uint32 or float32, not int8"):
        jax.eval_shape(functions.sort_tiles, aval(7, dtype="int8"))


@pytest.mark.usefixtures("gpu")
def test_saxpy(random):
    """Inside a compiled function, in place of an array that is given away."""
    x, y = random.standard_normal((2, 10_000), dtype=np.float32)
    run = jax.jit(lambda x, y: functions.saxpy(-1.5, x, y), donate_argnums=1)
    assert error_of(np.asarray(run(x, jax.numpy.asarray(y))), reference.saxpy(-1.5, x, y)) <= 1e-6


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("shape", [(0, 5), (1, 7), (65, 513), (300, 100)])
def test_softmax(random, shape):
    """Rows of any length."""
    x = (6 * random.standard_normal(shape)).astype(np.float16)
    assert error_of(np.asarray(jax.jit(functions.softmax)(x)), reference.softmax(x)) <= 1e-3


@pytest.mark.usefixtures("gpu")
def test_the_gradient_of_softmax(random):
    """As JAX's own softmax has it; also over a batch."""
    x, weights = (random.standard_normal((3, 17, 100)).astype(np.float16) for _ in range(2))

    def gradient(softmax):
        return jax.jit(jax.vmap(jax.grad(lambda x, w: (softmax(x) * w).astype("float32").sum())))(x, weights)

    expected = gradient(lambda x: jax.nn.softmax(x.astype("float32")).astype("float16"))
    assert error_of(np.asarray(gradient(functions.softmax)), np.asarray(expected)) <= 2e-2


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.float32])
def test_sort_tiles(random, dtype):
    """Each tile, and a short last one."""
    x = random.integers(0, 1 << 30, 5000).astype(dtype)
    assert np.array_equal(np.asarray(jax.jit(functions.sort_tiles)(x)), reference.sort_tiles(x, TILE))


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("size", [0, 1, 255, 100_003])
def test_total(random, size):
    """The total is right at any size, and has the same bits twice."""
    x = random.random(size, dtype=np.float32)
    results = [np.asarray(jax.jit(functions.total)(x)) for _ in range(2)]
    assert error_of(results[0], reference.total(x)) <= 1e-6
    assert results[0].tobytes() == results[1].tobytes()
