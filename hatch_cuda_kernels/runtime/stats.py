"""How a store's kernels came to be loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hatch_cuda_kernels.runtime.launch.kernel import Kernel

__all__ = ["KernelStats", "kernel_stats"]


class KernelStats(NamedTuple):
    """How one kernel came to be loaded in one context, and how often the store was asked for it since."""

    kernel: str
    context_id: int
    origin: str
    arch: str
    kind: str
    seconds: float
    hits: int


def kernel_stats(kernel: Kernel, seconds: float) -> KernelStats:
    """Return the figures of a kernel that took ``seconds`` to load."""
    image = kernel.image
    return KernelStats(kernel.name, kernel.context_id, image.origin, str(image.arch), image.kind, seconds, kernel.hits)
