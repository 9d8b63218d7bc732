"""What ``includes`` has, for those that still ask here."""

from hatch_cuda_kernels.includes.reader import read_closure

__all__ = ["read_closure"]
