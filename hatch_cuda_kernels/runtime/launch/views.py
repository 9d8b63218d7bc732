"""Shape, strides and element type of any library's array on the device, without importing any framework."""

from __future__ import annotations

from typing import Any, NamedTuple

from hatch_cuda_kernels.runtime.launch import dlpack, tensors
from hatch_cuda_kernels.runtime.launch.elements import word_of_typestr
from hatch_cuda_kernels.runtime.launch.unusable import FATAL, MASKED, UnusableError

__all__ = ["View", "view_of"]


class View(NamedTuple):
    """How an array's elements lie, in the array's own order of dimensions."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In bytes."""
    dtype: str
    """As numpy and torch call it, such as ``float32`` and ``bfloat16``."""
    itemsize: int


def view_of(array: Any) -> View:
    """Return how an array's elements lie. Raises UnusableError for what is no array on a device."""
    if tensors.learn(array):
        size = array.element_size()
        return View(tuple(array.shape), _bytes((), array.stride(), size), str(array.dtype).rpartition(".")[2], size)
    try:
        interface = array.__cuda_array_interface__
    except FATAL:
        raise
    except Exception:  # noqa: BLE001 - JAX's arrays of bfloat16 do not have it, whatever their type says
        interface = None
    if interface is not None:
        return _of_interface(interface)
    if hasattr(array, "__dlpack__"):
        shape, strides, dtype, size = dlpack.layout(array)
        return View(shape, _bytes(shape, strides, size), dtype or "unknown", size)
    raise UnusableError("neither a tensor, nor an array with __cuda_array_interface__ or DLPack")


def _of_interface(interface: dict[str, Any]) -> View:
    if interface.get("mask") is not None:
        raise UnusableError(MASKED)
    shape, typestr = tuple(map(int, interface["shape"])), interface["typestr"]
    size = int(typestr[2:])
    stated = interface.get("strides")
    strides = _bytes(shape, None, size) if stated is None else tuple(map(int, stated))
    return View(shape, strides, word_of_typestr(typestr) or typestr, size)


def _bytes(shape: tuple[int, ...], strides: tuple[int, ...] | None, size: int) -> tuple[int, ...]:
    """Return strides in bytes; None stands for those of elements that follow each other, the last dimension first."""
    if strides is not None:
        return tuple(stride * size for stride in strides)
    found = [size]
    for length in reversed(shape[1:]):
        found.append(found[-1] * length)
    return tuple(reversed(found))[: len(shape)] if shape else ()
