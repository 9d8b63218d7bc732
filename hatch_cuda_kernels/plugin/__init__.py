"""The Hatch build hook ``cuda-kernels``."""

from __future__ import annotations

from hatch_cuda_kernels.plugin.hook import CudaKernelsBuildHook, find_package

__all__ = ["CudaKernelsBuildHook", "find_package"]
