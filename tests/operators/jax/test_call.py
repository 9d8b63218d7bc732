"""What a call checks when it is traced, and what it computes."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
from cpu_kernels import array_at

from hatch_cuda_kernels.errors import ArgumentError, InputError, LaunchError
from hatch_cuda_kernels.runtime.launch.shapes import Shape

N = 1000


def test_a_call_inside_jit(jax, saxpy):
    """The kernel runs between other operations, with the grid of its rule; the array that it updates is not changed."""
    call, target = saxpy
    y, x = jax.numpy.arange(float(N)), jax.numpy.ones(N)
    result = jax.jit(lambda y, x: call(y * 1, x + 1, N, 2.0) + 1)(y, x)
    np.testing.assert_array_equal(result, np.arange(N) + 5)
    np.testing.assert_array_equal(call(y, x, n=N, a=2), np.arange(N) + 2)
    np.testing.assert_array_equal(y, np.arange(N))
    assert [shape for shape, _ in target.launched] == 2 * [Shape((4, 1, 1), (256, 1, 1), 0)]


def test_a_call_is_a_function_for_jit(jax, saxpy):
    """It can be compiled by itself: its arguments have names."""
    run = jax.jit(saxpy[0], static_argnames=("n", "a"))
    assert run(jax.numpy.zeros(N), jax.numpy.ones(N), n=N, a=2.0)[0] == 2
    assert run(jax.numpy.zeros(N), jax.numpy.ones(N), N, 3.0)[0] == 3


def test_loops_and_branches(jax, saxpy):
    """The kernel runs in control flow of XLA's."""
    call, _ = saxpy
    y, x = jax.numpy.zeros(N), jax.numpy.ones(N)

    @jax.jit
    def run(y, x, flag):
        y = jax.lax.fori_loop(0, 5, lambda _, y: call(y, x, N, 1.0), y)
        y, _ = jax.lax.scan(lambda y, _: (call(y, x, N, 1.0), None), y, length=3)
        return jax.lax.cond(flag, lambda y: call(y, x, N, 10.0), lambda y: y, y)

    assert run(y, x, True)[0] == 18
    assert run(y, x, False)[-1] == 8


def test_tracing_alone_launches_nothing(jax, saxpy):
    """Shapes and dtypes are known without a device."""
    call, target = saxpy
    y = jax.ShapeDtypeStruct((N,), "float32")
    assert jax.eval_shape(lambda y, x: call(y, x, N, 1.0), y, y) == y
    assert target.launched == []


def test_the_kernel_is_loaded_before_the_first_execution(jax, saxpy):
    """It is when the call is traced."""
    call, target = saxpy
    y = jax.ShapeDtypeStruct((N,), "float32")
    jax.jit(lambda y, x: call(y, x, N, 1.0)).trace(y, y)
    assert target.prepared == 1


def split(_, high, low, x, n):
    """Write what is above zero and what is below."""
    array_at(high, n)[:] = np.maximum(array_at(x, n), 0)
    array_at(low, n)[:] = np.minimum(array_at(x, n), 0)


def describe_low(args):
    """Describe an output as a function does."""
    import jax

    return jax.ShapeDtypeStruct(args["x"].shape, args["x"].dtype)


@pytest.mark.parametrize("low", ["x", describe_low, np.zeros(4, np.float32)])
def test_outputs(jax, make, low):
    """Outputs are described by an array's name, a function, or anything with shape and dtype; order is the kernel's."""
    call, _ = make("float* high, float* low, const float* x, int n", split, out={"low": low, "high": "x"})
    high, low = call(jax.numpy.array([1.0, -2.0, 3.0, -4.0]), 4)
    assert high.tolist() == [1, 0, 3, 0]
    assert low.tolist() == [0, -2, 0, -4]


def test_an_output_can_reuse_an_arguments_memory(jax, make):
    """With an alias, and where the caller gives the array away, nothing is copied."""
    where = []

    def double(_, y, x, n):
        where.append((y, x))
        array_at(y, n)[:] = 2 * array_at(x, n)

    call, _ = make("float* y, const float* x, int n", double, out={"y": "x"}, aliases={"x": "y"})
    given = jax.numpy.arange(64.0)
    address = given.unsafe_buffer_pointer()
    result = jax.jit(lambda x: call(x, 64), donate_argnums=0)(given)
    assert where == [(address, address)]
    assert given.is_deleted()
    assert result[5] == 10


def test_an_array_that_is_kept_is_copied(jax, saxpy):
    """What the caller goes on using does not change, alias or not."""
    call, _ = saxpy
    y = jax.numpy.zeros(N)
    run = jax.jit(lambda y: (call(y, y, N, 1.0), call(y + 1, y + 1, N, 1.0), y))
    results = [array[0].item() for array in run(y)]
    assert results == [0, 2, 0]


@contextmanager
def x64(jax):
    """Let JAX have 64-bit numbers; the functions for that differ between its versions."""
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def test_numbers_are_exact(jax, make):
    """Each number arrives as it was given, those that XLA's own attributes cannot hold too."""
    declarations = "double* y, unsigned long long u, long long s, float f, double d"
    with x64(jax):
        call, target = make(declarations, lambda *_: None, out={"y": jax.ShapeDtypeStruct((1,), "float64")})
        call(2**64 - 1, -(2**63), 0.1, 0.1)
    assert target.launched[0][1][1:] == [2**64 - 1, -(2**63), np.float32(0.1).item(), 0.1]


