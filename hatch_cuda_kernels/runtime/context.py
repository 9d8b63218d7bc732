"""The CUDA context a call runs in, by an identity that a reset does not reuse."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels.driver import check, compute_capability, cuda, driver_version

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.arch import ComputeCapability
    from hatch_cuda_kernels.runtime.ladder.rungs import Policy
    from hatch_cuda_kernels.runtime.launch.kernel import Kernel

__all__ = ["Device", "current_context_id", "current_device", "hot_lookup"]


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


def hot_lookup(kernels: dict[int, dict[str, Kernel]], load: Callable[..., Kernel]) -> Callable[..., Kernel]:
    """Return ``Store.get_kernel`` for a store that has loaded something: by context id and name, else ``load``."""
    driver = cuda()
    # NULL stands for the current context (CUDA Driver API, cuCtxGetId).
    context_id, current = driver.cuCtxGetId, driver.CUcontext(0)

    def get_kernel(name: str, *, module: str | None = None, policy: Policy | None = None) -> Kernel:
        if module is None and policy is None:
            try:
                kernel = kernels[context_id(current)[1]][name]
            except KeyError:
                return load(name)
            kernel.hits += 1
            return kernel
        return load(name, module=module, policy=policy)

    return get_kernel


def current_device() -> Device:
    """Return the device of the current context."""
    return _device(int(check("cuCtxGetDevice", cuda().cuCtxGetDevice())))


@cache
def _device(ordinal: int) -> Device:
    return Device(ordinal, compute_capability(ordinal), driver_version())
