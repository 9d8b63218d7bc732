"""The least a device array can be, so that the demonstration needs no framework. Use torch or CuPy for real work."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from example_project._driver import check, driver

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DeviceArray", "make_context_current"]


def make_context_current(ordinal: int = 0) -> str:
    """Make a device's primary context current, as frameworks do, and return the device's name.

    Raises RuntimeError without a driver or a device.
    """
    check(driver.cuInit(0))
    device = check(driver.cuDeviceGet(ordinal))
    check(driver.cuCtxSetCurrent(check(driver.cuDevicePrimaryCtxRetain(device))))
    name: bytes = check(driver.cuDeviceGetName(256, device))
    return name.split(b"\0")[0].decode()


class DeviceArray:
    """A C-contiguous array in device memory, used on the default stream and freed with the object."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype
        self.nbytes = math.prod(shape) * dtype.itemsize
        self._address = int(check(driver.cuMemAlloc(max(self.nbytes, 1))))  # 0 bytes is an error to the driver

    @classmethod
    def copy_of(cls, values: NDArray[Any]) -> DeviceArray:
        """Copy a numpy array to the device."""
        array = cls(values.shape, values.dtype)
        host = np.ascontiguousarray(values)
        if host.nbytes:
            check(driver.cuMemcpyHtoD(array._address, host.ctypes.data, host.nbytes))
        return array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        # The consumer need not synchronise with anything: all is on the default stream.
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._address, False),
            "strides": None,
            "stream": None,
            "version": 3,
        }

    def new_empty(self, shape: tuple[int, ...]) -> DeviceArray:
        """Return an uninitialised array of this dtype."""
        return DeviceArray(shape, self.dtype)

    def numpy(self) -> NDArray[Any]:
        """Wait for the default stream, and return a copy on the host."""
        host = np.empty(self.shape, self.dtype)
        if host.nbytes:
            check(driver.cuMemcpyDtoH(host.ctypes.data, self._address, host.nbytes))
        return host

    def __del__(self) -> None:
        address = getattr(self, "_address", 0)
        if address:
            driver.cuMemFree(address)
