"""Start the driver while Python imports: ``cuInit`` and the first context take long, and run without the GIL."""

from __future__ import annotations

import ctypes
import os
import sys
import threading

_NOT_INITIALIZED = 3  # CUDA_ERROR_NOT_INITIALIZED
#: How long Python goes on in one thread while another waits, until the driver has started; usually 5 ms.
_SWITCH_SECONDS = 0.0001
_lock = threading.Lock()
_started: list[threading.Thread | None] = []
#: Set once the driver has started, or could not; then what device 0 is, and its driver: both as pairs of numbers.
_asked = threading.Event()
_device: list[tuple[tuple[int, int], tuple[int, int]]] = []
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, and _MINOR


def start_driver() -> None:
    """Begin initialising the driver and device 0's primary context in a thread; the first call of a process only.

    Does nothing if the application has initialised the driver (its context is the one to use), without a driver, or on
    Windows. An error is not reported here: it comes again when the driver is used.
    """
    if _started:
        return
    with _lock:
        if not _started:
            _started.append(_start())


def is_starting() -> bool:
    """Return whether the driver is being initialised right now."""
    thread = _started[0] if _started else None
    return thread is not None and thread.is_alive()


def starting_device() -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return device 0's compute capability, and the newest CUDA of its driver, while its context is being made.

    It waits until the driver can tell. None if it does not start here, or has already started.
    """
    if is_starting():
        _asked.wait()
    return _device[0] if _device and is_starting() else None


def join_driver() -> None:
    """Wait for the driver if it was started here."""
    thread = _started[0] if _started else None
    if thread is not None:
        thread.join()


def _start() -> threading.Thread | None:
    if sys.platform == "win32":
        return None
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    context = ctypes.c_void_p()
    if library.cuCtxGetCurrent(ctypes.byref(context)) != _NOT_INITIALIZED:
        return None

    usual = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    shortened = sys.getswitchinterval()

    def initialise() -> None:
        try:
            if library.cuInit(0) == 0:  # the next call waits for the GIL, which the importing thread has
                _ask(library)
                _asked.set()
                library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        finally:
            _asked.set()
            if sys.getswitchinterval() == shortened:
                sys.setswitchinterval(usual)

    thread = threading.Thread(target=initialise, name="hatch-cuda-kernels-driver", daemon=True)
    thread.start()
    return thread


def _ask(library: ctypes.CDLL) -> None:
    major, minor, version = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    failed = library.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, 0)
    failed = failed or library.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, 0)
    if not (failed or library.cuDriverGetVersion(ctypes.byref(version))):
        _device.append(((major.value, minor.value), (version.value // 1000, version.value % 1000 // 10)))


if hasattr(os, "register_at_fork"):
    # A thread that holds it is not in a forked child. This is what the standard library does with its own locks.
    os.register_at_fork(after_in_child=_lock._at_fork_reinit)  # type: ignore[attr-defined]  # noqa: SLF001
