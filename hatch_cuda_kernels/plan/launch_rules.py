"""The rules of ``launch:`` with the names of the kernels' parameters, which the sources tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.manifest import suggest
from hatch_cuda_kernels.names import base_name
from hatch_cuda_kernels.patterns import placeholders
from hatch_cuda_kernels.problem import Problem
from hatch_cuda_kernels.store.launch_rules import ExpressionError, python_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hatch_cuda_kernels.execution_space import Declared, SourceSet
    from hatch_cuda_kernels.manifest import Module, StatedRule
    from hatch_cuda_kernels.store.launch_rules import LaunchRule

__all__ = ["name_rules"]


def name_rules(
    modules: Sequence[Module], sources: Mapping[str, SourceSet]
) -> tuple[dict[str, tuple[LaunchRule, ...]], list[Problem]]:
    """Return each module's rules with the names of parameters, and everything that is wrong with them.

    A rule of an entry with a ``*`` is for those of its modules that declare the kernel.
    """
    found: dict[str, tuple[LaunchRule, ...]] = {}
    problems: list[Problem] = []
    if not any(module.launch for module in modules):
        return {module.name: () for module in modules}, []
    declared = {module.name: sources[module.name].declared for module in modules}
    for module in modules:
        siblings = [declared[other.name] for other in modules if other.entry == module.entry]
        rules = []
        for stated in module.launch:
            names = parameter_names(declared[module.name], stated.rule.kernel)
            if names is not None:
                problems += _problems(stated, names)
                rules.append(stated.rule._replace(names=names))
            elif all(parameter_names(other, stated.rule.kernel) is None for other in siblings):
                problems.append(_unknown(stated, declared[module.name]))
        found[module.name] = tuple(rules)
    return found, list(dict.fromkeys(problems))


def parameter_names(declared: Declared, kernel: str) -> tuple[str, ...] | None:
    """Return a kernel's parameters as its declarations agree on them; None if there is none, or it is overloaded."""
    name = base_name(kernel)
    counts = declared.counts(name)
    return tuple(found.name for found in declared.parameters(name, *counts)) if len(counts) == 1 else None


def _problems(stated: StatedRule, names: tuple[str, ...]) -> Iterator[Problem]:
    """Yield what is wrong with a rule's expressions for a kernel with these parameters."""
    known = {name: name for name in names if name}
    values = dict.fromkeys(placeholders(stated.rule.kernel), "1")
    texts: dict[str, Any] = {
        "grid": stated.rule.grid,
        "block": stated.rule.block,
        "shared_mem": [stated.rule.shared_mem],
    }
    for key, sizes in texts.items():
        for size in sizes:
            try:
                python_text(size, known, values)
            except ExpressionError as error:
                for problem in error.problems:
                    yield Problem(problem, where=stated.places.get(key, stated.where))


def _unknown(stated: StatedRule, declared: Declared) -> Problem:
    name = base_name(stated.rule.kernel).rpartition("::")[2]
    if name in declared.names:
        return Problem(f"{name!r} is declared with different numbers of parameters", "rename one of them", stated.where)
    message = f"no kernel {name!r} is declared in the sources{suggest(name, declared.names)}"
    return Problem(message, "list a source that declares it", stated.where)
