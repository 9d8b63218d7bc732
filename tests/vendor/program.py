"""What a library does with the loader in its own package: ``program.py FOLDER`` prints what came of it, as JSON."""

import ctypes
import struct
import sys

sys.path.insert(0, sys.argv[1])
BEFORE = set(sys.modules)
import _kernels_loader as loader  # noqa: E402 - it is in the folder

store = loader.open_store()
saxpy = store.get_kernel("saxpy")
saxpy[20, (128, 2)](4096, 8192, -5, 2.5)
LOADED = sorted(set(sys.modules) - BEFORE)

driver = ctypes.CDLL("libcuda.so.1")
found = {"modules": LOADED, "image": str(saxpy.image.arch)}
found["sizes"] = [*(ctypes.c_uint32 * 7).in_dll(driver, "launched")]
found["passed"] = struct.unpack("QQif", bytes((ctypes.c_ubyte * 64).in_dll(driver, "passed"))[:24])


def told(function, *args, **named):
    """Return the error of a call, as its type's name and its text."""
    try:
        function(*args, **named)
    except loader.HatchCudaKernelsError as error:
        return f"{type(error).__name__}: {error}"


class Array:
    """An array on the device, of an element type, by the array interface."""

    def __init__(self, typestr, stream=None):
        self.__cuda_array_interface__ = {
            "shape": (4,), "typestr": typestr, "data": (4096, False), "version": 3, "stream": stream,
        }  # fmt: skip


saxpy[1, 32](Array("<f4", 99), None, 3, 1)
found["stream"] = ctypes.c_uint64.from_buffer_copy((ctypes.c_ubyte * 64).in_dll(driver, "launched"), 32).value
found["mismatch"] = told(saxpy[1, 32], Array("<f8"), None, 3, 1.0)
found["range"] = told(saxpy[1, 32], 0, 0, 1 << 40, 1.0)
found["refused"] = told(saxpy[1, 2048], 0, 0, 1, 1.0)
found["no image"] = told(store.find_image, "saxpy", arch="sm_75")
found["absent"] = told(store.get_kernel, "saxpi")
found["explained"] = str(store.explain("saxpy"))
bias = store.get_global("d_bias")
bias.copy_from(bytearray(struct.pack("4f", 1, 2, 3, 4)))
out = bytearray(16)
bias.copy_to(out)
found["variable"] = struct.unpack("4f", out)
before = saxpy.context_id
ctypes.c_uint64.in_dll(driver, "reset").value = 1
saxpy[1, 32](0, 0, 7, 1.0)
found["after reset"] = [saxpy.context_id != before, ctypes.c_uint64.in_dll(driver, "launches").value]
driver.cuCtxSetCurrent(ctypes.c_uint64(0x101))  # by another library
saxpy[1, 32](0, 0, 7, 1.0)
ctypes.c_uint64.in_dll(driver, "reset").value = 2
found["destroyed"] = told(saxpy[1, 32], 0, 0, 7, 1.0)
import json  # noqa: E402 - so that it is not there before

sys.stdout.write(json.dumps(found))
