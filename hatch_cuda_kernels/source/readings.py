"""What ``includes`` has, for those that still ask here."""

from hatch_cuda_kernels.includes.project import Readings, find_words

__all__ = ["Readings", "find_words"]
