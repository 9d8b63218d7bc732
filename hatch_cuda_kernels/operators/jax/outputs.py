"""What a call returns: which of a kernel's pointers, with which shape and dtype, in whose memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax

from hatch_cuda_kernels.errors import ArgumentError, InputError
from hatch_cuda_kernels.operators.division import divide
from hatch_cuda_kernels.operators.jax.handler import Passing, Source
from hatch_cuda_kernels.runtime.launch.elements import Element, MismatchError, word_of_numpy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatch_cuda_kernels.operators.division import Division
    from hatch_cuda_kernels.operators.kernel import OperatorKernel
    from hatch_cuda_kernels.signature import Parameter

__all__ = ["Outputs", "check_dtype"]


class Outputs(NamedTuple):
    """The outputs of a call as they were declared."""

    kernel: str
    division: Division
    results: tuple[Parameter, ...]
    """What is returned, in the kernel's order."""
    described: Mapping[str, Any]
    """By name: an array's name, a ``jax.ShapeDtypeStruct``, or a function of the arguments by name that returns one."""
    aliases: Mapping[int, int]
    """Results by the positions of the arrays whose memory they reuse."""

    @classmethod
    def declare(cls, kernel: OperatorKernel, out: Mapping[str, Any], aliases: Mapping[str, str]) -> Outputs:
        """Return the outputs. Raises InputError for what the kernel cannot do, or does without its being declared."""
        in_place = {name for name, output in aliases.items() if name == output}
        division = divide(kernel.name, kernel.parameters, out.keys() - in_place)
        for parameter in division.written:
            if parameter.name not in in_place:
                where = f"in out= if the call allocates it, in aliases={{{parameter.name!r}: {parameter.name!r}}}"
                message = f"{kernel.name} writes to {parameter}: name it {where} if it updates it"
                raise InputError(message)
        outputs = {*(parameter.name for parameter in division.outputs), *in_place}
        results = tuple(parameter for parameter in kernel.parameters if parameter.name in outputs)
        return cls(kernel.name, division, results, out, _positions(kernel.name, division, results, aliases))

    def avals(self, args: Mapping[str, Any]) -> list[jax.ShapeDtypeStruct]:
        """Return shape and dtype of each result, for the arguments of a call by name.

        Raises InputError for a description that is none, ArgumentError for a dtype that the kernel does not write.
        """
        return [self._aval(parameter, args) for parameter in self.results]

    def passing(self, kernel: OperatorKernel, offsets: Mapping[str, int]) -> Passing:
        """Return how the kernel's parameters are passed; ``offsets`` are where its numbers are in the constants."""
        arrays = {parameter.name: index for index, parameter in enumerate(self.division.arrays)}
        results = {parameter.name: index for index, parameter in enumerate(self.results)}
        sources = tuple(
            Source("r", results[name]) if name in results
            else Source("a", arrays[name]) if name in arrays
            else Source("c", offsets[name])
            for name in (parameter.name for parameter in kernel.parameters)
        )  # fmt: skip
        return Passing(len(arrays), len(results), sources)

    def _aval(self, parameter: Parameter, args: Mapping[str, Any]) -> jax.ShapeDtypeStruct:
        found = self.described.get(parameter.name, parameter.name)
        if isinstance(found, str):
            if found not in args:
                raise InputError(f"out[{parameter.name!r}] of {self.kernel} is {found!r}, which is none of its arrays")
            found = args[found]
        elif callable(found):
            found = found(args)
        if not (hasattr(found, "shape") and hasattr(found, "dtype")):
            raise InputError(
                f"out[{parameter.name!r}] of {self.kernel} must be the name of an array, a jax.ShapeDtypeStruct, "
                f"or a function that returns one, not {found!r}"
            )
        aval = jax.ShapeDtypeStruct(found.shape, found.dtype)
        check_dtype(f"out[{parameter.name!r}]", self.kernel, parameter, aval)
        return aval


def check_dtype(what: str, kernel: str, parameter: Parameter, array: Any) -> None:
    """Raise ArgumentError for an array whose elements are not what a pointer points to."""
    try:
        Element.of(parameter).check(word_of_numpy(array.dtype), "")
    except MismatchError as error:
        shape = ",".join(map(str, array.shape))
        raise ArgumentError(f"{what} of {kernel} is {parameter.type}, got {error}[{shape}]") from None


def _positions(
    kernel: str, division: Division, results: Sequence[Parameter], aliases: Mapping[str, str]
) -> dict[int, int]:
    """Return aliases by position. Raises InputError for a name that is no array, or no output."""
    arrays, outputs = ([parameter.name for parameter in some] for some in (division.arrays, results))
    for name, output in aliases.items():
        if name not in arrays:
            raise InputError(f"aliases of {kernel}: {name!r} is none of the arrays it takes: {', '.join(arrays)}")
        if output not in outputs:
            raise InputError(f"aliases of {kernel}: {output!r} is none of its outputs: {', '.join(outputs)}")
    return {arrays.index(name): outputs.index(output) for name, output in aliases.items()}
