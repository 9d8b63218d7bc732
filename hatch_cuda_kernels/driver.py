"""The CUDA driver through ``cuda.bindings.driver``: its devices and contexts, with errors as exceptions."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, TypeVar

from hatch_cuda_kernels.arch import ComputeCapability, SmArch
from hatch_cuda_kernels.early import join_driver
from hatch_cuda_kernels.errors import DriverError, is_absent
from hatch_cuda_kernels.records import NamedTuple

#: CUresult of faults that end a context, and which any later call may report: from ILLEGAL_ADDRESS to LAUNCH_FAILED.
_FAULTS: Final = frozenset({214, 220, 700, 702, 710, 714, 715, 716, 717, 718, 719})
#: CU_POINTER_ATTRIBUTE_IS_MANAGED and CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL (cuda.h).
_IS_MANAGED: Final = 8
_DEVICE_ORDINAL: Final = 9
#: CUresult of a call that a capture forbids, and of any call in a capture that ended so.
_CAPTURE: Final = frozenset({900, 901})
#: The process that initialised the driver.
_started_in: Final[list[int]] = []
#: What to do without a driver.
DRIVER_NEEDED: Final = "install NVIDIA's driver; give a container the host's, as docker run --gpus all does"
#: Why the driver refused an image earlier in this process, by compute capability and digest.
REFUSED: Final[dict[tuple[tuple[int, int], str], str]] = {}
#: Primary contexts that were retained here, by ordinal.
_primaries: Final[dict[int, Any]] = {}


class Device(NamedTuple):
    """A device as the ladder sees it, with the newest CUDA that its driver supports."""

    ordinal: int
    capability: ComputeCapability
    driver: tuple[int, int]


@cache
def cuda() -> Any:  # a module
    """Import the bindings and initialise the driver, once. Raises DriverError without a driver or a device."""
    from cuda.bindings import driver  # nothing before the first use of a device loads it

    join_driver()
    try:
        (status,) = driver.cuInit(0)
    except Exception as error:  # the bindings and pathfinder raise several types for a missing library
        missing = DriverError("loading the CUDA driver", -1, "no CUDA driver here", DRIVER_NEEDED)
        if is_absent(error):
            raise missing from None
        raise missing from error
    if int(status) != 0:
        raise DriverError("cuInit", int(status), status.name)
    _started_in[:] = [os.getpid()]
    return driver


def call(name: str, *args: Any) -> Any:  # whatever it returns
    """Call a function of the driver and return its values: None, one, or a tuple. Raises DriverError if it fails."""
    status, *values = getattr(cuda(), name)(*args)
    if int(status) != 0:
        raise failure(name, status)
    return values[0] if len(values) == 1 else tuple(values) or None


def failure(name: str, status: Any, facts: str = "") -> DriverError:  # CUresult
    """Return the error for a driver call that failed, with ``facts`` or what the code alone means."""
    code = int(status)
    if _started_in and _started_in[0] != os.getpid():
        facts = "this process was forked after CUDA was initialised, so it cannot use CUDA; start it by spawn instead"
    elif code in _FAULTS:
        facts = (
            "an earlier kernel or copy on this device failed, and nothing works in its context any more; "
            "to find it, run with CUDA_LAUNCH_BLOCKING=1 or under compute-sanitizer"
        )
    elif code in _CAPTURE:
        facts = (
            "a stream is being captured, and this driver does nothing of the kind meanwhile; "
            "load what the capture uses before it begins, with store.get_kernel(...) or store.warm_up()"
        )
    return DriverError(name, code, status.name, facts)


def device_count() -> int:
    """Return how many devices the driver shows. Raises DriverError without a driver."""
    return int(call("cuDeviceGetCount"))


def driver_version() -> tuple[int, int]:
    """Return the newest CUDA the driver supports, such as ``(13, 0)``. Raises DriverError without a driver."""
    version = int(call("cuDriverGetVersion"))
    return version // 1000, version % 1000 // 10


def memory_device(address: int) -> int | None:
    """Return the device that memory is on; None for memory that all devices reach, or that the driver does not know.

    It calls the driver with ctypes, because the bindings (13.3) return 0 for memory on any device.
    """
    managed, ordinal = ctypes.c_int(), ctypes.c_int()
    for attribute, value in ((_IS_MANAGED, managed), (_DEVICE_ORDINAL, ordinal)):
        if driver_library().cuPointerGetAttribute(ctypes.byref(value), attribute, ctypes.c_uint64(address)) != 0:
            return None
    return None if managed.value else ordinal.value


@cache
def launch_by_address() -> Any:  # a function of ctypes
    """Return cuLaunchKernelEx as a function of four addresses, which it takes as integers. It releases the GIL."""
    cuda()
    launch = driver_library()["cuLaunchKernelEx"]
    launch.argtypes, launch.restype = [ctypes.c_void_p] * 4, ctypes.c_int
    return launch


@cache
def driver_library() -> Any:  # ctypes.CDLL, or ctypes.WinDLL
    """Return the driver's library, which the bindings have loaded by now."""
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


