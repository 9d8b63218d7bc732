"""A store's modules and kernels as CuPy's ``RawModule`` and ``RawKernel`` are, so that only a project's loader changes.

``Store.cupy_module`` imports CuPy. Arguments are what CuPy takes. It passes their bytes and knows no parameter; here
numbers are converted to the parameter's type, and what does not fit is refused. Arrays are passed by address, whatever
their dtype, because CuPy's callers may reinterpret them.
"""

from __future__ import annotations

import sys
from functools import cached_property, partial
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, Protocol

from hatch_cuda_kernels.driver import remember
from hatch_cuda_kernels.errors import InputError, KernelNotFoundError, LaunchError, warn_user
from hatch_cuda_kernels.runtime.launch import launches_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hatch_cuda_kernels.runtime.launch import GlobalVariable, Kernel, Packing

    #: Turns an argument of CuPy's into one that a launch takes.
    _Read = Callable[[Any], Any]

_WORD: Final = 64
#: Complex numbers, by their bytes.
_COMPLEX: Final = {8: Struct("<2f"), 16: Struct("<2d")}
#: Bytes of an array that is passed by value (CArray in cupy/carray.cuh): address and size, then shape and strides.
_ARRAY_HEAD: Final = 16
_ARRAY_AXIS: Final = 16


class _ModuleOfStore(Protocol):
    """A module of a store."""

    @property
    def name(self) -> str: ...
    @property
    def kernels(self) -> tuple[str, ...]: ...
    def get_kernel(self, name: str) -> Kernel: ...
    def get_global(self, name: str) -> GlobalVariable: ...


def _cupy() -> Any:  # CuPy has no types
    """Return CuPy. Raises InputError without it."""
    try:
        import cupy
    except ImportError as error:
        from hatch_cuda_kernels.compiler.toolchain import bindings_major, pip_install  # as above
        from hatch_cuda_kernels.libraries import package_distribution

        command = pip_install(package_distribution("cupy", bindings_major()))
        raise InputError(f"cupy_module needs CuPy, which cannot be imported ({error})\n  to fix: {command}") from error
    return cupy


class CupyModule:
    """A module of a store with the methods of CuPy's ``RawModule``."""

    def __init__(self, module: _ModuleOfStore, *, enable_cooperative_groups: bool = False) -> None:
        _cupy()
        self._module = module
        self.name = module.name
        self.enable_cooperative_groups = enable_cooperative_groups

    def __reduce__(self) -> tuple[Any, ...]:
        again = partial(CupyModule, enable_cooperative_groups=self.enable_cooperative_groups)
        return again, (self._module,)

    def __repr__(self) -> str:
        return f"<CupyModule {self.name!r}>"

    def get_function(self, name: str) -> CupyKernel:
        """Return a kernel, loaded for the current device: by its name, or a template's by a name expression.

        Raises what ``Store.get_kernel`` raises.
        """
        return CupyKernel(self, self._module.get_kernel(name))

    def get_global(self, name: str) -> Any:
        """Return a variable of the module as a ``cupy.cuda.MemoryPointer``, with its size.

        The manifest lists it under ``globals``, or a kernel of the module uses it. Raises KernelNotFoundError for any
        other.
        """
        try:
            variable = self._module.get_global(name)
        except KernelNotFoundError:
            kernel = next(iter(self._module.kernels), None)
            if kernel is None:
                raise
            variable = self._module.get_kernel(kernel).get_global(name)
        cuda = _cupy().cuda
        memory = cuda.UnownedMemory(variable.address, variable.size, variable, cuda.runtime.getDevice())
        return cuda.MemoryPointer(memory, 0)

    def compile(self, log_stream: Any = None) -> None:
        """Load the module's kernels for the current device."""
        del log_stream  # there is no log of what was compiled before
        for name in self._module.kernels:
            self._module.get_kernel(name)


