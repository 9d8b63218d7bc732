"""The driver's launch configurations of one shape, packed as CUlaunchConfig is laid out (cuda.h)."""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.driver import cuda
from hatch_cuda_kernels.runtime.launch.arguments import Slot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.runtime.launch.shapes import Shape

__all__ = ["SIZES", "Configs", "FreshSlot"]

#: Grid, block, bytes of shared memory and stream.
SIZES: Final = struct.Struct("7I4xQ")
#: The same, attributes and their number. A field at a time it takes 10 us.
_LAYOUT: Final = struct.Struct("7I4xQQI4x")
_ATTRIBUTE_BYTES: Final = 72
_Memory: Final = ctypes.c_char * _LAYOUT.size
#: Streams whose configuration is remembered for one shape; a program that keeps creating streams starts over.
_MOST_STREAMS: Final = 64


class FreshSlot(Slot):
    """A slot with a configuration of its own, for launches whose shape was not seen before."""

    __slots__ = ("config", "memory")

    def __init__(self, size: int, offsets: Sequence[int] = ()) -> None:
        super().__init__(size, offsets)
        self.config = cuda().CUlaunchConfig()
        self.memory = _Memory.from_address(self.config.getPtr())


class Configs(dict[int | None, Any]):
    """Launch configurations of one shape, by stream; None is the default one. They never change: threads share them."""

    def __init__(self, shape: Shape) -> None:
        self._sizes = (*shape[0], *shape[1], shape[2])
        attributes = b"" if shape[3:] == _NO_ATTRIBUTES else shape.attributes
        self._attributes = ctypes.create_string_buffer(attributes, len(attributes)) if attributes else None

    def __missing__(self, stream: int | None) -> Any:  # CUlaunchConfig
        if len(self) >= _MOST_STREAMS:
            self.clear()
        config = cuda().CUlaunchConfig()
        ctypes.memmove(config.getPtr(), self.pack(stream), _LAYOUT.size)
        self[stream] = config
        return config

    @property
    def packed(self) -> bytes:
        """The configuration for the default stream; it holds addresses in this object."""
        return self.pack(None)

    def pack(self, stream: int | None) -> bytes:
        """Return the configuration for a stream; it holds addresses in this object."""
        found = self._attributes
        where, count = (0, 0) if found is None else (ctypes.addressof(found), len(found) // _ATTRIBUTE_BYTES)
        return _LAYOUT.pack(*self._sizes, stream or 0, where, count)


_NO_ATTRIBUTES: Final = (None, False, False, None, None)
