"""What ``includes`` has, for those that still ask here."""

from hatch_cuda_kernels.includes.closure import Closure

__all__ = ["Closure"]
