"""What operators do: launch a kernel with checked tensors, or only check them while torch traces.

The function for ``saxpy(y, x, n, a)`` reads as below. A call costs microseconds in torch, and this must not add
another one. Only positions get into its text. An operator of several kernels finds the one for ``a0.dtype,
a1.dtype`` in place of None; the dtypes of a single kernel are checked by its launch.

    def run(a0, a1, a2, a3):
        if not (a0.is_contiguous() and a1.is_contiguous()):
            raise scattered((a0, a1, a2, a3))
        kind = None
        (known.get(kind) or find(kind, (a0, a1, a2, a3)))(a0, a1, a2, a3)
        changed((a0,))

An out-of-place operator writes only to new tensors, so its launch leaves the last line out.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from hatch_cuda_kernels.driver import on_device
from hatch_cuda_kernels.errors import ArgumentError
from hatch_cuda_kernels.operators import sizes_by_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hatch_cuda_kernels.operators import KernelWithRule, Sizes
    from hatch_cuda_kernels.operators.torch.schema import Argument
    from hatch_cuda_kernels.runtime.launch import Kernel

    #: Gives the function that launches a kernel, for a device.
    Launcher = Callable[[KernelWithRule, torch.device], Callable[..., None]]

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
#: Kinds of tensors by their dtypes that an operator remembers the kernel for.
_MOST_KINDS: Final = 256
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
        if rule is not None and all(map(_is_known, args)):
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
        if len(self._known) >= _MOST_KINDS:
            self._known.clear()
        self._known[kind] = found
        return found

    def _scattered(self, args: Sequence[Any]) -> ArgumentError:
        """Return the error for the first tensor that is not contiguous."""
        scattered = (at for at in self._tensors if args[at] is not None and not args[at].is_contiguous())
        index = next(scattered)
        argument, tensor = self.arguments[index], args[index]
        told = f"must be contiguous, got strides {tuple(tensor.stride())} for the shape {tuple(tensor.shape)}"
        fix = "" if argument.is_written else f"pass {argument.name}.contiguous(), or "
        return ArgumentError(
            f"argument {index} ({argument.name}) of {self.name} {told}; {fix}name the operator in strided= if its "
            "kernel is told the strides"
        )

    def _misfit(self, args: Sequence[Any]) -> str:
        """Return what is wrong with the first tensor that fits no kernel, or with all together."""
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


def _is_known(arg: Any) -> bool:
    """Return whether an argument's sizes are numbers, not the symbols that torch traces with."""
    sizes = arg.shape if isinstance(arg, torch.Tensor) else (arg,)
    return not any(isinstance(size, torch.SymInt) for size in sizes)


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
    """Fill in the template."""
    tensors = [(f"a{index}", argument) for index, argument in enumerate(arguments) if argument.is_tensor]
    written = [(name, argument) for name, argument in tensors if argument.is_written and is_in_place]
    dtypes = (f"{name} is not None and {name}.dtype" for name, _ in tensors)
    contiguous = (_if_given(f"{name}.is_contiguous()", name, argument) for name, argument in tensors)
    given = any(argument.is_optional for _, argument in written)
    changed = f"[a for a in ({_listed(name for name, _ in written)}) if a is not None]" if given else None
    return _TEMPLATE.format(
        args=_listed(f"a{index}" for index in range(len(arguments))),
        contiguous="True" if is_strided else " and ".join(contiguous) or "True",
        kind="None" if is_single else f"({_listed(dtypes)})",
        bump=f"changed({changed or f'({_listed(name for name, _ in written)})'})" if written else "",
    )


def _if_given(text: str, name: str, argument: Argument) -> str:
    return f"({name} is None or {text})" if argument.is_optional else text


def _listed(items: Iterable[str]) -> str:
    return "".join(f"{item}, " for item in items)
