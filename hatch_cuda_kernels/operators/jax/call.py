"""A kernel as a function for use inside ``jax.jit``: declared once, checked when it is traced, launched by XLA.

XLA keeps the address of a handler and takes no other one for its name. A name holds nothing of this process: programs
that JAX compiled and kept on disk call by it.
"""

from __future__ import annotations

import ctypes
import inspect
import threading
from math import prod
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import jax

from hatch_cuda_kernels.driver import cuda, launch_by_address, on_device
from hatch_cuda_kernels.errors import ArgumentError, InputError, LaunchError
from hatch_cuda_kernels.integrity import sha256
from hatch_cuda_kernels.names import base_name
from hatch_cuda_kernels.operators import find_operator_kernel
from hatch_cuda_kernels.operators.jax.handler import (
    ATTRIBUTE,
    Constants,
    Entered,
    Handler,
    Passing,
    Source,
    stream_getter,
)
from hatch_cuda_kernels.runtime.launch import Configs, Element, Launch, MismatchError, launches_of, word_of_numpy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from hatch_cuda_kernels.environment import Policy
    from hatch_cuda_kernels.operators import OperatorKernel
    from hatch_cuda_kernels.operators.jax.handler import LaunchTarget
    from hatch_cuda_kernels.runtime.launch import Dim, Kernel, LaunchAttributes, Shape
    from hatch_cuda_kernels.signature import Parameter
    from hatch_cuda_kernels.store import StoreReader

    #: How ``jax.vmap`` calls the kernel: once for each element, or once with a grid that has them on an axis.
    Vmap = Literal["sequential", "y", "z"]

    class CallOptions(LaunchAttributes, total=False):
        """Options of ``Store.jax_call``. Each size may be a function of the arguments by name."""

        out: Mapping[str, Any]
        """Parameters that the call allocates and returns, each with what it is like: the name of an array, a
        ``jax.ShapeDtypeStruct``, or a function of the arguments by name that returns one."""
        aliases: Mapping[str, str]
        """Arrays whose memory an output takes over: ``{"x": "y"}``; ``{"y": "y"}`` for one that is updated in place."""
        grid: Dim | Callable[[Mapping[str, Any]], Dim]
        block: Dim | Callable[[Mapping[str, Any]], Dim]
        shared_mem: int | Callable[[Mapping[str, Any]], int]
        vmap: Vmap
        """``sequential``: one launch for each element of a batch. ``y`` or ``z``: one launch for all, whose grid has
        the batch on this axis; each array has it as its first dimension."""
        module: str | None
        policy: Policy | None


class Registered(NamedTuple):
    """What XLA knows."""

    name: str
    handler: Handler
    callback: Any
    """What XLA calls; it must stay."""


_Callback: Final = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)
_lock: Final = threading.Lock()
#: By scope, name and platform. Nothing is ever removed.
_REGISTERED: Final[dict[tuple[str, str, str], Registered]] = {}


def register(name: str, scope: str, passing: Passing, target: LaunchTarget) -> Registered:
    """Return the handler of a name, which is registered the first time.

    ``scope`` says whose kernel it is. For another kernel of the same name, the name is extended.
    """
    with _lock:
        known = _REGISTERED.get(key := (scope, name, target.platform))
        if known is not None:
            return known
        taken = any((name, target.platform) == (other, platform) for _, other, platform in _REGISTERED)
        unique = f"{name}.{sha256(scope.encode()).hexdigest()[:8]}" if taken else name
        handler = Handler(passing, target)
        callback = _Callback(handler.handle)
        address = ctypes.cast(callback, ctypes.c_void_p).value
        jax.ffi.register_ffi_target(unique, jax.ffi.pycapsule(address), platform=target.platform)
        return _REGISTERED.setdefault(key, Registered(unique, handler, callback))


