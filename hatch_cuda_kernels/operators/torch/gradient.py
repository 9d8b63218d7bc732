"""Gradients of out-of-place operators: another operator, or a function, that takes what it needs by name.

``grad_y`` is the gradient of the output ``y``, and any other name is that of an input or an output. An operator writes
to ``grad_x`` the gradient of the input ``x``; a function returns such gradients by the names of the inputs.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from hatch_cuda_kernels.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hatch_cuda_kernels.operators.torch.functional import Functional
    from hatch_cuda_kernels.operators.torch.schema import Argument

    #: Takes what its parameters name, and gives gradients by the names of inputs.
    Backward = Callable[..., Mapping[str, torch.Tensor | None]]

__all__ = ["Gradient", "Operation"]

_GRAD: Final = "grad_"


class Operation(NamedTuple):
    """An in-place operator that gives gradients."""

    call: Any
    """The operator, as torch has it."""
    arguments: Sequence[Argument]


class Gradient(NamedTuple):
    """What ``torch.library.register_autograd`` is told of an operator."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    wanted: tuple[str, ...]
    """What the backward takes, by name."""
    backward: Backward

    @classmethod
    def make(cls, forward: Functional, backward: Backward | Operation) -> Gradient:
        """Return the gradient of an operator. Raises InputError for a name that is nothing of the forward's."""
        inputs = tuple(argument.name for argument in forward.arguments)
        outputs = tuple(output.argument.name for output in forward.outputs)
        function = backward if callable(backward) else _of_operation(forward.name, inputs, backward)
        wanted = tuple(inspect.signature(function).parameters)
        told = {*inputs, *outputs, *(f"{_GRAD}{name}" for name in outputs)}
        unknown = [name for name in wanted if name not in told]
        if unknown:
            message = f"the gradient of {forward.name} takes {', '.join(unknown)}"
            raise InputError(f"{message}; it can have {', '.join(sorted(told))}")
        return cls(forward.name, inputs, outputs, wanted, function)

    def remember(self, ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        """Keep what the backward takes."""
        results = (output,) if isinstance(output, torch.Tensor) else output
        # An input of the same name was copied, and the copy is what is returned: the output is meant.
        values = dict(zip(self.inputs, inputs, strict=True)) | dict(zip(self.outputs, results, strict=True))
        kept = {name: values[name] for name in self.wanted if name in values}
        tensors = {name: value for name, value in kept.items() if isinstance(value, torch.Tensor)}
        ctx.save_for_backward(*tensors.values())
        ctx.tensor_names = tuple(tensors)
        ctx.numbers = {name: value for name, value in kept.items() if name not in tensors}

    def __call__(self, ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Return the gradient of each input, None for one that has none. Raises InputError for one that is not."""
        known = dict(zip(ctx.tensor_names, ctx.saved_tensors, strict=True)) | ctx.numbers
        for name, grad in zip(self.outputs, grads, strict=True):
            known[f"{_GRAD}{name}"] = grad.contiguous()
        found = self.backward(**{name: known[name] for name in self.wanted})
        unknown = [name for name in found if name not in self.inputs]
        if unknown:
            listed = ", ".join(self.inputs)
            raise InputError(f"the gradient of {self.name} gives one for {unknown[0]!r}; its inputs are {listed}")
        return tuple(found.get(name) for name in self.inputs)


def _of_operation(name: str, inputs: Sequence[str], operation: Operation) -> Backward:
    """Return an operator as a function of what it reads. Raises InputError for one that writes anything else."""
    given = {
        argument.name: argument.name.removeprefix(_GRAD) for argument in operation.arguments if argument.is_written
    }
    for written, of in given.items():
        if of == written or of not in inputs:
            wanted = ", ".join(f"{_GRAD}{known}" for known in inputs)
            raise InputError(
                f"{operation.call} cannot be the gradient of {name}: it writes to {written}, not to {wanted}"
            )
    places = [argument.name for argument in operation.arguments]

    def backward(**known: Any) -> dict[str, torch.Tensor | None]:
        made = {
            written: torch.empty_like(known[of], memory_format=torch.contiguous_format) for written, of in given.items()
        }
        operation.call(*({**known, **made}[place] for place in places))
        return {of: made[written] for written, of in given.items()}

    reads = dict.fromkeys([place for place in places if place not in given] + [*given.values()])
    named = [inspect.Parameter(read, inspect.Parameter.KEYWORD_ONLY) for read in reads]
    backward.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]  # which inspect reads
    return backward
