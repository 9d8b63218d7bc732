"""What an operator takes and gives: a kernel's parameters as arrays read, arrays written, and numbers.

A pointer to const is read, any other one is written to. This holds for every framework.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from hatch_cuda_kernels.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["Division", "OperatorParameter", "divide"]


class OperatorParameter(Protocol):
    """What an operator needs to know of a parameter."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def type(self) -> str:
        """Its C++ type."""

    @property
    def dtypes(self) -> tuple[str, ...]:
        """What arrays may call the elements that it points to; empty if any will do."""

    @property
    def size(self) -> int:
        """Bytes that it takes among the kernel's arguments."""

    @property
    def align(self) -> int:
        """What its place there is a multiple of."""

    @property
    def is_pointer(self) -> bool:
        """Whether it is a pointer."""

    @property
    def is_const(self) -> bool:
        """Whether what it points to is const."""


class Division(NamedTuple):
    """A kernel's parameters by what an operator does with them; each in the kernel's order."""

    arrays: tuple[OperatorParameter, ...]
    """Pointers that the caller gives an array for."""
    outputs: tuple[OperatorParameter, ...]
    """Pointers to memory that the operator allocates, and returns."""
    numbers: tuple[OperatorParameter, ...]
    """Whatever is passed by value."""
    written: tuple[OperatorParameter, ...]
    """Those of the arrays that the kernel writes to."""


def divide(kernel: str, parameters: Sequence[OperatorParameter], outputs: Collection[str]) -> Division:
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


def _listed(parameters: Sequence[OperatorParameter]) -> str:
    return ", ".join(f"{parameter.type} {parameter.name}" for parameter in parameters) or "none"
