"""The trivial kernel in numba-cuda, with its file cache."""

from numba import cuda


@cuda.jit("void(float32[:])", cache=True)
def write_one(y):
    if cuda.threadIdx.x == 0:
        y[0] = 42.0
