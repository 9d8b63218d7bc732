"""Kernels as operators of a framework, derived from signature and launch sizes: no code for each kernel.

An operator takes arrays and numbers. A pointer to const is read, any other one is written to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.names import python_names
from hatch_cuda_kernels.runtime.ladder import find_kernel
from hatch_cuda_kernels.runtime.launch import RULE_NAMES, Shape, Signature, launches_of, rule_refusal, rule_texts
from hatch_cuda_kernels.signature import Parameter, parameters_of
from hatch_cuda_kernels.store import ModuleSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.runtime.launch import Kernel
    from hatch_cuda_kernels.store import LaunchRule, StoreReader


class KernelWithRule(NamedTuple):
    """A listed kernel that is called without brackets."""

    name: str
    module: str | None
    """The module to name; None if no other one has the kernel."""
    parameters: tuple[Parameter, ...]
    """Each has a name that Python takes."""
    rule: LaunchRule | None = None


def kernels_with_rules(reader: StoreReader) -> list[KernelWithRule]:
    """Return the listed kernels that a rule is stated for. Raises StoreError for a missing or damaged store."""
    modules = dict(reader.kernels())
    found = []
    for line in reader.lines():
        rule = None if line.is_variable else reader.module(line.module).launch_rule(line.name)
        if rule is not None:
            module = modules[line.name] and line.module
            parameters = parameters_of(line.params, line.types, line.names)
            found.append(KernelWithRule(line.name, module, named_parameters(parameters, rule), rule))
    return found


def named_parameters(parameters: Sequence[Parameter], rule: LaunchRule | None) -> tuple[Parameter, ...]:
    """Return a kernel's parameters with names that Python takes, which its rule may know where the store does not."""
    names = [parameter.name for parameter in parameters]
    if rule is not None and not all(names):
        names = list(rule.names)
    return tuple(parameter._replace(name=name) for parameter, name in zip(parameters, python_names(names), strict=True))


#: From the arguments of a call by name to the shape of its launch. Of arrays, shape and dtype are enough.
Sizes: TypeAlias = Callable[[Mapping[str, Any]], Shape]


def stated_sizes(kernel: str, sizes: Mapping[str, Any]) -> Sizes:
    """Return the shape that is stated; any part of it may be a function of the arguments by name.

    Raises InputError unless grid and block are there. The function it returns raises LaunchError for a bad shape.
    """
    if not {"grid", "block"} <= sizes.keys():
        raise InputError(
            f"{kernel} has no grid: pass grid= and block=, or state a rule for it under launch: in its manifest"
        )

    def shape_of(args: Mapping[str, Any]) -> Shape:
        return Shape.make(kernel, **{name: size(args) if callable(size) else size for name, size in sizes.items()})

    return shape_of


def sizes_by_rule(kernel: str, rule: LaunchRule, parameters: Sequence[Parameter]) -> Sizes:
    """Return the shape that a manifest's rule gives. Raises LaunchError for a rule that no build writes.

    The function it returns raises LaunchError for arguments that give no shape.
    """
    grid, block, shared_mem = rule_texts(kernel, rule, [f"args[{parameter.name!r}]" for parameter in parameters])
    # Of checked expressions, and names that Python takes.
    compute = eval(f"lambda args: ({grid}, {block}, {shared_mem})", dict(RULE_NAMES))  # noqa: S307

    def shape_of(args: Mapping[str, Any]) -> Shape:
        try:
            sizes = compute(args)
        except Exception as error:
            raise rule_refusal(kernel, rule, error) from error
        return Shape.make(kernel, *sizes, **rule.attributes)

    return shape_of


class OperatorKernel(NamedTuple):
    """A kernel that an operator is made of."""

    name: str
    parameters: tuple[Parameter, ...]
    """Each has a name that Python takes."""
    signature: Signature
    """The same parameters, as a launch checks and packs them."""
    sizes: Sizes
    get_kernel: Callable[[], Kernel]
    """Loads it for the current context."""
    scope: str
    """Identifies the kernel's module on this machine."""
    identity: tuple[str, ...]
    """Identifies the kernel, equally in each process."""


def find_operator_kernel(
    reader: StoreReader,
    get_kernel: Callable[..., Kernel],
    name: str,
    module: str | None,
    policy: str,
    sizes: Mapping[str, Any],
) -> OperatorKernel:
    """Return a kernel of a store. ``sizes`` is how it is launched, if that is stated; else the manifest's rule is.

    An instance that no manifest lists is loaded: only its image knows its parameters. Raises KernelNotFoundError,
    StoreError, what ``get_kernel`` raises, and InputError for a kernel without known types or sizes.
    """
    line, instance = find_kernel(reader, name, module)
    get = partial(get_kernel, name, module=module, policy=policy)
    is_known = instance is None and line.module not in reader.unlisted
    signature = Signature(name, line.params, line.types, line.names) if is_known else launches_of(get()).signature
    rule = None if "grid" in sizes else reader.module(line.module).launch_rule(name)
    if not all(parameter.type for parameter in signature.parameters):
        message = f"the store does not record the C++ types of {name}, which say what it writes to"
        raise InputError(f"{message}; build it with this version of hatch-cuda-kernels")
    parameters = named_parameters(signature.parameters, rule)
    return OperatorKernel(
        name,
        parameters,
        signature,
        stated_sizes(name, sizes) if rule is None else sizes_by_rule(name, rule, parameters),
        get,
        ModuleSource(reader, line.module).scope,
        (reader.label, line.module, line.key, policy, *(unit.sha256 for unit in reader.module(line.module).units)),
    )
