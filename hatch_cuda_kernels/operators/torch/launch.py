"""What an operator of torch is: its schema, its launch, the out-of-place variant of that, and the variant's gradient.

Generated functions launch, because a call costs microseconds in torch, and this must not add another one. Only
positions get into their text. The function for ``saxpy(y, x, n, a)`` reads:

    def run(a0, a1, a2, a3):
        if not (a0.is_contiguous() and a1.is_contiguous()):
            raise scattered((a0, a1, a2, a3))
        kind = None
        (known.get(kind) or find(kind, (a0, a1, a2, a3)))(a0, a1, a2, a3)
        changed((a0,))

An operator of several kernels finds the one for ``a0.dtype, a1.dtype`` in place of None; the dtypes of a single kernel
are checked by its launch. An out-of-place operator writes only to new tensors, so its launch leaves the last line out.
The function for ``scale(y, x, factor, n)``, whose ``y`` is like ``x``, reads:

    def run(i0, i1, i2):
        o0 = make0(i0)
        launch(o0, i0, i1, i2)
        return o0

Its gradient is another operator, or a function, that takes what it needs by name. ``grad_y`` is the gradient of the
output ``y``, and any other name is that of an input or an output. An operator writes the gradient of the input ``x`` to
``grad_x``; a function returns such gradients by the names of the inputs.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache, partial
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from hatch_cuda_kernels.driver import on_device, remember
from hatch_cuda_kernels.errors import ArgumentError, InputError
from hatch_cuda_kernels.names import base_name, normalize_name
from hatch_cuda_kernels.operators import sizes_by_rule
from hatch_cuda_kernels.signature import SMALL_FLOATS

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Sequence

    from hatch_cuda_kernels.operators import KernelWithRule, Sizes
    from hatch_cuda_kernels.runtime.launch import Kernel

    #: Gives the function that launches a kernel, for a device.
    Launcher = Callable[[KernelWithRule, torch.device], Callable[..., None]]

    #: Takes what its parameters name, and gives gradients by the names of inputs.
    Backward = Callable[..., Mapping[str, torch.Tensor | None]]

    from hatch_cuda_kernels.signature import Parameter

#: Types that are a float of Python where they are passed by value.
_FLOATS: Final = SMALL_FLOATS | {"float", "double"}
#: What torch's own functions for operators that write to tensors call their parameters: an argument of that name would
#: be given twice (torch/_higher_order_ops/auto_functionalize.py).
_TAKEN: Final = frozenset(
    {"mode", "ctx", "_mutable_op", "_all_bases", "_only_clone_these_bases", "_only_clone_these_tensors"}
)
_NOT_IN_NAMES: Final = re.compile(r"\W+")


class Argument(NamedTuple):
    """One argument of an operator."""

    name: str
    kind: str
    """Torch's type without marks: ``Tensor``, ``SymInt``, ``float`` or ``bool``."""
    text: str
    """The kernel's parameter, for messages."""
    dtypes: tuple[str, ...] = ()
    """What the elements of a tensor may be; anything if it is empty."""
    is_written: bool = False
    is_optional: bool = False

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor."""
        return self.kind == "Tensor"


def arguments_of(parameters: Iterable[Parameter], optional: Collection[str]) -> tuple[Argument, ...]:
    """Return an operator's arguments, in the kernel's order. Raises ValueError with the reason if it cannot have any.

    Tensors named in ``optional`` may be None. A name that torch cannot take ends with an underscore.
    """
    kinds = [(parameter, _kind(parameter)) for parameter in parameters]
    taken = {parameter.name for parameter, _ in kinds}
    arguments = tuple(
        Argument(
            _free(parameter.name, taken),
            kind,
            str(parameter),
            parameter.dtypes if kind == "Tensor" else (),
            is_written=kind == "Tensor" and not parameter.is_const,
            is_optional=kind == "Tensor" and parameter.name in optional,
        )
        for parameter, kind in kinds
    )
    if not any(argument.is_tensor for argument in arguments):
        raise ValueError("it takes no tensor, and torch takes an operator's device from its tensors")
    return arguments


def _free(name: str, others: Collection[str]) -> str:
    """Return a name that torch takes, and that no other argument has."""
    if name not in _TAKEN:
        return name
    while (name := f"{name}_") in others:
        pass
    return name


def _kind(parameter: Parameter) -> str:
    if not parameter.type:
        raise ValueError(f"the store does not record the type of {parameter.name}; build it again")
    if parameter.pointee:
        return "Tensor"
    if parameter.type in _FLOATS:
        return "float"
    if parameter.is_pointer or "[" in parameter.kind:
        raise ValueError(f"torch has no type for {parameter}, which is passed by value")
    return "bool" if parameter.type == "bool" else "SymInt"


def base_operator(kernel: str) -> str:
    """Return a kernel's name without template arguments, namespaces joined by ``_``."""
    return _identifier(base_name(kernel))


