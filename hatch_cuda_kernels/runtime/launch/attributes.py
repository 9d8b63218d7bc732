"""Launches with attributes: clusters and cooperative grids."""

from __future__ import annotations

from typing import Any

from hatch_cuda_kernels.driver import cuda

__all__ = ["launch_config"]


def launch_config(
    *,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    shared_mem: int,
    stream: int,
    cluster: tuple[int, int, int] | None,
    cooperative: bool,
) -> Any:  # CUlaunchConfig
    """Return the CUlaunchConfig of such a launch. Sizes in blocks, threads and bytes."""
    driver = cuda()
    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = grid
    config.blockDimX, config.blockDimY, config.blockDimZ = block
    config.sharedMemBytes = shared_mem
    config.hStream = driver.CUstream(stream)
    attributes = []
    if cluster is not None:
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        dims = attribute.value.clusterDim
        dims.x, dims.y, dims.z = cluster
        attributes.append(attribute)
    if cooperative:
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        attribute.value.cooperative = 1
        attributes.append(attribute)
    config.numAttrs = len(attributes)
    config.attrs = attributes
    return config
