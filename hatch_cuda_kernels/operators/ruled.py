"""The kernels of a store that operators can be made of: those whose launch the manifest states a rule for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.names import python_names
from hatch_cuda_kernels.signature import Parameter, parameters_of
from hatch_cuda_kernels.store import LaunchRule, find_rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.store import KernelLine, StoreReader

__all__ = ["RuledKernel", "named_parameters", "ruled_kernels"]


class RuledKernel(NamedTuple):
    """A listed kernel that is called without brackets."""

    name: str
    module: str | None
    """The module to name; None if no other one has the kernel."""
    parameters: tuple[Parameter, ...]
    """Each has a name that Python takes."""
    rule: LaunchRule | None = None


def ruled_kernels(reader: StoreReader) -> list[RuledKernel]:
    """Return the listed kernels that a rule is stated for. Raises StoreError for a missing or damaged store."""
    modules = dict(reader.kernels())
    found = []
    for line in reader.lines():
        rule = None if line.key.startswith("&") else _rule(reader, line)
        if rule is not None:
            module = modules[line.name] and line.module
            parameters = parameters_of(line.params, line.types, line.names)
            found.append(RuledKernel(line.name, module, named_parameters(parameters, rule), rule))
    return found


def _rule(reader: StoreReader, line: KernelLine) -> LaunchRule | None:
    return find_rule(map(LaunchRule.from_json, reader.module(line.module).launch), line.name)


def named_parameters(parameters: Sequence[Parameter], rule: LaunchRule | None) -> tuple[Parameter, ...]:
    """Return a kernel's parameters with names that Python takes, which its rule may know where the store does not."""
    names = [parameter.name for parameter in parameters]
    if rule is not None and not all(names):
        names = list(rule.names)
    return tuple(parameter._replace(name=name) for parameter, name in zip(parameters, python_names(names), strict=True))
