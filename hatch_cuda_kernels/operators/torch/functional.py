"""Out-of-place variants: they allocate what the kernel writes to, and return it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from hatch_cuda_kernels.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.operators.torch.launching import OperatorLaunch
    from hatch_cuda_kernels.operators.torch.schema import Argument

__all__ = ["Functional", "Like"]

#: What an output is like: an input by name, itself for a changed copy, or a function of inputs that returns it.
Like = str | Callable[..., torch.Tensor]


class _Output(NamedTuple):
    """A tensor that the operator allocates."""

    argument: Argument
    like: Like
    wanted: tuple[str, ...]
    """The inputs that the function takes."""

    @property
    def is_copy(self) -> bool:
        """Whether it begins as a copy of an input of its own name."""
        return self.like == self.argument.name


class Functional:
    """An operator that takes a kernel's arguments without those it only writes to, and returns all it writes to."""

    def __init__(self, launch: OperatorLaunch, like: Mapping[str, Like]) -> None:
        """Raise InputError unless every written tensor is like something that there is."""
        self._launch = launch
        self.name = f"{launch.name}_functional"
        written = {argument.name: argument for argument in launch.arguments if argument.is_written}
        if set(like) != set(written):
            named, wanted = ", ".join(like) or "nothing", ", ".join(written) or "nothing"
            raise InputError(f"functional for {launch.name} names {named}, and the kernel writes to {wanted}")
        new = {name for name in written if like[name] != name}
        self.arguments = tuple(
            argument._replace(is_written=False) for argument in launch.arguments if argument.name not in new
        )
        self.outputs = tuple(self._output(argument, like[name]) for name, argument in written.items())
        self._places = [argument.name for argument in launch.arguments]

    def run(self, *args: Any) -> torch.Tensor | tuple[torch.Tensor, ...]:
        """Allocate, launch, and return. Raises what the in-place operator raises."""
        values = self._values(args)
        self._launch.run(*(values[name] for name in self._places))
        return self._returned(values)

    def fake(self, *args: Any) -> torch.Tensor | tuple[torch.Tensor, ...]:
        """Allocate and return without a launch. Raises ArgumentError for dtypes that do not fit."""
        values = self._values(args)
        self._launch.fake(*(values[name] for name in self._places))
        return self._returned(values)

    def _values(self, args: Sequence[Any]) -> dict[str, Any]:
        values = {argument.name: value for argument, value in zip(self.arguments, args, strict=True)}
        made = {output.argument.name: _allocate(output, values) for output in self.outputs}
        return values | made

    def _returned(self, values: Mapping[str, Any]) -> torch.Tensor | tuple[torch.Tensor, ...]:
        made = tuple(values[output.argument.name] for output in self.outputs)
        return made[0] if len(made) == 1 else made

    def _output(self, argument: Argument, like: Like) -> _Output:
        """Return how a tensor is allocated. Raises InputError for inputs that are not there."""
        names = (like,) if isinstance(like, str) else tuple(inspect.signature(like).parameters)
        inputs = {given.name for given in self.arguments if given.is_tensor or not isinstance(like, str)}
        for name in names:
            if name not in inputs:
                known = ", ".join(given.name for given in self.arguments if given.name in inputs) or "none"
                message = f"{self._launch.name} has no input {name!r} for {argument.name} to be like"
                raise InputError(f"{message}; the inputs are {known}")
        return _Output(argument, like, names)


def _allocate(output: _Output, values: Mapping[str, Any]) -> torch.Tensor:
    """Return an output as the kernel gets it; what is no copy is not initialised. Works on fake tensors too."""
    if callable(output.like):
        return output.like(*(values[name] for name in output.wanted))
    model: torch.Tensor = values[output.like]
    if output.is_copy:
        return model.clone(memory_format=torch.contiguous_format)
    stated = output.argument.dtypes
    dtype = getattr(torch, stated[0]) if len(stated) == 1 else model.dtype
    return torch.empty_like(model, dtype=dtype, memory_format=torch.contiguous_format)
