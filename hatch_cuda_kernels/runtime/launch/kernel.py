"""A loaded kernel: launched with checked arguments on the caller's stream, in the context it was loaded for."""

from __future__ import annotations

from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.driver import check, cuda, current_context_id, current_device
from hatch_cuda_kernels.errors import DriverError, KernelNotFoundError, LaunchError, StaleKernelError
from hatch_cuda_kernels.runtime.launch.libraries import LIBRARIES
from hatch_cuda_kernels.runtime.launch.streams import stream_address

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hatch_cuda_kernels.image import Image, Symbol
    from hatch_cuda_kernels.runtime.launch.configs import Configs

__all__ = ["Dim", "GlobalVariable", "Kernel", "load_kernel"]

#: Bytes of dynamic shared memory without opting in (CUDA C++ Programming Guide, "Shared memory" of each architecture).
_FREE_SHARED: Final = 48 << 10
_MAX_DYNAMIC: Final = "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES"
#: Shapes remembered by one kernel; a program that keeps changing them starts over.
_MAX_SHAPES: Final = 256

Dim = int | tuple[int, ...]


class GlobalVariable(NamedTuple):
    """A device variable of a loaded image: its address in the current context and its size in bytes."""

    name: str
    address: int
    size: int


def load_kernel(image: Image, symbol: Symbol, scope: str) -> Kernel:
    """Return a kernel of an image, loaded for the current context; ``scope`` is as in ``Libraries.load``.

    Raises ImageRefusedError when the driver cannot use the image, DriverError for any other failure.
    """
    context_id, device = current_context_id(), current_device()
    library, handle = LIBRARIES.load(image, symbol.lowered, device.capability, scope)
    return Kernel(image, symbol, library=library, handle=handle, context_id=context_id, ordinal=device.ordinal)


