"""The CUDA context a call runs in, by an identity that a reset does not reuse."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from hatch_cuda_kernels.driver import check, compute_capability, cuda, driver_version

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.arch import ComputeCapability

__all__ = ["Device", "context_id_reader", "current_context_id", "current_device"]


class Device(NamedTuple):
    """A device as the ladder sees it."""

    ordinal: int
    capability: ComputeCapability
    driver: tuple[int, int]


def current_context_id() -> int:
    """Return the id of the current context, making device 0's primary context current where there is none.

    The driver never gives an id twice, so a context that was reset or destroyed is told from its successor.
    """
    driver = cuda()
    status, context = driver.cuCtxGetCurrent()
    if int(status) != 0 or int(context) == 0:
        device = check("cuDeviceGet", driver.cuDeviceGet(0))
        context = check("cuDevicePrimaryCtxRetain", driver.cuDevicePrimaryCtxRetain(device))
        check("cuCtxSetCurrent", driver.cuCtxSetCurrent(context))
    return int(check("cuCtxGetId", driver.cuCtxGetId(context)))


def context_id_reader() -> Callable[[], tuple[Any, Any]]:
    """Return a function that asks the driver for (status, id of the current context) and does nothing else."""
    driver = cuda()
    # NULL stands for the current context (CUDA Driver API, cuCtxGetId).
    return partial(driver.cuCtxGetId, driver.CUcontext(0))


def current_device() -> Device:
    """Return the device of the current context."""
    return _device(int(check("cuCtxGetDevice", cuda().cuCtxGetDevice())))


@cache
def _device(ordinal: int) -> Device:
    return Device(ordinal, compute_capability(ordinal), driver_version())
