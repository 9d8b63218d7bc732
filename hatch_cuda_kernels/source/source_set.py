"""What ``execution_space`` has, for those that still ask here."""

from hatch_cuda_kernels.execution_space.device_source import SourceSet

__all__ = ["SourceSet"]
