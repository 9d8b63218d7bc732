"""Launch configurations: grid, block, shared memory, stream, and the attributes of clusters and cooperative grids."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from hatch_cuda_kernels.driver import cuda

__all__ = ["Configs"]

#: Streams whose configuration is remembered for one shape; a program that keeps creating streams starts over.
_MAX_STREAMS: Final = 64


class Configs(dict[int, Any]):
    """The driver's launch configurations of one shape, by stream. They never change, so threads share them."""

    def __init__(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        *,
        shared_mem: int,
        cluster: tuple[int, int, int] | None = None,
        cooperative: bool = False,
    ) -> None:
        self._make = partial(
            _launch_config, grid=grid, block=block, shared_mem=shared_mem, cluster=cluster, cooperative=cooperative
        )

    def __missing__(self, stream: int) -> Any:  # CUlaunchConfig
        if len(self) >= _MAX_STREAMS:
            self.clear()
        config = self[stream] = self._make(stream=stream)
        return config


def _launch_config(
    *,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    shared_mem: int,
    stream: int,
    cluster: tuple[int, int, int] | None,
    cooperative: bool,
) -> Any:  # CUlaunchConfig
    """Return the CUlaunchConfig of a launch; sizes are in blocks, threads and bytes."""
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