class Kernel:
    """One kernel, loaded for one context. ``kernel[grid, block](*args)`` launches it."""

    def __init__(
        self, image: Image, symbol: Symbol, *, library: Any, handle: Any, context_id: int, ordinal: int
    ) -> None:
        self.name = symbol.name
        self.lowered = symbol.lowered
        self.params = symbol.params
        self.image = image
        self.handle = handle
        self.context_id = context_id
        self.ordinal = ordinal
        self.hits = 0
        """How often the store has returned this object again."""
        self._library = library
        self._shapes: dict[Any, Callable[..., None]] = {}
        self._configs: dict[Any, Configs] = {}

    def __getitem__(self, launch: tuple[Any, ...]) -> Callable[..., None]:
        """Return the launch function for ``kernel[grid, block]``, optionally with shared memory bytes and a stream.

        Raises LaunchError for bad dimensions, TypeError for anything that is not a stream.
        """
        try:
            return self._shapes[launch]
        except (KeyError, TypeError):  # TypeError: a list among the sizes, or a stream that cannot be hashed
            return self._shape(launch)

    def __repr__(self) -> str:
        return f"<Kernel {self.name} from {self.image!r}>"

    def launch(
        self,
        grid: Dim,
        block: Dim,
        args: Sequence[Any],
        *,
        shared_mem: int = 0,
        stream: Any = None,  # any framework's stream
        cluster: Dim | None = None,
        cooperative: bool = False,
    ) -> None:
        """Launch asynchronously on ``stream`` (default: the current stream of the arrays' framework).

        ``grid`` counts blocks, ``block`` the threads of a block, ``cluster`` the blocks of a cluster; ``shared_mem`` is
        dynamic shared memory in bytes, which beyond 48 KiB is opted in to. Raises ArgumentError for arguments that do
        not fit the signature, LaunchError for bad dimensions, StaleKernelError when the context was destroyed or reset,
        DriverError if the driver refuses the launch.
        """
        key = (grid, block, shared_mem, cluster, cooperative)
        try:
            configs = self._configs[key]
        except (KeyError, TypeError):  # TypeError: a list among the sizes
            configs = self._make_configs(*key)
        self._bind(configs, None if stream is None else stream_address(stream))(*args)

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
                raise KernelNotFoundError(name, repr(self.image), what="variable") from error
            raise
        return GlobalVariable(name, int(address), int(size))

    def as_cuda_core(self) -> Any:  # cuda.core.Kernel
        """Return a ``cuda.core`` Kernel of the same image, for ``cuda.core.launch``. Raises ImportError without it."""
        from cuda.core import ObjectCode  # noqa: TID251 - half a second, on request only

        make = ObjectCode.from_ptx if self.image.kind == "ptx" else ObjectCode.from_cubin
        return make(self.image.data, symbol_mapping={self.name: self.lowered.encode()}).get_kernel(self.name)

    def _check_context(self) -> None:
        """Raise StaleKernelError unless the current context is the one this kernel was loaded for.

        A thread without a context gets device 0's primary one, as its first use of CUDA would.
        """
        if current_context_id() != self.context_id:
            raise StaleKernelError(
                f"{self.name} was loaded for another context (or one that was reset since); "
                "call get_kernel again in this context"
            )

    def _fail_launch(self, status: Any) -> None:  # CUresult
        """Raise the DriverError for a launch that the driver refused."""
        raise DriverError(f"launching {self.name}", int(status), status.name)

    @cached_property
    def _bind(self) -> Callable[[Configs, int | None], Callable[..., None]]:
        from hatch_cuda_kernels.runtime.launch.arguments import Signature  # not needed before the first launch
        from hatch_cuda_kernels.runtime.launch.launch import make_launch

        return make_launch(
            Signature(self.name, self.params),
            self.handle,
            context_id=self.context_id,
            ordinal=self.ordinal,
            check_context=self._check_context,
            fail=self._fail_launch,
        )

    def _shape(self, launch: Any) -> Callable[..., None]:  # the contents of the brackets
        if not isinstance(launch, tuple) or not 2 <= len(launch) <= 4:
            message = "write kernel[grid, block], optionally with shared memory bytes and a stream"
            raise LaunchError(f"{self.name}: {message}")
        grid, block, *rest = launch
        stream = rest[1] if len(rest) == 2 else None
        configs = self._make_configs(grid, block, rest[0] if rest else 0, None, False)
        function = self._bind(configs, None if stream is None else stream_address(stream))
        if stream is None or isinstance(stream, int):  # the address of another may change
            _remember(self._shapes, launch, function)
        return function

    def _make_configs(self, grid: Dim, block: Dim, shared_mem: int, cluster: Dim | None, cooperative: bool) -> Configs:
        from hatch_cuda_kernels.runtime.launch.configs import Configs  # not needed before the first launch

        configs = Configs(
            self._dims(grid, "grid"),
            self._dims(block, "block"),
            shared_mem=self._allow_shared(shared_mem),
            cluster=None if cluster is None else self._dims(cluster, "cluster"),
            cooperative=cooperative,
        )
        if not isinstance(grid, list) and not isinstance(block, list) and not isinstance(cluster, list):
            _remember(self._configs, (grid, block, shared_mem, cluster, cooperative), configs)
        return configs

    @cached_property
    def _free_shared(self) -> int:
        """Bytes of dynamic shared memory that need no opting in: 48 KiB less the kernel's static part."""
        return max(_FREE_SHARED - self._attribute("CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES"), 0)

    def _allow_shared(self, wanted: int) -> int:
        if not isinstance(wanted, int) or wanted < 0:
            raise LaunchError(f"{self.name}: shared memory must be a number of bytes, got {wanted!r}")
        if wanted == 0 or wanted <= self._free_shared or wanted <= self._attribute(_MAX_DYNAMIC):
            return wanted
        driver = cuda()
        attribute = getattr(driver.CUfunction_attribute, _MAX_DYNAMIC)
        try:
            call = driver.cuKernelSetAttribute(attribute, wanted, self.handle, driver.CUdevice(self.ordinal))
            check("cuKernelSetAttribute", call)
        except DriverError as error:
            raise LaunchError(f"{self.name}: {wanted} bytes of dynamic shared memory: {error}") from error
        return wanted

    def _attribute(self, name: str) -> int:
        driver = cuda()
        attribute = getattr(driver.CUfunction_attribute, name)
        call = driver.cuKernelGetAttribute(attribute, self.handle, driver.CUdevice(self.ordinal))
        return int(check("cuKernelGetAttribute", call))

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


def _remember(memory: dict[Any, Any], key: Any, value: Any) -> None:
    if len(memory) >= _MAX_SHAPES:
        memory.clear()
    memory[key] = value
