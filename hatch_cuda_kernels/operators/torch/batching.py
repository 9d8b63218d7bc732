"""``torch.vmap`` over an operator: it is called once for each element of the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from hatch_cuda_kernels.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hatch_cuda_kernels.operators.torch.schema import Argument

__all__ = ["batching_rule"]


def batching_rule(name: str, arguments: Sequence[Argument], call: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule for ``torch.library.register_vmap``; ``call`` is the operator itself.

    It raises ArgumentError for a tensor that is written to without having the batch.
    """
    written = [index for index, argument in enumerate(arguments) if argument.is_written]

    def rule(info: Any, dims: tuple[int | None, ...], *args: Any) -> tuple[Any, Any]:
        for index in written:
            if args[index] is not None and dims[index] is None:
                what = f"argument {index} ({arguments[index].name}) of {name} is written to"
                raise ArgumentError(f"{what}, so inside torch.vmap it must have the batch too")
        results = [_one(call, written, dims, args, place) for place in range(info.batch_size)]
        if results[0] is None:
            return None, None
        if isinstance(results[0], torch.Tensor):
            return torch.stack(results), 0
        return tuple(map(torch.stack, zip(*results, strict=True))), (0,) * len(results[0])

    return rule


def _one(
    call: Callable[..., Any], written: Sequence[int], dims: Sequence[int | None], args: Sequence[Any], place: int
) -> Any:
    """Call the operator for one element of the batch, with tensors that are contiguous."""
    elements = [value if dim is None else value.select(dim, place) for value, dim in zip(args, dims, strict=True)]
    whole = [value.contiguous() if isinstance(value, torch.Tensor) else value for value in elements]
    result = call(*whole)
    for index in written:
        if whole[index] is not elements[index]:
            elements[index].copy_(whole[index])
    return result