def operator_name(kernel: str) -> str:
    """Return the name of a kernel's operator: ``block_sum<float, 256>`` gives ``block_sum_float_256``."""
    return _identifier(normalize_name(kernel).replace("-", " minus "))


def _identifier(text: str) -> str:
    return _NOT_IN_NAMES.sub("_", text).strip("_")


def schema_text(name: str, arguments: Sequence[Argument], returns: int = 0) -> str:
    """Return the schema of an operator that returns so many tensors, such as ``f(Tensor(a!) y, SymInt n) -> ()``."""
    marks = iter([*ascii_lowercase, *(f"w{number}" for number in range(len(arguments)))])
    kinds = (
        f"{argument.kind}{f'({next(marks)}!)' if argument.is_written else ''}{'?' * argument.is_optional}"
        for argument in arguments
    )
    listed = (f"{kind} {argument.name}" for kind, argument in zip(kinds, arguments, strict=True))
    returned = "Tensor" if returns == 1 else f"({', '.join(['Tensor'] * returns)})"
    return f"{name}({', '.join(listed)}) -> {returned}"


_TEMPLATE: Final = """
def make(known, find, scattered, changed):
    def run({args}):
        if not ({contiguous}):
            raise scattered(({args}))
        kind = {kind}
        (known.get(kind) or find(kind, ({args})))({args})
        {bump}
    return run
"""
#: Texts whose functions are remembered; few packages have more signatures.
_MOST_SOURCES: Final = 256


def launcher_of(get_kernel: Callable[..., Kernel]) -> Launcher:
    """Return what gives a store's kernels, loaded for the device that they are launched on first."""

    def find(kernel: KernelWithRule, device: torch.device) -> Callable[..., None]:
        with on_device(device.index):
            return get_kernel(kernel.name, module=kernel.module).ruled

    return find


class Choice(NamedTuple):
    """A kernel of an operator, with the dtypes of the tensors that it takes, its own first; None stands for any."""

    kernel: KernelWithRule
    dtypes: tuple[tuple[torch.dtype, ...] | None, ...]

    @classmethod
    def make(cls, kernel: KernelWithRule, arguments: Sequence[Argument]) -> Choice:
        """Return a kernel with the dtypes of its arguments."""
        return cls(kernel, tuple(dtypes_of(argument) for argument in arguments if argument.is_tensor))

    @property
    def own(self) -> tuple[tuple[torch.dtype, ...] | None, ...]:
        """The dtypes that the kernel's types are called by, without others that it takes as well."""
        return tuple(dtypes and dtypes[:1] for dtypes in self.dtypes)

    def is_apart(self, other: Choice) -> bool:
        """Return whether no tensors have the own dtypes of both kernels."""
        pairs = zip(self.own, other.own, strict=True)
        return any(one is not None and two is not None and one != two for one, two in pairs)


def dtypes_of(argument: Argument) -> tuple[torch.dtype, ...] | None:
    """Return the dtypes that a tensor may have, the kernel's own first; None stands for any."""
    known = (getattr(torch, name, None) for name in argument.dtypes)
    return tuple(dtype for dtype in known if dtype is not None) if argument.dtypes else None


