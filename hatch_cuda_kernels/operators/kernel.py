"""A store's kernel as an operator is made of it: what is known of it before it is loaded, and how to load it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hatch_cuda_kernels.runtime.launch.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hatch_cuda_kernels.operators.division import OperatorParameter
    from hatch_cuda_kernels.runtime.launch.arguments import Signature
    from hatch_cuda_kernels.runtime.launch.kernel import Kernel
    from hatch_cuda_kernels.runtime.launch.shapes import Dim

__all__ = ["OperatorKernel", "stated_launch"]


class OperatorKernel(NamedTuple):
    """A kernel that an operator is made of."""

    name: str
    parameters: Sequence[OperatorParameter]
    signature: Signature
    """The same parameters, as a launch checks and packs them."""
    launch: Callable[[Mapping[str, Any]], Shape]
    """Gives the launch's shape, of the arguments by name; arrays may be stand-ins with a shape and a dtype."""
    get_kernel: Callable[[], Kernel]
    """Loads it for the current context."""
    scope: str
    """Text that tells the kernel's module from every other on this machine."""
    identity: tuple[str, ...]
    """What tells the kernel from every other, the same on each machine."""


def stated_launch(
    kernel: str, grid: Dim | Callable[[Mapping[str, Any]], Dim], block: Dim, shared_mem: int = 0, **attributes: Any
) -> Callable[[Mapping[str, Any]], Shape]:
    """Return the rule for a grid that is stated, or computed of the arguments by name. Its shapes are checked."""

    def shape_of(args: Mapping[str, Any]) -> Shape:
        return Shape.make(kernel, grid(args) if callable(grid) else grid, block, shared_mem, **attributes)

    return shape_of
