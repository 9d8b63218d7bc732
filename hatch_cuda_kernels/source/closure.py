"""What ``includes`` has, for those that still ask here."""

from hatch_cuda_kernels.includes.closure import NOT_CUT, Closure, ClosureCut

__all__ = ["NOT_CUT", "Closure", "ClosureCut"]
