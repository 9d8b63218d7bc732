"""The architectures of this machine's devices, for ``arches: native``."""

from __future__ import annotations

from hatch_cuda_kernels.arch import SmArch
from hatch_cuda_kernels.driver import compute_capability, device_count
from hatch_cuda_kernels.errors import DriverError

__all__ = ["native_archs"]


def native_archs() -> tuple[SmArch, ...]:
    """Return the real architectures of the devices here, ascending; empty without a driver or a device."""
    try:
        found = {SmArch.of_device(compute_capability(ordinal)) for ordinal in range(device_count())}
    except DriverError:
        return ()
    return tuple(sorted(found))
