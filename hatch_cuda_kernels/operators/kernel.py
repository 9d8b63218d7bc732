"""A store's kernel as an operator is made of it: what is known of it before it is loaded, and how to load it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.operators.ruled import named_parameters
from hatch_cuda_kernels.operators.sizes import ruled_sizes, stated_sizes
from hatch_cuda_kernels.runtime.ladder.request import find_kernel
from hatch_cuda_kernels.runtime.launch.arguments import Signature
from hatch_cuda_kernels.store import LaunchRule, ModuleSource, find_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hatch_cuda_kernels.operators.sizes import Sizes
    from hatch_cuda_kernels.runtime.launch.kernel import Kernel
    from hatch_cuda_kernels.signature import Parameter
    from hatch_cuda_kernels.store import KernelLine, StoreReader

__all__ = ["OperatorKernel", "find_operator_kernel"]


class OperatorKernel(NamedTuple):
    """A kernel that an operator is made of."""

    name: str
    parameters: tuple[Parameter, ...]
    """Each has a name that Python takes."""
    signature: Signature
    """The same parameters, as a launch checks and packs them."""
    sizes: Sizes
    """How it is launched."""
    get_kernel: Callable[[], Kernel]
    """Loads it for the current context."""
    scope: str
    """Text that tells the kernel's module from every other on this machine."""
    identity: tuple[str, ...]
    """What tells the kernel from every other, the same in each process."""


def find_operator_kernel(
    reader: StoreReader,
    get_kernel: Callable[..., Kernel],
    name: str,
    *,
    module: str | None,
    policy: str,
    sizes: Mapping[str, Any],
) -> OperatorKernel:
    """Return a kernel of a store. ``sizes`` is how it is launched, if that is stated; else the manifest's rule is.

    An instance that no manifest lists is loaded, for nothing else tells its parameters. Raises KernelNotFoundError,
    StoreError, what ``get_kernel`` raises, and InputError for a kernel whose types or sizes nobody states.
    """
    line, listed = find_kernel(reader, name, module)
    get = partial(get_kernel, name, module=module, policy=policy)
    signature = Signature(name, line.params, line.types, line.names) if listed else get().signature
    rules = map(LaunchRule.from_json, reader.module(line.module).launch)
    rule = None if "grid" in sizes else find_rule(rules, name)
    parameters = _named(name, signature, rule)
    return OperatorKernel(
        name,
        parameters,
        signature,
        stated_sizes(name, sizes) if rule is None else ruled_sizes(name, rule, parameters),
        get,
        ModuleSource(reader, line.module).scope,
        _identity(reader, line, policy),
    )


def _named(kernel: str, signature: Signature, rule: LaunchRule | None) -> tuple[Parameter, ...]:
    """Return the parameters with names. Raises InputError where the store does not tell their types."""
    parameters = signature.parameters
    if not all(parameter.type for parameter in parameters):
        message = f"the store does not tell the C++ types of {kernel}, so nobody knows what it writes to"
        raise InputError(f"{message}; build it with this version of hatch-cuda-kernels")
    return named_parameters(parameters, rule)


def _identity(reader: StoreReader, line: KernelLine, policy: str) -> tuple[str, ...]:
    digests = (unit.sha256 for unit in reader.module(line.module).units)
    return reader.label, line.module, line.key, policy, *digests
