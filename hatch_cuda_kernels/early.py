"""Start the driver while Python imports: ``cuInit`` and the first context take long, and run without the GIL."""

from __future__ import annotations

import ctypes
import sys
import threading
from functools import cache

__all__ = ["start_driver"]

_NOT_INITIALIZED = 3  # CUDA_ERROR_NOT_INITIALIZED


@cache
def start_driver() -> threading.Thread | None:
    """Begin initialising the driver and device 0's primary context in a thread, and return it.

    None where the application has initialised the driver already (its context is the one to use), where there is no
    driver, or on Windows. What fails here fails again, with its error, where the driver is used.
    """
    if sys.platform == "win32":
        return None
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    context = ctypes.c_void_p()
    if library.cuCtxGetCurrent(ctypes.byref(context)) != _NOT_INITIALIZED:
        return None

    def initialise() -> None:
        if library.cuInit(0) == 0:
            library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)

    thread = threading.Thread(target=initialise, name="hatch-cuda-kernels-driver", daemon=True)
    thread.start()
    return thread
