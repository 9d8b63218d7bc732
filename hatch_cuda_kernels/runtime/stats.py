"""Figures of a store's loaded kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hatch_cuda_kernels.runtime.launch.kernel import Kernel

__all__ = ["KernelStats", "kernel_stats"]


class KernelStats(NamedTuple):
    """Where a kernel loaded for a context came from, how long it took, and how often it was requested again."""

    kernel: str
    context_id: int
    origin: str
    arch: str
    kind: str
    seconds: float
    hits: int


def kernel_stats(kernel: Kernel) -> list[KernelStats]:
    """Return the figures of a kernel, for each context that it is loaded for."""
    return [
        KernelStats(
            kernel.name, loaded.context_id, loaded.image.origin, str(loaded.image.arch), loaded.image.kind, seconds,
            kernel.hits,
        )
        for loaded, seconds in kernel.everywhere
    ]  # fmt: skip
