"""Arrays that an imitated driver knows: an address, a device, and a stream."""

from __future__ import annotations


class InterfaceArray:
    """An array with the CUDA array interface alone, as Numba's."""

    def __init__(self, address=0x1000, stream=None, shape=(4,), typestr="<f4", strides=None):
        self.address = address
        self._interface = {
            "shape": shape, "typestr": typestr, "strides": strides, "data": (address, False), "version": 3,
            "stream": stream,
        }  # fmt: skip

    @property
    def __cuda_array_interface__(self):
        return self._interface


def array_on(driver, ordinal, address=None, stream=None, shape=(4,)):
    """Return an array on a device of an imitated driver."""
    address = address or 0x10000 * (ordinal + 1)
    driver.pointers[address] = ordinal
    return InterfaceArray(address, stream, shape)
