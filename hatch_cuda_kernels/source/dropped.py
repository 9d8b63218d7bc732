"""What ``includes`` has, for those that still ask here."""

from hatch_cuda_kernels.includes.closure import Dropped, DroppedKind, left_out

__all__ = ["Dropped", "DroppedKind", "left_out"]
