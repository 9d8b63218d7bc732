"""The kernels this package carries. ``kernels.pyi`` beside this file, which the build writes, has their types."""

from hatch_cuda_kernels import open_store

__all__ = ["store"]

#: Opening reads no image and touches no device, so it may stand at module level.
store = open_store("example_project")
