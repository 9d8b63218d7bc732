"""``jax.vmap`` of a call: one call for each element, or one with the elements on an axis of the grid."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_kernels import array_at

from hatch_cuda_kernels.errors import LaunchError

N = 8
SCALE = "float* y, const float* x, const float* w, int n"


def scale(shape, y, x, w, n):
    """Do what a kernel does whose blockIdx.y, or blockIdx.z, counts the elements of a batch."""
    size = shape.grid[1] * shape.grid[2] * n
    array_at(y, size)[:] = array_at(x, size) * array_at(w, size)


@pytest.fixture(params=["sequential", "y", "z"])
def batched(make, request):
    """Return a call of each way, the way, and its target."""
    call, target = make(SCALE, scale, out={"y": "x"}, grid=3, vmap=request.param)
    return call, request.param, target


def test_one_axis(jax, batched):
    """Each way gives the same, one of them in a single launch."""
    call, way, target = batched
    x = jax.numpy.arange(4.0 * N).reshape(4, N)
    result = jax.jit(jax.vmap(lambda x, w: call(x, w, N), in_axes=(0, 0)))(x, 2 * x)
    np.testing.assert_array_equal(result, 2 * x * x)
    grids = {"sequential": 4 * [(3, 1, 1)], "y": [(3, 4, 1)], "z": [(3, 1, 4)]}
    assert [shape.grid for shape, _ in target.launched] == grids[way]


def test_an_array_that_is_not_mapped(jax, batched):
    """It is the same for all elements."""
    call, _, _ = batched
    x, w = jax.numpy.arange(4.0 * N).reshape(4, N), jax.numpy.arange(float(N))
    np.testing.assert_array_equal(jax.vmap(lambda x: call(x, w, N))(x), x * w)
    np.testing.assert_array_equal(jax.vmap(lambda w: call(x[0], w, N))(x), x[0] * x)


def test_axes_in_other_places(jax, batched):
    """The axis may be any, in and out."""
    call, _, _ = batched
    x = jax.numpy.arange(4.0 * N).reshape(N, 4)
    result = jax.vmap(lambda x, w: call(x, w, N), in_axes=(1, 1), out_axes=1)(x, x)
    np.testing.assert_array_equal(result, x * x)


def test_two_axes(jax, batched):
    """Nested maps make one batch."""
    call, way, target = batched
    x, w = jax.numpy.arange(6.0 * N).reshape(2, 3, N), jax.numpy.arange(2.0 * N).reshape(2, N)
    run = jax.vmap(lambda x, w: jax.vmap(lambda x: call(x, w, N))(x))
    np.testing.assert_array_equal(jax.jit(run)(x, w), x * w[:, None])
    assert len(target.launched) == (6 if way == "sequential" else 1)


def test_a_batch_of_none(jax, batched):
    """It gives an array without elements."""
    call, _, _ = batched
    assert jax.vmap(lambda x: call(x, x, N))(jax.numpy.zeros((0, N))).shape == (0, N)


def test_an_array_updated_in_place(jax, make):
    """A batch keeps its alias."""

    def add(shape, y, x, n):
        array_at(y, (shape.grid[1], n))[:] += array_at(x, (shape.grid[1], n))

    call, _ = make("float* y, const float* x, int n", add, aliases={"y": "y"}, vmap="y")
    y = jax.numpy.ones((5, N))
    np.testing.assert_array_equal(jax.jit(jax.vmap(lambda y: call(y, y, N)))(y), 2 * y)


def test_a_batch_that_no_grid_holds(jax, make):
    """CUDA takes 65,535 blocks on the axes y and z."""
    call, _ = make(SCALE, scale, out={"y": "x"}, vmap="y")
    with pytest.raises(LaunchError, match=r"saxpy: a batch of 65536 makes a grid of \(1, 65536, 1\) blocks"):
        jax.vmap(lambda x: call(x, x, N))(jax.numpy.zeros((65536, N)))


def test_with_a_gradient(jax, batched):
    """Gradients by ``custom_vjp`` are mapped, too."""
    call, _, _ = batched
    multiply = jax.custom_vjp(lambda x, w: call(x, w, N))
    multiply.defvjp(lambda x, w: (call(x, w, N), (x, w)), lambda saved, g: (call(g, saved[1], N), call(g, saved[0], N)))
    x, w = jax.numpy.arange(4.0 * N).reshape(4, N), jax.numpy.ones((4, N))
    gradient = jax.jit(jax.vmap(jax.grad(lambda x, w: multiply(x, w).sum(), argnums=1)))(x, w)
    np.testing.assert_array_equal(gradient, x)