class OperatorLaunch:
    """The launches of one operator. Its tensors must be contiguous unless the kernel takes strides."""

    def __init__(
        self,
        name: str,
        arguments: Sequence[Argument],
        choices: Sequence[Choice],
        launcher: Launcher,
        *,
        is_strided: bool,
    ) -> None:
        self.name = name
        self.arguments = tuple(arguments)
        self._choices = tuple(choices)
        self._launcher = launcher
        self._is_strided = is_strided
        self._tensors = [index for index, argument in enumerate(arguments) if argument.is_tensor]
        self._known: dict[Any, Callable[..., None]] = {}
        self._sizes: dict[str, Sizes] = {}

    @property
    def schema(self) -> str:
        """What torch knows it by."""
        return schema_text(self.name, self.arguments)

    @property
    def identity(self) -> Hashable:
        """Equal for operators that do the same."""
        kernels = tuple((choice.kernel.name, choice.kernel.module, choice.dtypes) for choice in self._choices)
        return self.schema, kernels, self._is_strided

    @cached_property
    def run(self) -> Callable[..., None]:
        """Launches. Raises ArgumentError for tensors that do not fit, and what ``Kernel`` raises."""
        return self._function(is_in_place=True)

    @cached_property
    def run_on_new(self) -> Callable[..., None]:
        """As ``run``, where what is written to is new: it does not count as changed."""
        return self._function(is_in_place=False)

    def _function(self, *, is_in_place: bool) -> Callable[..., None]:
        source = _source(
            self.arguments, is_strided=self._is_strided, is_single=len(self._choices) == 1, is_in_place=is_in_place
        )
        changed = torch.autograd.graph.increment_version
        run: Callable[..., None] = function_of(source)(self._known, self._find, self._scattered, changed)
        return run

    def fake(self, *args: Any) -> None:
        """Only check, while torch traces.

        Raises ArgumentError for dtypes that do not fit, LaunchError for sizes that are known and give no launch.
        """
        name, _, parameters, rule = self._choice(args).kernel
        # What torch traces with may be symbols for sizes.
        sizes = (size for arg in args for size in (arg.shape if isinstance(arg, torch.Tensor) else (arg,)))
        if rule is not None and not any(isinstance(size, torch.SymInt) for size in sizes):
            if name not in self._sizes:
                self._sizes[name] = sizes_by_rule(name, rule, parameters)
            names = (parameter.name for parameter in parameters)
            self._sizes[name](dict(zip(names, args, strict=True)))

    def _choice(self, args: Sequence[Any]) -> Choice:
        """Return the kernel for tensors, fake ones included. Raises ArgumentError if no kernel takes them."""
        given = [None if args[at] is None else args[at].dtype for at in self._tensors]
        for choice in self._choices:
            if _fit(given, choice.own):
                return choice
        for choice in self._choices:
            if _fit(given, choice.dtypes):
                return choice
        raise ArgumentError(f"{self.name}: {self._misfit(args)}")

    def _find(self, kind: Any, args: Sequence[Any]) -> Callable[..., None]:
        given = (args[index] for index in self._tensors if args[index] is not None)
        device = next((tensor.device for tensor in given), torch.device("cuda"))
        found = self._launcher(self._choice(args).kernel, device)
        remember(self._known, kind, found)
        return found

    def _scattered(self, args: Sequence[Any]) -> ArgumentError:
        scattered = (at for at in self._tensors if args[at] is not None and not args[at].is_contiguous())
        index = next(scattered)
        argument, tensor = self.arguments[index], args[index]
        wanted = f"must be contiguous, got strides {tuple(tensor.stride())} for the shape {tuple(tensor.shape)}"
        fix = "" if argument.is_written else f"pass {argument.name}.contiguous(), or "
        return ArgumentError(
            f"argument {index} ({argument.name}) of {self.name} {wanted}; {fix}name the operator in strided= if its "
            "kernel takes the strides"
        )

    def _misfit(self, args: Sequence[Any]) -> str:
        for place, at in enumerate(self._tensors):
            wanted = [choice.dtypes[place] for choice in self._choices]
            dtypes = [dtypes for dtypes in wanted if dtypes is not None]
            taken = dict.fromkeys(dtype for some in dtypes for dtype in some)
            if args[at] is not None and len(dtypes) == len(wanted) and args[at].dtype not in taken:
                words = " or ".join(map(str, taken))
                return f"argument {at} ({self.arguments[at].name}) must be {words}, got {args[at].dtype}"
        given = ", ".join(
            f"{self.arguments[at].name}: {args[at].dtype}" for at in self._tensors if args[at] is not None
        )
        kernels = "; ".join(choice.kernel.name for choice in self._choices)
        return f"no kernel takes {given} together; there are {kernels}"


def _fit(given: Sequence[torch.dtype | None], taken: Sequence[tuple[torch.dtype, ...] | None]) -> bool:
    pairs = zip(given, taken, strict=True)
    return all(dtype is None or dtypes is None or dtype in dtypes for dtype, dtypes in pairs)


@lru_cache(_MOST_SOURCES)
def function_of(source: str) -> Any:
    """Return the function of a text, which is the same for kernels of one signature."""
    scope: dict[str, Any] = {}
    exec(source, scope)  # noqa: S102 - made of positions only
    return scope["make"]


def _source(arguments: Sequence[Argument], *, is_strided: bool, is_single: bool, is_in_place: bool) -> str:
    tensors = [(f"a{index}", argument) for index, argument in enumerate(arguments) if argument.is_tensor]
    written = [(name, argument) for name, argument in tensors if argument.is_written and is_in_place]
    dtypes = (f"{name} is not None and {name}.dtype" for name, _ in tensors)
    contiguous = (
        f"({name} is None or {name}.is_contiguous())" if argument.is_optional else f"{name}.is_contiguous()"
        for name, argument in tensors
    )  # fmt: skip
    given = any(argument.is_optional for _, argument in written)
    changed = f"[a for a in ({_listed(name for name, _ in written)}) if a is not None]" if given else None
    return _TEMPLATE.format(
        args=_listed(f"a{index}" for index in range(len(arguments))),
        contiguous="True" if is_strided else " and ".join(contiguous) or "True",
        kind="None" if is_single else f"({_listed(dtypes)})",
        bump=f"changed({changed or f'({_listed(name for name, _ in written)})'})" if written else "",
    )


