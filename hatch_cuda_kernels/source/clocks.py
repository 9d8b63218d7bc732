"""What ``includes`` has, for those that still ask here."""

from hatch_cuda_kernels.includes.clocks import find_clocks

__all__ = ["find_clocks"]
