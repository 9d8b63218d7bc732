"""Arithmetic on vectors, in place."""

from typing import Any

from vecops.kernels import store

__all__ = ["scale"]

_CPP = {"float32": "float", "float64": "double"}


def scale(y: Any, factor: float) -> None:  # an array of any framework
    """Multiply a contiguous float32 or float64 array on the current device by a number."""
    kernel = store.instantiate("scale", T=_CPP[str(y.dtype).removeprefix("torch.")])
    kernel[256, 256](y, factor, y.size if isinstance(y.size, int) else y.numel())