def _listed(items: Iterable[str]) -> str:
    return "".join(f"{item}, " for item in items)


_GRAD: Final = "grad_"


class Gradient(NamedTuple):
    """The gradient of an operator, for ``torch.library.register_autograd``."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    wanted: tuple[str, ...]
    """What the backward takes, by name."""
    backward: Backward

    @classmethod
    def make(cls, forward: Functional, backward: Backward) -> Gradient:
        """Return the gradient of an operator. Raises InputError for a name that the forward operator does not have."""
        inputs = tuple(argument.name for argument in forward.arguments)
        outputs = tuple(output.argument.name for output in forward.outputs)
        wanted = tuple(inspect.signature(backward).parameters)
        told = {*inputs, *outputs, *(f"{_GRAD}{name}" for name in outputs)}
        unknown = [name for name in wanted if name not in told]
        if unknown:
            message = f"the gradient of {forward.name} takes {', '.join(unknown)}"
            raise InputError(f"{message}; it can have {', '.join(sorted(told))}")
        return cls(forward.name, inputs, outputs, wanted, backward)

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


def backward_of(forward: Functional, operator: Any, arguments: Sequence[Argument]) -> Backward:
    """Return an in-place operator as a function of what it reads, which gives what it writes: gradients of inputs.

    Raises InputError for one that writes anything else.
    """
    inputs = [argument.name for argument in forward.arguments]
    given = {argument.name: argument.name.removeprefix(_GRAD) for argument in arguments if argument.is_written}
    for written, of in given.items():
        if of == written or of not in inputs:
            wanted = ", ".join(f"{_GRAD}{known}" for known in inputs)
            raise InputError(
                f"{operator} cannot be the gradient of {forward.name}: it writes to {written}, not to {wanted}"
            )
    places = [argument.name for argument in arguments]

    def backward(**known: Any) -> dict[str, torch.Tensor | None]:
        made = {
            written: torch.empty_like(known[of], memory_format=torch.contiguous_format) for written, of in given.items()
        }
        operator(*({**known, **made}[place] for place in places))
        return {of: made[written] for written, of in given.items()}

    reads = dict.fromkeys([place for place in places if place not in given] + [*given.values()])
    named = [inspect.Parameter(read, inspect.Parameter.KEYWORD_ONLY) for read in reads]
    backward.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]  # which inspect reads
    return backward


#: What an output is like: an input by name, itself for a changed copy, or a function of inputs that returns it.
Like = str | Callable[..., torch.Tensor]

_OUT_OF_PLACE: Final = """
def make(launch, {makers}):
    def run({inputs}):
        {made}
        launch({passed})
        return {returned}
    return run
"""


class _Output(NamedTuple):
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
        self.schema = schema_text(self.name, self.arguments, len(self.outputs))
        self.identity = self.schema, launch.identity, tuple(like.items())

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
        source = _OUT_OF_PLACE.format(
            makers=", ".join(f"make{index}" for index in range(len(outputs))),
            inputs=", ".join(inputs.values()),
            made="; ".join(made),
            passed=", ".join((inputs | outputs)[argument.name] for argument in self._launch.arguments),
            returned=", ".join(outputs.values()),
        )
        run: Callable[..., Any] = function_of(source)(launch, *(output.make for output in self.outputs))
        return run

    def _output(self, argument: Argument, like: Like) -> _Output:
        names = (like,) if isinstance(like, str) else tuple(inspect.signature(like).parameters)
        inputs = [given.name for given in self.arguments if given.is_tensor or not isinstance(like, str)]
        for name in names:
            if name not in inputs:
                message = f"{self._launch.name} has no input {name!r} for {argument.name} to be like"
                raise InputError(f"{message}; the inputs are {', '.join(inputs) or 'none'}")
        return _Output(argument, _maker(argument, like), names)


def _maker(argument: Argument, like: Like) -> Callable[..., torch.Tensor]:
    if callable(like):
        return like
    if like == argument.name:
        return partial(torch.clone, memory_format=torch.contiguous_format)
    dtypes = dtypes_of(argument) or ()

    def make(tensor: torch.Tensor) -> torch.Tensor:
        dtype = tensor.dtype if tensor.dtype in dtypes or not dtypes else dtypes[0]
        return torch.empty_like(tensor, dtype=dtype, memory_format=torch.contiguous_format)

    return make