def _attribute(name: str, *, can_be_set: bool = False) -> Any:  # an int to whoever asks
    """Return an attribute of a kernel on the current device, as CuPy has it; -1 for one that the bindings lack."""

    def get(kernel: CupyKernel) -> int:
        try:
            return launches_of(kernel.kernel).loaded().attribute(name)
        except AttributeError:
            return -1

    def put(kernel: CupyKernel, value: int) -> None:
        if not can_be_set:
            raise AttributeError(f"{name.lower()} of a kernel cannot be set")
        launches_of(kernel.kernel).loaded().set_attribute(name, value, f"{name.lower()} = {value}")

    return property(get, put)


class CupyKernel:
    """A kernel with the call, attributes and methods of CuPy's ``RawKernel``."""

    max_threads_per_block: int = _attribute("MAX_THREADS_PER_BLOCK")
    shared_size_bytes: int = _attribute("SHARED_SIZE_BYTES")
    const_size_bytes: int = _attribute("CONST_SIZE_BYTES")
    local_size_bytes: int = _attribute("LOCAL_SIZE_BYTES")
    num_regs: int = _attribute("NUM_REGS")
    ptx_version: int = _attribute("PTX_VERSION")
    binary_version: int = _attribute("BINARY_VERSION")
    cache_mode_ca: int = _attribute("CACHE_MODE_CA")
    max_dynamic_shared_size_bytes: int = _attribute("MAX_DYNAMIC_SHARED_SIZE_BYTES", can_be_set=True)
    preferred_shared_memory_carveout: int = _attribute("PREFERRED_SHARED_MEMORY_CARVEOUT", can_be_set=True)

    def __init__(self, module: CupyModule, kernel: Kernel) -> None:
        self._module = module
        self.kernel = kernel
        """The store's kernel, whose launches check the types of arrays, too."""
        self.name = self.__name__ = kernel.name
        self.enable_cooperative_groups = module.enable_cooperative_groups
        self._cuda = _cupy().cuda
        self._launches: dict[Any, Callable[..., None]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return CupyModule.get_function, (self._module, self.name)

    def __repr__(self) -> str:
        return f"<CupyKernel {self.name} of {self._module.name!r}>"

    def __call__(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        args: Sequence[Any],
        *,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        """Launch asynchronously, by default on CuPy's current stream, in the current context.

        Sizes below 1 count as 1, as in CuPy. A cooperative launch has no more blocks than run at a time, which is
        warned of. Raises ArgumentError for arguments that do not fit, LaunchError for sizes, and DriverError.
        """
        address = (self._cuda.get_current_stream() if stream is None else stream).ptr
        try:
            launch = self._launches[grid, block, shared_mem, address]
        except (KeyError, TypeError):  # TypeError: a list among the sizes
            launch = None
        launch = launch or self._make(grid, block, shared_mem, address)
        readers = self._readers
        if len(args) > (most := len(readers)):
            warned = f"{self.name} takes {most} arguments, got {len(args)}; the last ones are not passed, as with CuPy"
            warn_user(warned)
        launch(*[read(arg) for read, arg in zip(readers, args, strict=False)])

    @property
    def attributes(self) -> dict[str, int]:
        """The kernel's attributes on the current device, by name; -1 for one that is not known here."""
        return {name: getattr(self, name) for name in CupyKernel.__annotations__}

    def compile(self, log_stream: Any = None) -> None:
        """Load the kernel for the current device."""
        del log_stream  # as for a module
        launches_of(self.kernel).loaded()

    @cached_property
    def _readers(self) -> tuple[_Read, ...]:
        taken = _Taken()
        return tuple(taken.reader(packing) for packing in launches_of(self.kernel).signature.packings)

    def _make(self, grid: Any, block: Any, shared_mem: int, stream: int) -> Callable[..., None]:
        blocks, threads, cooperative = _sizes(grid), _sizes(block), self.enable_cooperative_groups
        blocks = self._at_a_time(blocks, threads, shared_mem) if cooperative else blocks
        launch = launches_of(self.kernel).of_options(blocks, threads, shared_mem, stream, cooperative=cooperative)
        if not (cooperative or isinstance(grid, list) or isinstance(block, list)):  # devices differ in what fits
            remember(self._launches, (grid, block, shared_mem, stream), launch)
        return launch

    def _at_a_time(self, grid: tuple[int, ...], block: tuple[int, ...], shared_mem: int) -> tuple[int, ...]:
        """Return a grid of as many blocks as run at a time. Raises LaunchError for one of several dimensions."""
        loaded = launches_of(self.kernel).loaded()
        most = self.kernel.occupancy(block, shared_mem).blocks * loaded.device_attribute("MULTIPROCESSOR_COUNT")
        if grid[0] * grid[1] * grid[2] <= most:
            return grid
        if grid[1:] != (1, 1):
            raise LaunchError(f"{self.name}: a cooperative grid of {grid} blocks: at most {most} run at a time")
        warn_user(f"{self.name}: at most {most} blocks of a cooperative grid run at a time, and not {grid[0]}")
        return most, 1, 1


def _sizes(sizes: Any) -> tuple[int, ...]:
    """Return three sizes of what CuPy takes: more are not looked at, and none is below 1."""
    x, y, z, *_ = (*sizes, 1, 1, 1) if isinstance(sizes, tuple | list) else (sizes, 1, 1)
    return max(1, x), max(1, y), max(1, z)


class _Taken:
    """What CuPy takes for the parameters of a kernel, and what a launch gets in its place."""

    def __init__(self) -> None:
        cupy, self._numpy = _cupy(), sys.modules["numpy"]
        self._array = cupy.ndarray
        textures = cupy.cuda.texture
        self._by_pointer = (cupy.cuda.MemoryPointer, textures.TextureObject, textures.SurfaceObject)

    def reader(self, packing: Packing) -> _Read:
        if packing.may_be_pointer:
            return self._address
        if packing.is_struct:
            return lambda arg: self._by_value(arg, packing)
        if packing.is_float or packing.code == "?":
            return self._number
        take = self._number if 8 * packing.size < _WORD else self._number_or_address
        return lambda arg: self._integer(take(arg), 8 * packing.size, is_signed=packing.is_signed)

    def _address(self, arg: Any) -> Any:
        if isinstance(arg, self._array):
            return arg.data.ptr
        return None if arg is None else self._integer(self._number_or_address(arg), _WORD, is_signed=False)

    def _number_or_address(self, arg: Any) -> Any:
        if isinstance(arg, int):  # most are
            return arg
        if isinstance(arg, self._array):
            return arg.data.ptr
        return int(arg.ptr) if isinstance(arg, self._by_pointer) else self._number(arg)

    def _number(self, arg: Any) -> Any:
        """Return a number, None as 0, and a numpy array of one number as that."""
        if isinstance(arg, int | float):
            return arg
        return 0 if arg is None else self._one_of(arg)

    def _one_of(self, arg: Any) -> Any:
        is_one = isinstance(arg, self._numpy.ndarray) and arg.size == 1
        return arg.reshape(-1)[0] if is_one else arg

    def _integer(self, value: Any, bits: int, *, is_signed: bool | None) -> Any:
        """Return an integer as the parameter's type has its bits: -1 and 4294967295 are the same in 32 of them."""
        if is_signed is None or not isinstance(value, int | self._numpy.integer):
            return value
        number = int(value)
        least, beyond = -1 << bits - 1, 1 << bits
        if is_signed and -least <= number < beyond:
            return number - beyond
        return number + beyond if not is_signed and least <= number < 0 else number

    def _by_value(self, arg: Any, packing: Packing) -> Any:
        """Return the bytes of what is passed by value: a scalar or record of numpy, a complex number, a CuPy array."""
        arg = self._one_of(arg)
        if isinstance(arg, self._array):
            if packing.size != _ARRAY_HEAD + _ARRAY_AXIS * arg.ndim:
                return arg
            words = (arg.data.ptr, arg.size, *arg.shape, *arg.strides)
            return b"".join((word % (1 << _WORD)).to_bytes(8, "little") for word in words)
        if isinstance(arg, complex | self._numpy.complexfloating) and packing.size in _COMPLEX:
            return _COMPLEX[packing.size].pack(arg.real, arg.imag)
        is_scalar = isinstance(arg, self._numpy.generic) and arg.dtype.itemsize == packing.size
        if is_scalar and not (packing.special and arg.dtype.kind == "f"):
            return arg.tobytes()
        return arg
