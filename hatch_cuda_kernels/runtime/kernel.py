"""A loaded kernel: launched with checked arguments on the caller's stream, in the context it was loaded for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.driver import check, cuda
from hatch_cuda_kernels.errors import DriverError, KernelNotFoundError, LaunchError, StaleKernelError
from hatch_cuda_kernels.runtime.arguments import Packer
from hatch_cuda_kernels.runtime.context import current_context_id
from hatch_cuda_kernels.runtime.streams import stream_address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.image import Image
    from hatch_cuda_kernels.runtime.loader import LoadedKernel

__all__ = ["GlobalVariable", "Kernel", "Launcher"]

#: Dynamic shared memory that needs no opting in (CUDA C++ Programming Guide, "Shared memory" of each architecture).
_FREE_SHARED: Final = 48 << 10

Dim = int | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GlobalVariable:
    """A device variable of a loaded image: its address in the current context and its size in bytes."""

    name: str
    address: int
    size: int


class Shape(NamedTuple):
    """Where and how large a launch is."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_mem: int
    stream: int


class Kernel:
    """One kernel, loaded for one context. ``kernel[grid, block](*args)`` launches it."""

    def __init__(self, name: str, params: Sequence[str], loaded: LoadedKernel, lowered: str, context_id: int) -> None:
        self.name = name
        self.lowered = lowered
        self.params = tuple(params)
        self.image: Image = loaded.image
        self.handle = loaded.handle
        self._library = loaded.library
        self._context_id = context_id
        self._packer = Packer(name, params)
        self._shared_limit = _FREE_SHARED

    def __getitem__(self, launch: tuple[Any, ...]) -> Launcher:
        """Return a launcher for ``kernel[grid, block]``, ``[grid, block, shared_mem]`` or with a stream as fourth."""
        if not isinstance(launch, tuple) or not 2 <= len(launch) <= 4:
            raise LaunchError(
                f"{self.name}: write kernel[grid, block], optionally with shared memory bytes and a stream"
            )
        return Launcher(self, *launch)

    def __repr__(self) -> str:
        return f"<Kernel {self.name} from {self.image!r}>"

    def launch(
        self,
        grid: Dim,
        block: Dim,
        args: Sequence[Any],
        *,
        shared_mem: int = 0,
        stream: Any = None,  # noqa: ANN401 - any framework's stream
        cluster: Dim | None = None,
        cooperative: bool = False,
    ) -> None:
        """Launch asynchronously on ``stream`` (default: the current stream of the framework the arrays come from).

        ``grid`` counts blocks, ``block`` threads, ``cluster`` blocks a cluster; ``shared_mem`` is dynamic shared memory
        in bytes, beyond 48 KiB it is opted in to. Raises ArgumentError for arguments that do not fit the signature,
        LaunchError for bad dimensions, StaleKernelError when the context was destroyed or reset, DriverError for what
        the driver refuses.
        """
        if current_context_id() != self._context_id:
            raise StaleKernelError(
                f"{self.name} was loaded for another context (or one that was reset since); "
                "call get_kernel again in this context"
            )
        if shared_mem > self._shared_limit:
            self._allow_shared(shared_mem)
        shape = Shape(self._dims(grid, "grid"), self._dims(block, "block"), shared_mem, stream_address(stream, args))
        with self._packer.packed(args) as extra:
            if cluster is None and not cooperative:
                call = cuda().cuLaunchKernel(self.handle, *shape.grid, *shape.block, shared_mem, shape.stream, 0, extra)
            else:
                dims = None if cluster is None else self._dims(cluster, "cluster")
                call = cuda().cuLaunchKernelEx(_config(shape, dims, cooperative=cooperative), self.handle, 0, extra)
        check(f"launching {self.name}", call)

    def get_global(self, name: str) -> GlobalVariable:
        """Return a ``__constant__`` or ``__device__`` variable of the image this kernel is in.

        ``name`` is the variable's lowered name, which equals its name outside namespaces. Raises KernelNotFoundError.
        """
        driver = cuda()
        try:
            call = driver.cuLibraryGetGlobal(self._library, name.encode())
            address, size = check("cuLibraryGetGlobal", call)
        except DriverError as error:
            if error.code == 500:  # CUDA_ERROR_NOT_FOUND
                raise KernelNotFoundError(name, repr(self.image), hint="no such variable in this image") from error
            raise
        return GlobalVariable(name, int(address), int(size))

    def as_cuda_core(self) -> Any:  # noqa: ANN401 - cuda.core.Kernel
        """Return a ``cuda.core`` Kernel of the same image, for people who launch that way; imports cuda.core."""
        from cuda.core import ObjectCode  # noqa: PLC0415, TID251 - half a second, only when asked for

        make = ObjectCode.from_ptx if self.image.kind == "ptx" else ObjectCode.from_cubin
        return make(self.image.data, symbol_mapping={self.name: self.lowered.encode()}).get_kernel(self.name)

    @cached_property
    def _function(self) -> Any:  # noqa: ANN401 - an opaque handle
        return check("cuKernelGetFunction", cuda().cuKernelGetFunction(self.handle))

    def _allow_shared(self, wanted: int) -> None:
        driver = cuda()
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        try:
            check("cuFuncSetAttribute", driver.cuFuncSetAttribute(self._function, attribute, wanted))
        except DriverError as error:
            raise LaunchError(f"{self.name}: {wanted} bytes of dynamic shared memory: {error}") from error
        self._shared_limit = wanted

    def _dims(self, value: Dim, what: str) -> tuple[int, int, int]:
        """Return three sizes. Raises LaunchError unless they are one to three positive integers."""
        try:
            dims = tuple(map(index, value)) if isinstance(value, tuple | list) else (index(value),)
        except TypeError:
            dims = ()
        if not 1 <= len(dims) <= 3 or min(dims) < 1:
            raise LaunchError(f"{self.name}: {what} must be one to three positive integers, got {value!r}")
        x, y, z, *_ = (*dims, 1, 1)
        return x, y, z


class Launcher:
    """``kernel[grid, block]``: call it with the kernel's arguments to launch."""

    __slots__ = ("_kernel", "_shape")

    def __init__(self, kernel: Kernel, grid: Dim, block: Dim, shared_mem: int = 0, stream: Any = None) -> None:  # noqa: ANN401
        self._kernel = kernel
        self._shape = grid, block, shared_mem, stream

    def __call__(self, *args: Any) -> None:  # noqa: ANN401 - checked against the signature
        """Launch asynchronously; see ``Kernel.launch``."""
        grid, block, shared_mem, stream = self._shape
        self._kernel.launch(grid, block, args, shared_mem=shared_mem, stream=stream)


def _config(shape: Shape, cluster: tuple[int, int, int] | None, *, cooperative: bool) -> Any:  # noqa: ANN401
    """Return a CUlaunchConfig with the attributes for clusters and cooperative launches."""
    driver = cuda()
    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = shape.grid
    config.blockDimX, config.blockDimY, config.blockDimZ = shape.block
    config.sharedMemBytes = shape.shared_mem
    config.hStream = driver.CUstream(shape.stream)
    attributes = []
    if cluster is not None:
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        dims = attribute.value.clusterDim
        dims.x, dims.y, dims.z = cluster
        attributes.append(attribute)
    if cooperative:
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        attribute.value.cooperative = 1
        attributes.append(attribute)
    config.numAttrs = len(attributes)
    config.attrs = attributes
    return config
