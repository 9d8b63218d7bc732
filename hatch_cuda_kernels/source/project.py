"""What ``includes`` has, for those that still ask here."""

from hatch_cuda_kernels.includes.texts import Project

__all__ = ["Project"]
