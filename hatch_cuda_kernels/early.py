"""Start the driver while Python imports: ``cuInit`` and the first context take long, and run without the GIL."""

from __future__ import annotations

import ctypes
import os
import sys
from _thread import LockType, allocate_lock, start_new_thread  # threading takes half a millisecond to import

_NOT_INITIALIZED = 3  # CUDA_ERROR_NOT_INITIALIZED
#: How long Python goes on in one thread while another waits, until the driver has started; usually 5 ms.
_SWITCH_SECONDS = 0.0001
_lock = allocate_lock()
#: What a thread holds until the driver has started, or could not; None where nothing is to wait for.
_started: list[LockType | None] = []
#: Held until the driver can tell what device 0 is, and its driver: both as pairs of numbers.
_asked = allocate_lock()
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
    starting = _started[0] if _started else None
    return starting is not None and starting.locked()


def starting_device() -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return device 0's compute capability, and the newest CUDA of its driver, while its context is being made.

    It waits until the driver can tell. None if it does not start here, or has already started.
    """
    if is_starting():
        with _asked:
            pass
    return _device[0] if _device and is_starting() else None


def join_driver() -> None:
    """Wait for the driver if it was started here."""
    starting = _started[0] if _started else None
    if starting is not None:
        with starting:
            pass


def _start() -> LockType | None:
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
    runs, starting = allocate_lock(), allocate_lock()

    def initialise() -> None:
        runs.release()
        try:
            failed = library.cuInit(0)  # the next call waits for the GIL, which the importing thread has
            if not failed:
                _ask(library)
            _asked.release()
            if not failed:
                library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        finally:
            if sys.getswitchinterval() == shortened:
                sys.setswitchinterval(usual)
            starting.release()

    for held in (runs, starting, _asked):
        held.acquire()
    start_new_thread(initialise, ())
    runs.acquire()  # so that the driver starts now
    return starting


def _ask(library: ctypes.CDLL) -> None:
    major, minor, version = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    failed = library.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, 0)
    failed = failed or library.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, 0)
    if not (failed or library.cuDriverGetVersion(ctypes.byref(version))):
        _device.append(((major.value, minor.value), (version.value // 1000, version.value % 1000 // 10)))


def _forget_thread() -> None:
    """In a forked child, wait for nothing: the thread is not there. The standard library does so with its own locks."""
    _lock._at_fork_reinit()  # type: ignore[attr-defined]  # noqa: SLF001 - as above
    _started[:] = [None] * len(_started)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_thread)
