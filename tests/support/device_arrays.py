"""Arrays that an imitated driver knows: an address, a device, and a stream."""

from __future__ import annotations

import ctypes
import struct

FREE = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
#: Destructors of capsules that are there.
_KEPT = {}


class InterfaceArray:
    """An array with the CUDA array interface alone, as Numba's."""

    def __init__(self, address=0x1000, stream=None, shape=(4,), typestr="<f4", strides=None, mask=None):
        self.address = address
        self._interface = {
            "shape": shape, "typestr": typestr, "strides": strides, "data": (address, False), "version": 3,
            "stream": stream, "mask": mask,
        }  # fmt: skip

    @property
    def __cuda_array_interface__(self):
        return self._interface


def array_on(driver, ordinal, address=None, stream=None, shape=(4,)):
    """Return an array on a device of an imitated driver."""
    address = address or 0x10000 * (ordinal + 1)
    driver.pointers[address] = ordinal
    return InterfaceArray(address, stream, shape)


class DlpackArray:
    """An array of float32 by DLPack alone, on device 0. Each capsule calls ``freed`` when it goes."""

    def __init__(self, address=0x1000, shape=(4,), freed=lambda: None):
        self._shape = (ctypes.c_int64 * len(shape))(*shape)
        place = ctypes.addressof(self._shape)
        self._tensor = struct.pack("<QiiiBBHQQQ", address, 2, 0, len(shape), 2, 32, 1, place, 0, 0)
        self._freed = freed
        self.kind = 2
        """Of the device: CUDA."""

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, *, stream):
        freed, tensor, shape = self._freed, self._tensor, self._shape

        def free(_):
            del _KEPT[number]
            freed()

        made = FREE(free)
        number = id(made)
        _KEPT[number] = made, tensor, shape
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_char_p, ctypes.c_char_p, FREE]
        return new(tensor, b"dltensor", made)
