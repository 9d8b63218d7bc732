"""What a launch states besides its arguments: grid, block, shared memory, and the launch attributes of the driver.

The driver takes them as a CUlaunchConfig, and the arguments in a slot; both are packed as cuda.h lays them out.
"""

from __future__ import annotations

import ctypes
import struct
from contextlib import suppress
from operator import index
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.driver import cuda, remember
from hatch_cuda_kernels.errors import LaunchError
from hatch_cuda_kernels.records import NamedTuple
from hatch_cuda_kernels.runtime.launch.values import counts_as

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypedDict

    from hatch_cuda_kernels.runtime.launch.values import Found

    class LaunchAttributes(TypedDict, total=False):
        """Options of a launch that not every one has."""

        cluster: Dim | None
        """Blocks of a cluster."""
        cooperative: bool
        """Whether all blocks run at the same time, so that they can wait for each other."""
        pdl: bool
        """Programmatic dependent launch: the kernel may start before the previous one on its stream has ended."""
        priority: int | None
        """As for streams: lower numbers first."""
        carveout: int | None
        """Preferred part of the L1 cache that is shared memory, in percent."""

    class LaunchOptions(LaunchAttributes, total=False):
        """Options of a launch."""

        shared_mem: int
        """Dynamic shared memory in bytes; more than 48 KiB is opted in to."""
        stream: Any
        """Any framework's stream, or its address."""


Dim = int | tuple[int, ...]


_MOST: Final = (1 << 32) - 1
#: CUlaunchAttribute (cuda.h): an id, and 64 bytes for any value.
_ATTRIBUTE_BYTES: Final = 72


class Shape(NamedTuple):
    """One shape of launches; sizes are in blocks, threads and bytes."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_mem: int
    cluster: tuple[int, int, int] | None = None
    cooperative: bool = False
    pdl: bool = False
    priority: int | None = None
    carveout: int | None = None

    @classmethod
    def make(cls, kernel: str, grid: Dim, block: Dim, shared_mem: int = 0, **attributes: Any) -> Shape:
        """Return a shape with its sizes checked. Raises LaunchError, naming the kernel."""
        [size] = _integers((shared_mem,)) or (-1,)
        if not 0 <= size <= _MOST:
            raise LaunchError(f"{kernel}: shared memory must be a number of bytes, got {shared_mem!r}")
        for name in ("priority", "carveout"):
            value = attributes.get(name)
            if value is not None:
                found = _integers((value,))
                if not found:
                    raise LaunchError(f"{kernel}: {name} must be an integer, got {value!r}")
                [attributes[name]] = found
        cluster = attributes.pop("cluster", None)
        extent = None if cluster is None else _sizes(kernel, cluster, "cluster", 1)
        sizes = _sizes(kernel, grid, "grid", 0), _sizes(kernel, block, "block", 1)
        return cls(*sizes, size, extent, **attributes)

    @property
    def is_empty(self) -> bool:
        """Whether the grid has no block: such a launch does nothing."""
        return 0 in self.grid

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def attributes(self) -> bytes:
        """The driver's launch attributes, one after the other."""
        found = []
        if self.cluster is not None:
            found.append(_attribute("CLUSTER_DIMENSION", "3I", *self.cluster))
        if self.cooperative:
            found.append(_attribute("COOPERATIVE", "i", 1))
        if self.pdl:
            found.append(_attribute("PROGRAMMATIC_STREAM_SERIALIZATION", "i", 1))
        if self.priority is not None:
            found.append(_attribute("PRIORITY", "i", self.priority))
        if self.carveout is not None:
            found.append(_attribute("PREFERRED_SHARED_MEMORY_CARVEOUT", "I", self.carveout))
        return b"".join(found)


def flat_sizes(kernel: str, grid: Dim, block: Dim) -> tuple[int, int, int, int, int, int, int] | None:
    """Return grid, block and no shared memory, None for a grid without blocks. Raises as ``Shape.make`` does."""
    if grid.__class__ is int and 0 < grid <= _MOST and block.__class__ is int and 0 < block <= _MOST:
        return grid, 1, 1, block, 1, 1, 0
    blocks = _sizes(kernel, grid, "grid", 0)
    return None if 0 in blocks else (*blocks, *_sizes(kernel, block, "block", 1), 0)


