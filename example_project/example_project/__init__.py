"""A small library of CUDA kernels: an example of what hatch-cuda-kernels is for.

Functions take arrays of any framework (torch, CuPy, whatever has ``__cuda_array_interface__``) on the current device,
run on that framework's current stream without waiting for the result, and return arrays of the same framework.
"""

from example_project.blas import saxpy
from example_project.image import filter2d
from example_project.nn import softmax
from example_project.reduce import block_sums, total
from example_project.sort import TILE, sort_tiles

__all__ = ["TILE", "block_sums", "filter2d", "saxpy", "softmax", "sort_tiles", "total"]
