"""From what a caller of ``Store.jax_call`` states to the function that it gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.operators.jax.call import make_call
from hatch_cuda_kernels.operators.kernel import find_operator_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from hatch_cuda_kernels.operators.jax.call import JaxCall, Vmap
    from hatch_cuda_kernels.runtime.ladder.policy import Policy
    from hatch_cuda_kernels.runtime.launch.kernel import Kernel
    from hatch_cuda_kernels.runtime.launch.shapes import Dim, LaunchAttributes
    from hatch_cuda_kernels.store import StoreReader

    class CallOptions(LaunchAttributes, total=False):
        """Options of ``Store.jax_call``. Each size may be a function of the arguments by name."""

        out: Mapping[str, Any]
        """Parameters that the call allocates and returns, each with what it is like: the name of an array, a
        ``jax.ShapeDtypeStruct``, or a function of the arguments by name that returns one."""
        aliases: Mapping[str, str]
        """Arrays whose memory an output takes over: ``{"x": "y"}``; ``{"y": "y"}`` for one that is updated in place."""
        grid: Dim | Callable[[Mapping[str, Any]], Dim]
        block: Dim | Callable[[Mapping[str, Any]], Dim]
        shared_mem: int | Callable[[Mapping[str, Any]], int]
        vmap: Vmap
        """``sequential``: one launch for each element of a batch. ``y`` or ``z``: one launch for all, whose grid has
        the batch on this axis; each array has it as its first dimension."""
        module: str | None
        policy: Policy | None


__all__ = ["CallOptions", "declare"]

_OTHERS: Final = frozenset({"out", "aliases", "vmap", "module", "policy"})


def declare(
    reader: StoreReader, get_kernel: Callable[..., Kernel], policy: Policy, name: str, options: CallOptions
) -> JaxCall:
    """Return the function. Raises as ``Store.jax_call`` does."""
    kernel = find_operator_kernel(
        reader,
        get_kernel,
        name,
        module=options.get("module"),
        policy=options.get("policy") or policy,
        sizes={option: value for option, value in options.items() if option not in _OTHERS},
    )
    return make_call(
        kernel,
        out=options.get("out", {}),
        aliases=options.get("aliases", {}),
        vmap=options.get("vmap", "sequential"),
    )
