"""What the driver says of a loaded kernel: its attributes, and how well a block size uses the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.driver import check, cuda

if TYPE_CHECKING:
    from hatch_cuda_kernels.runtime.launch.loaded import Loaded
    from hatch_cuda_kernels.runtime.launch.shapes import Shape

__all__ = ["KernelAttributes", "Occupancy", "attributes_of", "occupancy_of", "suggested_block"]


class KernelAttributes(NamedTuple):
    """A kernel's resources on a device; sizes are in bytes."""

    registers: int
    """Of a thread."""
    shared: int
    """Static shared memory of a block."""
    constant: int
    local: int
    """Local memory of a thread: spills and arrays."""
    max_threads: int
    """Most threads of a block, by its registers and ``__launch_bounds__``."""
    max_dynamic_shared: int
    """Dynamic shared memory that has been opted in to."""
    binary_version: int
    ptx_version: int


class Occupancy(NamedTuple):
    """How many blocks a multiprocessor holds at a time, and the part of its threads that they are."""

    blocks: int
    fraction: float


def attributes_of(loaded: Loaded) -> KernelAttributes:
    """Return a kernel's resources. Raises DriverError."""
    names = ("NUM_REGS", "SHARED_SIZE_BYTES", "CONST_SIZE_BYTES", "LOCAL_SIZE_BYTES", "MAX_THREADS_PER_BLOCK")
    more = ("MAX_DYNAMIC_SHARED_SIZE_BYTES", "BINARY_VERSION", "PTX_VERSION")
    return KernelAttributes(*(loaded.attribute(name) for name in (*names, *more)))


def occupancy_of(loaded: Loaded, shape: Shape) -> Occupancy:
    """Return how many blocks of a shape fit. Raises LaunchError or DriverError."""
    loaded.allow(shape)
    threads = shape.threads
    call = cuda().cuOccupancyMaxActiveBlocksPerMultiprocessor(loaded.function, threads, shape.shared_mem)
    blocks = int(check("cuOccupancyMaxActiveBlocksPerMultiprocessor", call))
    return Occupancy(blocks, blocks * threads / loaded.device_attribute("MAX_THREADS_PER_MULTIPROCESSOR"))


def suggested_block(loaded: Loaded, shape: Shape, limit: int) -> int:
    """Return the block size that the driver suggests. Raises LaunchError or DriverError."""
    loaded.allow(shape)
    call = cuda().cuOccupancyMaxPotentialBlockSize(loaded.function, None, shape.shared_mem, limit)
    _, block = check("cuOccupancyMaxPotentialBlockSize", call)
    return int(block)