def compute_capability(ordinal: int) -> ComputeCapability:
    """Return the compute capability of a device. Raises DriverError without a driver or such a device."""
    parts = (device_attribute(f"COMPUTE_CAPABILITY_{part}", ordinal) for part in ("MAJOR", "MINOR"))
    return ComputeCapability(*parts)


def device_attribute(name: str, ordinal: int) -> int:
    """Return an attribute of a device, such as MULTIPROCESSOR_COUNT. Raises DriverError."""
    which = getattr(cuda().CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    return int(call("cuDeviceGetAttribute", which, call("cuDeviceGet", ordinal)))


def native_archs() -> tuple[SmArch, ...]:
    """Return the real architectures of the devices here, ascending; empty without a driver or a device."""
    try:
        found = {SmArch.of_device(compute_capability(ordinal)) for ordinal in range(device_count())}
    except DriverError:
        return ()
    return tuple(sorted(found))


def primary_context(ordinal: int) -> Any:  # CUcontext
    """Return a device's primary context, which is retained once, and again after a reset. Raises DriverError."""
    device = call("cuDeviceGet", ordinal)
    known = _primaries.get(ordinal)
    if known is not None and call("cuDevicePrimaryCtxGetState", device)[1]:
        return known
    context = _primaries[ordinal] = call("cuDevicePrimaryCtxRetain", device)
    return context


def current_context_id() -> int:
    """Return the id of the current context, making device 0's primary context current if there is none.

    The driver never gives an id twice, so a context that was reset or destroyed is not taken for its successor. A
    primary context that was reset is retained again. Raises DriverError without a driver or a device, and if the
    current context was destroyed.
    """
    driver = cuda()
    status, context = driver.cuCtxGetCurrent()
    none = int(status) != 0 or int(context) == 0
    lost = not none and int(driver.cuCtxGetId(context)[0]) != 0
    if none or lost:
        known = {int(primary): ordinal for ordinal, primary in _primaries.items()}
        if lost and int(context) not in known:
            facts = "the current context was destroyed: make another one current"
            raise failure("cuCtxGetId", driver.cuCtxGetId(context)[0], facts)
        context = primary_context(known[int(context)] if lost else 0)
        call("cuCtxSetCurrent", context)
    return int(call("cuCtxGetId", context))


def current_device() -> Device:
    """Return the device of the current context, after making one current as ``current_context_id`` does."""
    current_context_id()
    return _device(int(call("cuCtxGetDevice")))


@cache
def _device(ordinal: int) -> Device:
    return Device(ordinal, compute_capability(ordinal), driver_version())


T = TypeVar("T")

#: The handle of each context that something is kept for, by id.
_HANDLES: Final[dict[int, Any]] = {}


@contextmanager
def on_device(ordinal: int | None) -> Iterator[None]:
    """Make a context of a device current for the body: the current one if it is of that device, else its primary.

    None stands for the current device, which is device 0 in a thread without a context. Raises DriverError.
    """
    driver = cuda()
    status, here = driver.cuCtxGetDevice()
    if ordinal is None or ordinal == (0 if int(status) else int(here)):
        current_context_id()
        yield
        return
    call("cuCtxPushCurrent", primary_context(ordinal))
    try:
        yield
    finally:
        call("cuCtxPopCurrent")


@contextmanager
def on_context(context_id: int) -> Iterator[bool]:
    """Make a context that something is kept for current for the body, and yield True; False if it is gone."""
    alive = _is_alive(context_id)
    if alive:
        call("cuCtxPushCurrent", _HANDLES[context_id])
    try:
        yield alive
    finally:
        if alive:
            call("cuCtxPopCurrent")


def remember(table: dict[Any, Any], key: Any, value: Any, most: int = 256) -> None:
    """Add to a table that is only there for speed; a program that fills it starts over."""
    if len(table) >= most:
        table.clear()
    table[key] = value


def add_by_context(table: dict[int, T], context_id: int, value: T) -> None:
    """Keep a value for the current context, which has that id, and drop those of contexts that are gone."""
    for other in [*table]:
        if not _is_alive(other):
            table.pop(other, None)
    if context_id not in _HANDLES:
        for other in [*_HANDLES]:
            if not _is_alive(other):
                _HANDLES.pop(other, None)
        _HANDLES[context_id] = call("cuCtxGetCurrent")
    table[context_id] = value


def _is_alive(context_id: int) -> bool:
    """Return whether a context still exists. A later context may have the same handle, but never the same id."""
    handle = _HANDLES.get(context_id)
    if handle is None:
        return False
    status, found = cuda().cuCtxGetId(handle)
    return int(status) == 0 and int(found) == context_id


@contextmanager
def allow_during_capture() -> Iterator[None]:
    """Allow the body what a capture forbids: to load and unload images, and to look up kernels and variables.

    These allocate memory. During a capture, the driver refuses that and ends the capture, unless the thread says that
    its calls are not part of the graph (CUDA Driver API, cuThreadExchangeStreamCaptureMode). Raises DriverError.
    """
    driver = cuda()
    relaxed = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    before = call("cuThreadExchangeStreamCaptureMode", relaxed)
    try:
        yield
    finally:
        driver.cuThreadExchangeStreamCaptureMode(before)
