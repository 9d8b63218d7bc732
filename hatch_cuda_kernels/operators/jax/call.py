"""A kernel as a function for use inside ``jax.jit``: checked when it is traced, launched by XLA."""

from __future__ import annotations

import inspect
from math import prod
from typing import TYPE_CHECKING, Any, Final, Literal

import jax

from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.errors import ArgumentError, InputError, LaunchError
from hatch_cuda_kernels.names import base_name
from hatch_cuda_kernels.operators.jax.constants import ATTRIBUTE, Constants
from hatch_cuda_kernels.operators.jax.outputs import Outputs, check_dtype
from hatch_cuda_kernels.operators.jax.registration import Registered, register
from hatch_cuda_kernels.operators.jax.target import CudaTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hatch_cuda_kernels.operators.jax.handler import LaunchTarget, Passing
    from hatch_cuda_kernels.operators.kernel import OperatorKernel
    from hatch_cuda_kernels.runtime.launch.shapes import Shape
    from hatch_cuda_kernels.signature import Parameter

    #: How ``jax.vmap`` calls the kernel: once for each element, or once with a grid that has them on an axis.
    Vmap = Literal["sequential", "y", "z"]

__all__ = ["JaxCall", "make_call"]

#: Raised when names or texts get another meaning: programs kept on disk must not meet a handler that reads them anew.
_VERSION: Final = "1"
_AXES: Final = ("y", "z")
#: Most blocks of a grid on the axes y and z (CUDA C++ Programming Guide, "Technical Specifications").
_MOST_BLOCKS: Final = 65535


def make_call(
    kernel: OperatorKernel,
    *,
    out: Mapping[str, Any],
    aliases: Mapping[str, str],
    vmap: Vmap = "sequential",
    target: LaunchTarget | None = None,
) -> JaxCall:
    """Return the function of ``Store.jax_call``. Raises InputError for a declaration that does not fit the kernel."""
    if vmap != "sequential" and vmap not in _AXES:
        raise InputError(f"vmap of {kernel.name} must be 'sequential', 'y' or 'z', not {vmap!r}")
    return JaxCall(kernel, Outputs.declare(kernel, out, aliases), vmap, target or CudaTarget(kernel.get_kernel))


class JaxCall:
    """A kernel as a function of JAX. It takes the kernel's arguments without its outputs, which it returns."""

    def __init__(self, kernel: OperatorKernel, outputs: Outputs, vmap: Vmap, target: LaunchTarget) -> None:
        self._kernel = kernel
        self._outputs = outputs
        self._vmap = vmap
        taken = {parameter.name for parameter in (*outputs.division.arrays, *outputs.division.numbers)}
        registered = _register(kernel, outputs.passing(kernel, _offsets(kernel)), target)
        self._target = registered.handler.target
        self.target_name = registered.name
        """The name that XLA calls it by."""
        self.__name__ = kernel.name
        self.__signature__ = inspect.Signature(
            [
                inspect.Parameter(parameter.name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
                for parameter in kernel.parameters
                if parameter.name in taken
            ]
        )

    def __repr__(self) -> str:
        return f"<JaxCall {self._kernel.name}{self.__signature__}>"

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Return the outputs: an array, or a tuple of them in the kernel's order.

        Numbers are part of the compiled function, so they must be known when it is traced. Raises ArgumentError for
        arguments that do not fit the signature, LaunchError for a bad grid or block, and what ``Store.get_kernel``
        raises; what fails at execution is an error of JAX.
        """
        given = self._bound(args, named)
        packed = self._packed(given)
        arrays = [self._array(index, given) for index in range(len(self._outputs.division.arrays))]
        known = given | {
            parameter.name: jax.ShapeDtypeStruct(array.shape, array.dtype)
            for parameter, array in zip(self._outputs.division.arrays, arrays, strict=True)
        }
        avals = self._outputs.avals(known)
        written = dict(zip((parameter.name for parameter in self._outputs.results), avals, strict=True))
        constants = Constants(self._kernel.sizes({**known, **written}), packed)
        self._target.prepare()
        results = self._batched(constants, avals, ())(*arrays)
        return results[0] if len(results) == 1 else tuple(results)

    def _bound(self, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return self.__signature__.bind(*args, **named).arguments
        except TypeError as error:
            raise ArgumentError(f"{self._kernel.name}{self.__signature__}: {error}") from None

    def _array(self, index: int, given: Mapping[str, Any]) -> jax.Array:
        """Return the argument for a pointer. Raises ArgumentError for what is no array, or of another dtype."""
        parameter = self._outputs.division.arrays[index]
        value, what = given[parameter.name], self._what(parameter)
        if not (hasattr(value, "shape") and hasattr(value, "dtype")):
            message = f"{what} of {self._kernel.name} is {parameter.type}, got {value!r} ({type(value).__name__})"
            raise ArgumentError(message)
        array = jax.numpy.asarray(value)
        check_dtype(what, self._kernel.name, parameter, array)
        return array

    def _what(self, parameter: Parameter) -> str:
        return f"argument {self._kernel.parameters.index(parameter)} ({parameter.name})"

    def _packed(self, given: Mapping[str, Any]) -> bytes:
        """Return the parameter buffer without addresses. Raises ArgumentError."""
        for parameter in self._outputs.division.numbers:
            if isinstance(given[parameter.name], jax.core.Tracer):
                raise ArgumentError(
                    f"{self._what(parameter)} of {self._kernel.name} is {parameter.type}, passed by value, so it "
                    "must be known when the function is traced: take it from a shape, or name it in static_argnames"
                )
        numbers = {parameter.name for parameter in self._outputs.division.numbers}
        names = [parameter.name for parameter in self._kernel.parameters]
        return self._kernel.signature.pack([given[name] if name in numbers else 0 for name in names])

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


def _register(kernel: OperatorKernel, passing: Passing, target: LaunchTarget) -> Registered:
    """Register the kernel's handler with XLA, by a name that is the same in each process."""
    types = (parameter.type for parameter in kernel.parameters)
    facts = "\0".join((_VERSION, *kernel.identity, *types, repr(passing)))
    name = f"hatch_cuda_kernels.{base_name(kernel.name)}.{sha256(facts.encode()).hexdigest()[:16]}"
    return register(name, kernel.scope, passing, target)


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


def _offsets(kernel: OperatorKernel) -> dict[str, int]:
    """Return where each parameter is in the parameter buffer."""
    offsets, end = {}, 0
    for parameter in kernel.parameters:
        offsets[parameter.name] = end + -end % parameter.align
        end = offsets[parameter.name] + parameter.size
    return offsets
