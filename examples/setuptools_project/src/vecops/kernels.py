"""The kernels this package carries."""

from hatch_cuda_kernels import open_store

__all__ = ["store"]

store = open_store("vecops")
