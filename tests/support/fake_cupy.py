"""As much of CuPy as a loader of its modules uses, on the imitated driver."""

from __future__ import annotations

import types

import numpy as np

__all__ = ["ndarray", "stand_in"]


class ndarray:  # noqa: N801 - CuPy's name
    """An array on the device."""

    def __init__(self, address, shape=(4,), dtype="f4"):
        self.data = types.SimpleNamespace(ptr=address, device_id=0)
        self.shape, self.ndim, self.dtype = shape, len(shape), np.dtype(dtype)
        self.size = int(np.prod(shape))
        steps = np.cumprod([self.dtype.itemsize, *shape[:0:-1]]) if shape else []
        self.strides = tuple(int(step) for step in reversed(steps))


class MemoryPointer:
    """An address in memory."""

    def __init__(self, mem, offset):
        self.mem, self.ptr = mem, mem.ptr + offset


class UnownedMemory:
    """Memory of somebody else."""

    def __init__(self, ptr, size, owner, device_id):
        self.ptr, self.size, self.owner, self.device_id = ptr, size, owner, device_id


class TextureObject:
    """A texture."""

    ptr = 0x77


class SurfaceObject:
    """A surface."""

    ptr = 0x88


def stand_in():
    """Return the module; ``cuda.current`` is the address of the current stream."""
    cupy = types.ModuleType("cupy")
    cupy.ndarray = ndarray
    texture = types.SimpleNamespace(TextureObject=TextureObject, SurfaceObject=SurfaceObject)
    cupy.cuda = types.SimpleNamespace(
        MemoryPointer=MemoryPointer,
        UnownedMemory=UnownedMemory,
        texture=texture,
        runtime=types.SimpleNamespace(getDevice=lambda: 0),
        current=5,
    )
    cupy.cuda.get_current_stream = lambda *_: types.SimpleNamespace(ptr=cupy.cuda.current)
    return cupy
