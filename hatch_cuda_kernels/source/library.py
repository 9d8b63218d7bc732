"""What ``includes`` has, for those that still ask here."""

from hatch_cuda_kernels.includes.closure import DEVICE_RUNTIME

__all__ = ["DEVICE_RUNTIME"]
