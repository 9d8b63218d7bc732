"""Registration with hatchling, and nothing else."""

from __future__ import annotations

from hatchling.plugin import hookimpl

from hatch_cuda_kernels.plugin import CudaKernelsBuildHook


@hookimpl
def hatch_register_build_hook() -> type[CudaKernelsBuildHook]:
    """Return the build hook."""
    return CudaKernelsBuildHook
