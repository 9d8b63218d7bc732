"""What ``includes`` has, for those that still ask here."""

from hatch_cuda_kernels.includes.closure import SourceSet

__all__ = ["SourceSet"]
