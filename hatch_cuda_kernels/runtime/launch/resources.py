"""What the driver says of a loaded kernel: attributes, occupancy, and which limit a refused launch exceeds."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from hatch_cuda_kernels.driver import call, cuda
from hatch_cuda_kernels.errors import DriverError
from hatch_cuda_kernels.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.runtime.launch.libraries import Loaded
    from hatch_cuda_kernels.runtime.launch.shapes import Shape


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
    blocks = int(call("cuOccupancyMaxActiveBlocksPerMultiprocessor", loaded.function, threads, shape.shared_mem))
    return Occupancy(blocks, blocks * threads / loaded.device_attribute("MAX_THREADS_PER_MULTIPROCESSOR"))


def suggest_block_size(loaded: Loaded, shape: Shape, limit: int) -> int:
    """Return the block size that the driver suggests. Raises LaunchError or DriverError."""
    loaded.allow(shape)
    _, block = call("cuOccupancyMaxPotentialBlockSize", loaded.function, None, shape.shared_mem, limit)
    return int(block)


def explain_refusal(loaded: Loaded, shape: Shape, stream: int) -> str:
    """Return why a launch was refused in the current context, or nothing if no limit explains it."""
    found: list[str] = []
    for look in (_block, _shared, _registers, _cluster, _cooperative):
        with suppress(DriverError):  # a context that is broken answers nothing
            found += look(loaded, shape)
    with suppress(DriverError):
        found += _stream(stream)
    return "; ".join(found)


def _block(loaded: Loaded, shape: Shape) -> Iterator[str]:
    most, own = loaded.device_attribute("MAX_THREADS_PER_BLOCK"), loaded.attribute("MAX_THREADS_PER_BLOCK")
    if shape.threads > most:
        yield _beyond(
            f"a block of {shape.threads} threads", most, "this device", "DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK"
        )
    elif shape.threads > own:
        source = "by its __launch_bounds__ or registers: CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK"
        yield f"a block of {shape.threads} threads: this kernel takes at most {own} ({source})"
    yield from _sizes(loaded, shape.block, "block", "MAX_BLOCK_DIM")
    yield from _sizes(loaded, shape.grid, "grid", "MAX_GRID_DIM")


def _sizes(loaded: Loaded, sizes: tuple[int, int, int], what: str, name: str) -> Iterator[str]:
    for axis, size in zip("XYZ", sizes, strict=True):
        most = loaded.device_attribute(f"{name}_{axis}")
        if size > most:
            yield _beyond(f"{what} {axis.lower()} is {size}", most, "this device", f"DEVICE_ATTRIBUTE_{name}_{axis}")


def _shared(loaded: Loaded, shape: Shape) -> Iterator[str]:
    most, static = loaded.attribute("MAX_DYNAMIC_SHARED_SIZE_BYTES"), loaded.attribute("SHARED_SIZE_BYTES")
    if shape.shared_mem > most:
        what = f"{shape.shared_mem} bytes of dynamic shared memory besides {static} static ones"
        yield _beyond(what, most, "this kernel", "FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES")


def _registers(loaded: Loaded, shape: Shape) -> Iterator[str]:
    each, most = loaded.attribute("NUM_REGS"), loaded.device_attribute("MAX_REGISTERS_PER_BLOCK")
    if each * shape.threads > most:
        what = f"{shape.threads} threads with {each} registers each"
        yield f"{what}: a block has {most} (CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)"


def _cluster(loaded: Loaded, shape: Shape) -> Iterator[str]:
    if shape.cluster is None:
        return
    if any(blocks % cluster for blocks, cluster in zip(shape.grid, shape.cluster, strict=True)):
        yield f"a grid of {shape.grid} blocks is not made of whole clusters of {shape.cluster}"
    if not loaded.device_attribute("CLUSTER_LAUNCH"):
        yield "this device has no clusters (CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH)"
        return
    from hatch_cuda_kernels.runtime.launch.shapes import Configs

    size = shape.cluster[0] * shape.cluster[1] * shape.cluster[2]
    config = Configs(shape._replace(cluster=None))[None]  # the driver refuses to answer for one that is too large
    most = call("cuOccupancyMaxPotentialClusterSize", loaded.function, config)
    if size > int(most):
        yield f"a cluster of {size} blocks: this kernel takes at most {most} (cuOccupancyMaxPotentialClusterSize)"


def _cooperative(loaded: Loaded, shape: Shape) -> Iterator[str]:
    if not shape.cooperative:
        return
    each, count = occupancy_of(loaded, shape).blocks, loaded.device_attribute("MULTIPROCESSOR_COUNT")
    blocks = shape.grid[0] * shape.grid[1] * shape.grid[2]
    if blocks > each * count:
        source = f"{each} on each of {count} multiprocessors: cuOccupancyMaxActiveBlocksPerMultiprocessor"
        yield f"a cooperative grid of {blocks} blocks: at most {each * count} run at a time ({source})"


def _stream(stream: int) -> Iterator[str]:
    """Compare a stream's context with the current one; 0, 1 and 2 stand for default streams of any context."""
    if stream <= 2:
        return
    driver = cuda()
    status, context = driver.cuStreamGetCtx(driver.CUstream(stream))[:2]
    current = call("cuCtxGetCurrent")
    if int(status) != 0:
        yield f"the stream {stream:#x} does not exist, or was destroyed (cuStreamGetCtx: {status.name})"
    elif int(context) != int(current):
        yield f"the stream {stream:#x} is of another context than the one the kernel is launched in (cuStreamGetCtx)"


def _beyond(what: str, most: int, whose: str, source: str) -> str:
    return f"{what}: {whose} takes at most {most} (CU_{source})"