class CudaTarget:
    """A kernel on the CUDA devices of this process. XLA has the context of its stream current when it calls."""

    platform = "CUDA"

    def __init__(self, get_kernel: Callable[[], Kernel]) -> None:
        self._get_kernel = get_kernel
        self._prepared = False

    @property
    def launch(self) -> Callable[[int, int, int, int], int]:
        """The driver's launch. Raises DriverError without a driver."""
        launch: Callable[[int, int, int, int], int] = launch_by_address()
        return launch

    def prepare(self) -> None:
        """Load the kernel on each device that JAX uses, once; on none where JAX has no GPU, as when it only traces."""
        for ordinal in () if self._prepared else _ordinals():
            with on_device(ordinal):
                self._get_kernel()
        self._prepared = True

    def get_stream(self, api: int) -> Callable[[int], Any]:
        """Return XLA's function for the stream."""
        return stream_getter(api)

    def enter(self, shape: Shape, stream: int | None) -> Entered:
        """Return the kernel and the configuration for a shape on a stream. Raises what ``Store.get_kernel`` raises."""
        loaded = launches_of(self._get_kernel()).loaded()
        loaded.allow(shape)
        configs = Configs(shape)
        # The kernel, not the function of this context: it goes to the context of the stream, whichever that is by then.
        return Entered(int(configs[stream].getPtr()), int(loaded.handle), (configs, loaded))

    def refuse(self, status: int, shape: Shape, stream: int | None) -> None:
        """Raise the DriverError for a launch that the driver refused, with what explains it."""
        Launch(launches_of(self._get_kernel()), shape, stream).refuse(cuda().CUresult(status), stream)


def _ordinals() -> list[int]:
    try:
        devices = jax.local_devices(backend="cuda")
    except RuntimeError:  # no such backend
        return []
    return [device.local_hardware_id for device in devices]


class Outputs(NamedTuple):
    """The outputs of a call as they were declared, and what the caller gives; each in the kernel's order."""

    kernel: str
    arrays: tuple[Parameter, ...]
    """Pointers that the caller gives an array for."""
    numbers: tuple[Parameter, ...]
    """Whatever is passed by value."""
    results: tuple[Parameter, ...]
    """What is returned: memory that the call allocates, and arrays that it updates."""
    described: Mapping[str, Any]
    """By name: an array's name, a ``jax.ShapeDtypeStruct``, or a function of the arguments by name that returns one."""
    aliases: Mapping[int, int]
    """Results by the positions of the arrays whose memory they reuse."""

    @classmethod
    def declare(cls, kernel: OperatorKernel, out: Mapping[str, Any], aliases: Mapping[str, str]) -> Outputs:
        """Return the outputs. Raises InputError for what the kernel cannot do, or does without its being declared."""
        in_place = {name for name, output in aliases.items() if name == output}
        allocated = out.keys() - in_place
        _check_outputs(kernel, allocated)
        arrays = tuple(found for found in kernel.parameters if found.is_pointer and found.name not in allocated)
        for parameter in arrays:
            if not parameter.is_const and parameter.name not in in_place:
                where = f"in out= if the call allocates it, in aliases={{{parameter.name!r}: {parameter.name!r}}}"
                raise InputError(f"{kernel.name} writes to {parameter}: name it {where} if it updates it")
        results = tuple(parameter for parameter in kernel.parameters if parameter.name in allocated | in_place)
        numbers = tuple(parameter for parameter in kernel.parameters if not parameter.is_pointer)
        return cls(kernel.name, arrays, numbers, results, out, _positions(kernel.name, arrays, results, aliases))

    def avals(self, args: Mapping[str, Any]) -> dict[str, jax.ShapeDtypeStruct]:
        """Return shape and dtype of each result by name, for the arguments of a call by name.

        Raises InputError for an invalid description, ArgumentError for a dtype that the kernel does not write.
        """
        return {parameter.name: self._aval(parameter, args) for parameter in self.results}

    def passing(self, kernel: OperatorKernel) -> Passing:
        """Return how the kernel's parameters are passed: the numbers as constants, which are laid out as the buffer."""
        buffers = {parameter.name: Source("a", index) for index, parameter in enumerate(self.arrays)}
        buffers |= {parameter.name: Source("r", index) for index, parameter in enumerate(self.results)}
        places = zip(kernel.parameters, kernel.signature.places, strict=True)
        sources = tuple(buffers.get(parameter.name, Source("c", place)) for parameter, place in places)
        return Passing(len(self.arrays), len(self.results), sources)

    def _aval(self, parameter: Parameter, args: Mapping[str, Any]) -> jax.ShapeDtypeStruct:
        found, what = self.described.get(parameter.name, parameter.name), f"out[{parameter.name!r}] of {self.kernel}"
        if isinstance(found, str):
            if found not in args:
                raise InputError(f"{what} is {found!r}, not one of its arrays")
            found = args[found]
        elif callable(found):
            found = found(args)
        if not (hasattr(found, "shape") and hasattr(found, "dtype")):
            takes = "the name of an array, a jax.ShapeDtypeStruct, or a function that returns one"
            raise InputError(f"{what} must be {takes}, not {found!r}")
        aval = jax.ShapeDtypeStruct(found.shape, found.dtype)
        check_dtype(what, parameter, aval)
        return aval


