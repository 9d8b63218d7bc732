"""How an operator is launched: its shape of the arguments by name, as the caller or the manifest states it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from hatch_cuda_kernels.errors import InputError, LaunchError
from hatch_cuda_kernels.runtime.launch.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.signature import Parameter
    from hatch_cuda_kernels.store.launch_rules.rule import LaunchRule

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
    """Return the shape that a manifest's rule gives. The function it returns raises LaunchError for a bad shape."""
    spelled = [f"args[{parameter.name!r}]" for parameter in parameters]
    grid, block, shared_mem = rule.python_texts(spelled, rule.values(kernel) or {})
    compute = eval(  # noqa: S307 - of checked expressions and names that Python takes
        f"lambda args: ({grid}, {block}, {shared_mem})",
        {"shape": lambda array: array.shape, "size": lambda array: prod(array.shape)},
    )
    attributes: dict[str, Any] = {
        name: tuple(value) if name == "cluster" else value for name, value in rule.attributes.items()
    }

    def shape_of(args: Mapping[str, Any]) -> Shape:
        try:
            sizes = compute(args)
        except Exception as error:
            message = f"{kernel}: its launch ({rule}) cannot be computed from these arguments"
            raise LaunchError(f"{message}: {type(error).__name__}: {error}") from error
        return Shape.make(kernel, *sizes, **attributes)

    return shape_of
