"""What an operator takes and gives: a kernel's parameters as arrays read, arrays written, and numbers.

A pointer to const is read, any other one is written to. This holds for every framework.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hatch_cuda_kernels.signature import Parameter

__all__ = ["Division", "divide"]


class Division(NamedTuple):
    """A kernel's parameters by what an operator does with them; each in the kernel's order."""

    arrays: tuple[Parameter, ...]
    """Pointers that the caller gives an array for."""
    outputs: tuple[Parameter, ...]
    """Pointers to memory that the operator allocates, and returns."""
    numbers: tuple[Parameter, ...]
    """Whatever is passed by value."""
    written: tuple[Parameter, ...]
    """Those of the arrays that the kernel writes to."""


def divide(kernel: str, parameters: Sequence[Parameter], outputs: Collection[str]) -> Division:
    """Divide a kernel's parameters; ``outputs`` names those that the operator allocates.

    Raises InputError for an output that the kernel does not have, or that it cannot write to.
    """
    by_name = {parameter.name: parameter for parameter in parameters}
    for name in outputs:
        if name not in by_name:
            raise InputError(f"{kernel} has no parameter {name!r}; its parameters are {_listed(parameters)}")
        if not by_name[name].is_pointer or by_name[name].is_const:
            raise InputError(f"{name} of {kernel} is {by_name[name].type}, which the kernel cannot write to")
    pointers = [parameter for parameter in parameters if parameter.is_pointer]
    arrays = tuple(parameter for parameter in pointers if parameter.name not in outputs)
    return Division(
        arrays,
        tuple(parameter for parameter in pointers if parameter.name in outputs),
        tuple(parameter for parameter in parameters if not parameter.is_pointer),
        tuple(parameter for parameter in arrays if not parameter.is_const),
    )


def _listed(parameters: Sequence[Parameter]) -> str:
    return ", ".join(map(str, parameters)) or "none"
