"""The kernels as functions of JAX: for ``jax.jit``, ``vmap``, ``shard_map`` and gradients.

Importing this module declares the calls, which takes no device. Dtypes are checked when a function is traced. The
filter is not here: its weights are in a variable of the device, which no compiled program sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax
import jax.numpy as jnp

from example_project.kernels import store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["block_sums", "saxpy", "softmax", "sort_tiles", "total"]

_WARP_COLUMNS: Final = 512
_BLOCK: Final = 256
_MAX_SUMS: Final = 1024
_CPP: Final = {"float32": "float", "float64": "double"}
_KEYS: Final = {"int32": "int", "uint32": "unsigned int", "float32": "float"}


def _partial_sums(args: Mapping[str, Any]) -> jax.ShapeDtypeStruct:
    blocks = -(-args["n"] // _BLOCK)
    return jax.ShapeDtypeStruct((max(1, min(blocks, _MAX_SUMS)),), args["x"].dtype)


def _one_sum(args: Mapping[str, Any]) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct((), args["x"].dtype)


def _dtype(x: jax.Array, known: Iterable[str]) -> str:
    """Return the name of an array's dtype. Raises TypeError for one that no kernel takes."""
    dtype: str = x.dtype.name
    if dtype not in known:
        raise TypeError(f"x must be {' or '.join(known)}, not {dtype}")
    return dtype


_SAXPY: Final = store.jax_call("saxpy", aliases={"y": "y"})
_SOFTMAX: Final = {block: store.jax_call(f"softmax<{block}>", out={"y": "x"}) for block in (32, 256)}
_SORT: Final = {
    dtype: store.jax_call(f"sort_tiles<{key}, 128, 16>", out={"keys_out": "keys_in"}) for dtype, key in _KEYS.items()
}
#: What the output is like decides the grid: ``grid: partial.size`` in the manifest.
_SUMS: Final = {
    (dtype, like): store.jax_call(f"block_sum<{cpp}, {_BLOCK}>", out={"partial": like})
    for dtype, cpp in _CPP.items()
    for like in (_partial_sums, _one_sum)
}


def saxpy(a: float, x: jax.Array, y: jax.Array) -> jax.Array:
    """Return ``a * x + y`` of float32 arrays; ``a`` is a number. It takes no copy of a ``y`` that is given away."""
    return _SAXPY(a, x, y, y.size)


def _softmax(x: jax.Array) -> jax.Array:
    """Return the softmax over the last axis of a float16 matrix. Differentiable."""
    rows, columns = x.shape
    return _SOFTMAX[32 if columns <= _WARP_COLUMNS else 256](x, rows, columns)


def _softmax_forward(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    y = _softmax(x)
    return y, y


def _softmax_backward(y: jax.Array, grad_y: jax.Array) -> tuple[jax.Array]:
    weighted = grad_y.astype(jnp.float32) * y
    return ((weighted - y * weighted.sum(-1, keepdims=True)).astype(y.dtype),)


softmax: Final = jax.custom_vjp(_softmax)
softmax.defvjp(_softmax_forward, _softmax_backward)


def sort_tiles(x: jax.Array) -> jax.Array:
    """Sort each run of 2048 keys of an int32, uint32 or float32 array on its own, ascending."""
    return _SORT[_dtype(x, _SORT)](x, x.size)


def block_sums(x: jax.Array) -> jax.Array:
    """Return 1 to 1024 partial sums of a float32 or float64 array."""
    return _SUMS[_dtype(x, _CPP), _partial_sums](x, x.size)


def total(x: jax.Array) -> jax.Array:
    """Return the sum of a float32 or float64 array, with the same bits each time."""
    sums = block_sums(x)
    return _SUMS[sums.dtype.name, _one_sum](sums, sums.size)