def test_new_shapes_and_numbers(jax, saxpy):
    """One handler serves them all."""
    call, target = saxpy
    run = jax.jit(lambda y, a: call(y, jax.numpy.ones_like(y), y.size, a), static_argnums=1)
    for n, a in ((10, 1.0), (1000, 1.0), (10, 2.5)):
        assert run(jax.numpy.zeros(n), a)[-1] == a
    assert len(target.entered) == 3


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("y", "x", N), "saxpy(y, x, n, a): missing a required argument: 'a'"),
        (("y", "i", N, 1.0), "argument 1 (x) of saxpy is const float*, got int32[1000]"),
        (("y", 3.0, N, 1.0), "argument 1 (x) of saxpy is const float*, got 3.0 (float)"),
        (("y", "x", -(2**31) - 1, 1.0), "argument 2 (n) of saxpy is unsigned int, got -2147483649 (int)"),
        (("y", "x", N, "a"), "argument 3 (a) of saxpy is float, got str"),
        (("y", "x", "n", 1.0), "argument 2 (n) of saxpy is unsigned int, passed by value, so it must be known when"),
    ],
)
def test_arguments_are_checked_when_traced(jax, saxpy, args, message):
    """What does not fit the signature is an error in the caller's code, under jit too."""
    call, target = saxpy
    arrays = {"y": jax.numpy.zeros(N), "x": jax.numpy.zeros(N), "i": jax.numpy.zeros(N, "int32"), "n": N}

    def run(arrays):
        return call(*(arrays.get(arg, arg) if isinstance(arg, str) else arg for arg in args))

    with pytest.raises(ArgumentError) as caught:
        jax.jit(run)(arrays)
    assert message in str(caught.value)
    assert target.launched == []


def test_a_bad_grid(jax, make):
    """A rule that gives no grid is an error of the launch."""
    call, _ = make(aliases={"y": "y"}, grid=lambda _: "many")
    with pytest.raises(LaunchError, match="saxpy: grid must be one to three integers"):
        call(jax.numpy.zeros(4), jax.numpy.zeros(4), 4, 1.0)


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({}, "saxpy writes to float* y: name it in out= if the call allocates it, in aliases={'y': 'y'} if it updates"),
        (
            {"out": {"z": "x"}},
            "saxpy has no parameter 'z'; its parameters are float* y, const float* x, unsigned int n",
        ),
        ({"out": {"x": "y", "y": "x"}}, "x of saxpy is const float*, which the kernel cannot write to"),
        ({"out": {"y": "x"}, "aliases": {"n": "y"}}, "aliases of saxpy: 'n' is not one of its arrays: x"),
        ({"out": {"y": "x"}, "aliases": {"x": "n"}}, "aliases of saxpy: 'n' is not one of its outputs: y"),
        ({"out": {"y": "x"}, "vmap": "w"}, "vmap of saxpy must be 'sequential', 'y' or 'z', not 'w'"),
    ],
)
def test_declarations_are_checked(make, declared, message):
    """What a kernel writes to must be declared, and nothing else can be."""
    with pytest.raises(InputError) as caught:
        make(**declared)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ("z", r"out\['y'\] of saxpy is 'z', not one of its arrays"),
        (lambda _: 3, r"out\['y'\] of saxpy must be the name of an array, a jax.ShapeDtypeStruct, or a function"),
        (np.zeros(3), r"out\['y'\] of saxpy is float\*, got float64\[3\]"),
    ],
)
def test_descriptions_of_outputs_are_checked(jax, make, y, message):
    """They are when they are used, for they may depend on the arguments."""
    call, _ = make(out={"y": y})
    with pytest.raises((InputError, ArgumentError), match=message):
        call(jax.numpy.zeros(3), 3, 1.0)


def test_it_tells_its_arguments(saxpy):
    """A call shows what it takes, to people and to inspect."""
    assert repr(saxpy[0]) == "<JaxCall saxpy(y, x, n, a)>"


def test_gradients_are_refused_by_name(jax, saxpy):
    """JAX says which kernel has none."""
    call, _ = saxpy
    with pytest.raises(ValueError, match=r"hatch_cuda_kernels\.saxpy\.[0-9a-f]{16}` cannot be differentiated"):
        jax.grad(lambda y: call(y, y, N, 1.0).sum())(jax.numpy.ones(N))


def test_gradients_by_custom_vjp(jax, saxpy):
    """A function with the kernel in it gets its gradient by ``jax.custom_vjp``."""
    call, _ = saxpy

    @jax.custom_vjp
    def scaled_sum(y, x):
        return call(y, x, N, 3.0)

    scaled_sum.defvjp(lambda y, x: (scaled_sum(y, x), None), lambda _, g: (g, 3 * g))
    gradients = jax.jit(jax.grad(lambda y, x: scaled_sum(y, x).sum(), argnums=(0, 1)))(
        jax.numpy.ones(N), jax.numpy.ones(N)
    )
    assert [gradient[0].item() for gradient in gradients] == [1, 3]