def _integer(value: Any) -> int:
    """Return the integer that a number equals. Raises ValueError for anything else.

    4.0 counts as 4, as it does for the dictionaries that keep shapes.
    """
    try:
        return index(value)
    except TypeError:
        pass  # so that no error of what follows has this one as its context
    number = None
    if counts_as(type(value), "Number", int, float, complex):  # an array is not: it would be copied from its device
        with suppress(ArithmeticError, ValueError):  # infinite, or no number
            number = int(value.real)  # every number has a real part
    if number is None or number != value:
        raise ValueError("not an integer")
    return number


def _integers(values: Iterable[Any]) -> tuple[int, ...]:
    """Return the integers that numbers equal, or () if one of them is not an integer."""
    try:
        return tuple(map(_integer, values))
    except ValueError:
        return ()


def _attribute(name: str, layout: str, *values: int) -> bytes:
    """Return a CUlaunchAttribute. Raises LaunchError for one that these bindings lack, or a value out of range."""
    number = getattr(cuda().CUlaunchAttributeID, f"CU_LAUNCH_ATTRIBUTE_{name}", None)
    if number is None:
        raise LaunchError(f"the launch attribute {name} needs newer cuda-bindings")
    try:
        return struct.pack(f"I4x{layout}", int(number), *values).ljust(_ATTRIBUTE_BYTES, b"\0")
    except struct.error as error:
        raise LaunchError(f"the launch attribute {name} cannot be {', '.join(map(str, values))}: {error}") from error


def _sizes(kernel: str, value: Dim, what: str, least: int) -> tuple[int, int, int]:
    """Return three sizes. Raises LaunchError unless they are one to three integers that the driver accepts."""
    given = value if isinstance(value, tuple | list) else (value,)
    try:
        sizes = tuple(map(index, given))
    except TypeError:
        sizes = _integers(given)
    if not 1 <= len(sizes) <= 3 or min(sizes) < least:
        wanted = "positive integers" if least else "integers that are not negative"
        raise LaunchError(f"{kernel}: {what} must be one to three {wanted}, got {value!r}")
    if max(sizes) > _MOST:
        raise LaunchError(f"{kernel}: {what} {value!r} has a size beyond 2**32 - 1, the largest that CUDA accepts")
    x, y, z, *_ = (*sizes, 1, 1)
    return x, y, z


#: Grid, block, bytes of shared memory and stream.
SIZES: Final = struct.Struct("7I4xQ")
#: The same, attributes and their number. A field at a time it takes 10 us.
_LAYOUT: Final = struct.Struct("7I4xQQI4x")
_Memory: Final = ctypes.c_char * _LAYOUT.size


class Slot:
    """A parameter buffer and what describes it to cuLaunchKernel, at fixed addresses: ``extra`` or ``params``.

    Without parameters, both are NULL, because the driver refuses a buffer that is larger than what the kernel takes.
    """

    __slots__ = ("_extra", "_params", "_size", "buffer", "extra", "found", "params")

    def __init__(self, size: int, offsets: Sequence[int] = ()) -> None:
        """Describe the buffer as a whole, or with ``offsets`` the parameters one by one."""
        self.buffer = ctypes.create_string_buffer(size)
        self.found: Found = []
        """By readers, of the arguments of one launch; torch's current stream is not among the streams."""
        self._size = ctypes.c_size_t(size)
        # CU_LAUNCH_PARAM_BUFFER_POINTER = 1, CU_LAUNCH_PARAM_BUFFER_SIZE = 2, CU_LAUNCH_PARAM_END = 0 (cuda.h)
        pointers = (1, ctypes.addressof(self.buffer), 2, ctypes.addressof(self._size), 0)
        self._extra = (ctypes.c_void_p * len(pointers))(*pointers)
        self.extra = ctypes.addressof(self._extra) if size and not offsets else 0
        self._params = (ctypes.c_void_p * len(offsets))(*(ctypes.addressof(self.buffer) + at for at in offsets))
        self.params = ctypes.addressof(self._params) if offsets else 0


class FreshSlot(Slot):
    """A slot with a configuration, for launches whose shape is new."""

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
        config = cuda().CUlaunchConfig()
        ctypes.memmove(config.getPtr(), self.pack(stream), _LAYOUT.size)
        remember(self, stream, config, most=64)
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
