"""What a launch states besides its arguments: grid, block, shared memory, and the launch attributes of the driver."""

from __future__ import annotations

import struct
from contextlib import suppress
from numbers import Number
from operator import index
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.driver import cuda
from hatch_cuda_kernels.errors import LaunchError

__all__ = ["Dim", "LaunchAttributes", "LaunchOptions", "Shape", "flat_sizes"]

Dim = int | tuple[int, ...]

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypedDict

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
            if attributes.get(name) is not None:
                attributes[name] = _number(kernel, name, attributes[name])
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

    4.0 is 4 here, for so it is to the dictionaries that remember shapes: what they find must also be taken before.
    """
    try:
        return index(value)
    except TypeError:
        pass  # so that no error of what follows has this one as its context
    number = None
    if isinstance(value, Number):  # an array of one number would have to be copied from its device
        with suppress(ArithmeticError, ValueError):  # infinite, or no number
            number = int(value.real)  # type: ignore[attr-defined]  # every number has a real part
    if number is None or number != value:
        raise ValueError("not an integer")
    return number


def _integers(values: Iterable[Any]) -> tuple[int, ...]:
    """Return the integers that numbers equal, none if one of them is no integer."""
    try:
        return tuple(map(_integer, values))
    except ValueError:
        return ()


def _number(kernel: str, name: str, value: Any) -> int:
    found = _integers((value,))
    if not found:
        raise LaunchError(f"{kernel}: {name} must be an integer, got {value!r}")
    return found[0]


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
    """Return three sizes. Raises LaunchError unless they are one to three integers that the driver can be told."""
    given = value if isinstance(value, tuple | list) else (value,)
    try:
        sizes = tuple(map(index, given))
    except TypeError:
        sizes = _integers(given)
    if not 1 <= len(sizes) <= 3 or min(sizes) < least:
        wanted = "positive integers" if least else "integers that are not negative"
        raise LaunchError(f"{kernel}: {what} must be one to three {wanted}, got {value!r}")
    if max(sizes) > _MOST:
        raise LaunchError(f"{kernel}: {what} {value!r} has a size beyond 2**32 - 1, the most that CUDA can be told")
    x, y, z, *_ = (*sizes, 1, 1)
    return x, y, z