def check_dtype(what: str, parameter: Parameter, array: Any) -> None:
    """Raise ArgumentError for an array whose elements are not what a pointer points to."""
    try:
        Element.of(parameter).check(word_of_numpy(array.dtype), "")
    except MismatchError as error:
        shape = ",".join(map(str, array.shape))
        raise ArgumentError(f"{what} is {parameter.type}, got {error}[{shape}]") from None


def _check_outputs(kernel: OperatorKernel, allocated: Collection[str]) -> None:
    """Raise InputError for an output that the kernel does not have, or that it cannot write to."""
    by_name = {parameter.name: parameter for parameter in kernel.parameters}
    for name in allocated:
        if name not in by_name:
            listed = ", ".join(map(str, kernel.parameters)) or "none"
            raise InputError(f"{kernel.name} has no parameter {name!r}; its parameters are {listed}")
        if not by_name[name].is_pointer or by_name[name].is_const:
            raise InputError(f"{name} of {kernel.name} is {by_name[name].type}, which the kernel cannot write to")


def _positions(
    kernel: str, taken: Sequence[Parameter], results: Sequence[Parameter], aliases: Mapping[str, str]
) -> dict[int, int]:
    """Return aliases by position. Raises InputError for a name that is not an array, or not an output."""
    arrays, outputs = ([parameter.name for parameter in some] for some in (taken, results))
    for name, output in aliases.items():
        if name not in arrays:
            raise InputError(f"aliases of {kernel}: {name!r} is not one of its arrays: {', '.join(arrays)}")
        if output not in outputs:
            raise InputError(f"aliases of {kernel}: {output!r} is not one of its outputs: {', '.join(outputs)}")
    return {arrays.index(name): outputs.index(output) for name, output in aliases.items()}


#: Raised when names or texts change their meaning: programs on disk must not meet a handler that reads them otherwise.
_VERSION: Final = "1"
_AXES: Final = ("y", "z")
#: Most blocks of a grid on the axes y and z (CUDA C++ Programming Guide, "Technical Specifications").
_MOST_BLOCKS: Final = 65535


