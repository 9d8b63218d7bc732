"""What ``execution_space`` has, for those that still ask here."""

from hatch_cuda_kernels.execution_space.device_source import Change as Dropped
from hatch_cuda_kernels.execution_space.device_source import ChangeKind as DroppedKind
from hatch_cuda_kernels.execution_space.device_source import cut_sentence as left_out

__all__ = ["Dropped", "DroppedKind", "left_out"]
