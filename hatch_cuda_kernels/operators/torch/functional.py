"""Out-of-place variants: they allocate what the kernel writes to, and return it.

The function for ``scale(y, x, factor, n)``, whose ``y`` is like ``x``, reads as below. It works on fake tensors too,
with the check in place of the launch. Only positions get into its text.

    def run(i0, i1, i2):
        o0 = make0(i0)
        launch(o0, i0, i1, i2)
        return o0

Their gradients are another operator, or a function, that takes what it needs by name. ``grad_y`` is the gradient of the
output ``y``, and any other name is that of an input or an output. An operator writes to ``grad_x`` the gradient of the
input ``x``; a function returns such gradients by the names of the inputs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.operators.torch.launch import dtypes_of, function_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hatch_cuda_kernels.operators.torch.launch import OperatorLaunch
    from hatch_cuda_kernels.operators.torch.schema import Argument

    #: Takes what its parameters name, and gives gradients by the names of inputs.
    Backward = Callable[..., Mapping[str, torch.Tensor | None]]

_GRAD: Final = "grad_"


class Operation(NamedTuple):
    """An in-place operator that gives gradients."""

    call: Any
    """The operator, as torch has it."""
    arguments: Sequence[Argument]


class Gradient(NamedTuple):
    """The gradient of an operator, for ``torch.library.register_autograd``."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    wanted: tuple[str, ...]
    """What the backward takes, by name."""
    backward: Backward

    @classmethod
    def make(cls, forward: Functional, backward: Backward | Operation) -> Gradient:
        """Return the gradient of an operator. Raises InputError for a name that the forward operator does not have."""
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
        """Return the gradient of each input, or None for one without. Raises InputError for any other gradient."""
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


#: What an output is like: an input by name, itself for a changed copy, or a function of inputs that returns it.
Like = str | Callable[..., torch.Tensor]

_TEMPLATE: Final = """
def make(launch, {makers}):
    def run({inputs}):
        {made}
        launch({passed})
        return {returned}
    return run
"""


class _Output(NamedTuple):
    """A tensor that the operator allocates."""

    argument: Argument
    make: Callable[..., torch.Tensor]
    """Allocates it, uninitialised unless it is a copy."""
    wanted: tuple[str, ...]
    """The inputs that this takes."""


class Functional:
    """An operator that takes a kernel's arguments without those it only writes to, and returns all it writes to."""

    def __init__(self, launch: OperatorLaunch, like: Mapping[str, Like]) -> None:
        """Raise InputError unless ``like`` names every written tensor, and only tensors that exist."""
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

    @cached_property
    def run(self) -> Callable[..., Any]:
        """Allocates, launches, and returns. Raises what the in-place operator raises."""
        return self._around(self._launch.run_on_new)

    @cached_property
    def fake(self) -> Callable[..., Any]:
        """Allocates and returns without a launch. Raises ArgumentError for dtypes that do not fit."""
        return self._around(self._launch.fake)

    def _around(self, launch: Callable[..., None]) -> Callable[..., Any]:
        inputs = {argument.name: f"i{index}" for index, argument in enumerate(self.arguments)}
        outputs = {output.argument.name: f"o{index}" for index, output in enumerate(self.outputs)}
        made = (
            f"{outputs[output.argument.name]} = make{index}({', '.join(inputs[name] for name in output.wanted)})"
            for index, output in enumerate(self.outputs)
        )
        source = _TEMPLATE.format(
            makers=", ".join(f"make{index}" for index in range(len(outputs))),
            inputs=", ".join(inputs.values()),
            made="; ".join(made),
            passed=", ".join((inputs | outputs)[argument.name] for argument in self._launch.arguments),
            returned=", ".join(outputs.values()),
        )
        run: Callable[..., Any] = function_of(source)(launch, *(output.make for output in self.outputs))
        return run

    def _output(self, argument: Argument, like: Like) -> _Output:
        """Return how a tensor is allocated. Raises InputError for inputs that are not there."""
        names = (like,) if isinstance(like, str) else tuple(inspect.signature(like).parameters)
        inputs = [given.name for given in self.arguments if given.is_tensor or not isinstance(like, str)]
        for name in names:
            if name not in inputs:
                message = f"{self._launch.name} has no input {name!r} for {argument.name} to be like"
                raise InputError(f"{message}; the inputs are {', '.join(inputs) or 'none'}")
        return _Output(argument, _maker(argument, like), names)


def _maker(argument: Argument, like: Like) -> Callable[..., torch.Tensor]:
    """Return what makes an output, contiguous as the kernel takes it."""
    if callable(like):
        return like
    if like == argument.name:
        return partial(torch.clone, memory_format=torch.contiguous_format)
    return partial(_empty_like, dtypes_of(argument) or ())


def _empty_like(dtypes: Sequence[torch.dtype], tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor of the same dtype, or of the first of several where it may not have that."""
    if tensor.dtype in dtypes or not dtypes:
        return torch.empty_like(tensor, memory_format=torch.contiguous_format)
    return torch.empty_like(tensor, dtype=dtypes[0], memory_format=torch.contiguous_format)