class JaxCall:
    """A kernel as a function of JAX. It takes the kernel's arguments without its outputs, which it returns."""

    def __init__(
        self,
        kernel: OperatorKernel,
        *,
        out: Mapping[str, Any],
        aliases: Mapping[str, str],
        vmap: Vmap = "sequential",
        target: LaunchTarget | None = None,
    ) -> None:
        """Raise InputError for a declaration that does not fit the kernel."""
        if vmap != "sequential" and vmap not in _AXES:
            raise InputError(f"vmap of {kernel.name} must be 'sequential', 'y' or 'z', not {vmap!r}")
        self._kernel, self._vmap = kernel, vmap
        self._outputs = outputs = Outputs.declare(kernel, out, aliases)
        passing, types = outputs.passing(kernel), (parameter.type for parameter in kernel.parameters)
        facts = "\0".join((_VERSION, *kernel.identity, *types, repr(passing)))
        name = f"hatch_cuda_kernels.{base_name(kernel.name)}.{sha256(facts.encode()).hexdigest()[:16]}"
        registered = register(name, kernel.scope, passing, target or CudaTarget(kernel.get_kernel))
        self._target = registered.handler.target
        self.target_name = registered.name
        """The name that XLA calls it by."""
        self.__name__ = kernel.name
        given = [parameter.name for parameter in kernel.parameters if parameter in (*outputs.arrays, *outputs.numbers)]
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in given]
        )

    def __repr__(self) -> str:
        return f"<JaxCall {self._kernel.name}{self.__signature__}>"

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Return the outputs: an array, or a tuple of them in the kernel's order.

        Numbers are part of the compiled function, so they must be known when it is traced. Raises ArgumentError for
        arguments that do not fit the signature, LaunchError for a bad grid or block, and what ``Store.get_kernel``
        raises; what fails at execution is an error of JAX.
        """
        try:
            given = self.__signature__.bind(*args, **named).arguments
        except TypeError as error:
            raise ArgumentError(f"{self._kernel.name}{self.__signature__}: {error}") from None
        packed = self._packed(given)
        arrays = {parameter.name: self._array(parameter, given[parameter.name]) for parameter in self._outputs.arrays}
        known = given | {name: jax.ShapeDtypeStruct(array.shape, array.dtype) for name, array in arrays.items()}
        written = self._outputs.avals(known)
        constants = Constants(self._kernel.sizes({**known, **written}), packed)
        self._target.prepare()
        results = self._batched(constants, [*written.values()], ())(*arrays.values())
        return results[0] if len(results) == 1 else tuple(results)

    def _array(self, parameter: Parameter, value: Any) -> jax.Array:
        """Return the argument for a pointer. Raises ArgumentError unless it is an array of a dtype that fits."""
        what = self._what(parameter)
        if not (hasattr(value, "shape") and hasattr(value, "dtype")):
            raise ArgumentError(f"{what} is {parameter.type}, got {value!r} ({type(value).__name__})")
        array = jax.numpy.asarray(value)
        check_dtype(what, parameter, array)
        return array

    def _what(self, parameter: Parameter) -> str:
        return f"argument {self._kernel.parameters.index(parameter)} ({parameter.name}) of {self._kernel.name}"

    def _packed(self, given: Mapping[str, Any]) -> bytes:
        for parameter in self._outputs.numbers:
            if isinstance(given[parameter.name], jax.core.Tracer):
                raise ArgumentError(
                    f"{self._what(parameter)} is {parameter.type}, passed by value, so it must be known when the "
                    "function is traced: take it from a shape, or name it in static_argnames"
                )
        values = (0 if parameter.is_pointer else given[parameter.name] for parameter in self._kernel.parameters)
        return self._kernel.signature.pack([*values])

    def _batched(
        self, constants: Constants, avals: Sequence[jax.ShapeDtypeStruct], batch: tuple[int, ...]
    ) -> Callable[..., list[jax.Array]]:
        """Return the function that calls the kernel with arrays that have the axes of a batch before their own."""
        shape = _with_axis(self._kernel.name, constants.shape, self._vmap, prod(batch))
        call = jax.ffi.ffi_call(
            self.target_name,
            [jax.ShapeDtypeStruct((*batch, *aval.shape), aval.dtype) for aval in avals],
            vmap_method="sequential",
            input_output_aliases=dict(self._outputs.aliases),
        )
        text = constants._replace(shape=shape).to_text()

        def run(*arrays: jax.Array) -> list[jax.Array]:
            return list(call(*arrays, **{ATTRIBUTE: text}))

        if self._vmap == "sequential":
            return run

        def rule(size: int, is_mapped: Sequence[bool], *arrays: jax.Array) -> tuple[list[jax.Array], list[bool]]:
            whole = [
                array if there else jax.numpy.broadcast_to(array, (size, *array.shape))
                for array, there in zip(arrays, is_mapped, strict=True)
            ]
            results = self._batched(constants, avals, (size, *batch))(*whole)
            return results, [True] * len(results)

        mapped = jax.custom_batching.custom_vmap(run)
        mapped.def_vmap(rule)
        batched: Callable[..., list[jax.Array]] = mapped
        return batched


def _with_axis(kernel: str, shape: Shape, axis: Vmap, size: int) -> Shape:
    """Return a shape whose grid has a batch on an axis. Raises LaunchError for a batch that is too large for it."""
    if axis == "sequential" or size == 1:
        return shape
    x, y, z = shape.grid
    grid = (x, y * size, z) if axis == "y" else (x, y, z * size)
    if max(grid[1:]) > _MOST_BLOCKS:
        raise LaunchError(
            f"{kernel}: a batch of {size} makes a grid of {grid} blocks, and CUDA takes {_MOST_BLOCKS} on axis {axis}; "
            "use vmap='sequential', or jax.lax.map with batch_size"
        )
    return shape._replace(grid=grid)


#: What a call declares besides how it is launched, with the default.
_DECLARED: Final[dict[str, Any]] = {"out": {}, "aliases": {}, "vmap": "sequential"}


def declare(
    reader: StoreReader, get_kernel: Callable[..., Kernel], policy: Policy, name: str, options: CallOptions
) -> JaxCall:
    """Return the function. Raises as ``Store.jax_call`` does."""
    sizes: dict[str, Any] = {**options}
    module, policy = sizes.pop("module", None), sizes.pop("policy", None) or policy
    declared = {option: sizes.pop(option, default) for option, default in _DECLARED.items()}
    return JaxCall(find_operator_kernel(reader, get_kernel, name, module, policy, sizes), **declared)
