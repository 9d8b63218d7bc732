"""Whether this machine has a CUDA device."""

from __future__ import annotations

from hatch_cuda_kernels.driver import device_count
from hatch_cuda_kernels.errors import DriverError


def no_device_reason() -> str | None:
    """Return why no CUDA device can be used here, or None when one can."""
    try:
        return None if device_count() else "the driver reports no device"
    except DriverError as error:
        return str(error)
