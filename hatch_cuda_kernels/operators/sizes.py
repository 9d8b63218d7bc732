"""How an operator is launched: its shape of the arguments by name, as the caller or the manifest states it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.runtime.launch.launch_rule import NAMES, refusal, rule_texts
from hatch_cuda_kernels.runtime.launch.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.signature import Parameter
    from hatch_cuda_kernels.store import LaunchRule

__all__ = ["Sizes", "ruled_sizes", "stated_sizes"]

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


def ruled_sizes(kernel: str, rule: LaunchRule, parameters: Sequence[Parameter]) -> Sizes:
    """Return the shape that a manifest's rule gives. Raises LaunchError for a rule that no build writes.

    The function it returns raises LaunchError for arguments that give no shape.
    """
    grid, block, shared_mem = rule_texts(kernel, rule, [f"args[{parameter.name!r}]" for parameter in parameters])
    # Of checked expressions, and names that Python takes.
    compute = eval(f"lambda args: ({grid}, {block}, {shared_mem})", dict(NAMES))  # noqa: S307
    attributes: dict[str, Any] = {**rule.attributes}
    if "cluster" in attributes:
        attributes["cluster"] = tuple(attributes["cluster"])

    def shape_of(args: Mapping[str, Any]) -> Shape:
        try:
            sizes = compute(args)
        except Exception as error:
            raise refusal(kernel, rule, error) from error
        return Shape.make(kernel, *sizes, **attributes)

    return shape_of
