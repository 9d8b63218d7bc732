"""The driver by ctypes, as ``cuda.bindings.driver`` has it: functions return their status and what they give."""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

#: Of each function, what it takes and, after ``>``, gives: integers, size_t (z), addresses (P), 64 bits (Q), text (s);
#: ``-`` stands for a null pointer. A name with ``_v2`` is the one that CUDA 12's headers call.
_CALLS: Final = {
    "cuInit": "i", "cuDriverGetVersion": ">i", "cuDeviceGetCount": ">i", "cuDeviceGet": ">i i",
    "cuDeviceGetAttribute": ">i i i", "cuDevicePrimaryCtxRetain": ">P i", "cuDevicePrimaryCtxGetState": "i >i >i",
    "cuCtxGetCurrent": ">P", "cuCtxSetCurrent": "P", "cuCtxPushCurrent_v2": "P", "cuCtxPopCurrent_v2": ">P",
    "cuCtxGetId": "P >Q", "cuCtxGetDevice": ">i", "cuCtxSynchronize": "", "cuThreadExchangeStreamCaptureMode": "=i",
    "cuLibraryUnload": "P", "cuLibraryGetKernel": ">P P s", "cuLibraryGetGlobal": ">P >z P s",
    "cuKernelGetFunction": ">P P", "cuKernelGetAttribute": ">i i P i", "cuKernelSetAttribute": "i i P i",
    "cuLaunchKernelEx": "P P P P", "cuStreamGetCtx": "P >P", "cuStreamIsCapturing": "P >i", "cuStreamSynchronize": "P",
    "cuStreamWaitEvent": "P P i", "cuEventCreate": ">P i", "cuEventRecord": "P P", "cuEventDestroy_v2": "P",
    "cuMemcpyDtoDAsync_v2": "P P z P", "cuMemcpyHtoDAsync_v2": "P P z P", "cuMemcpyDtoHAsync_v2": "P P z P",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": ">i P i z", "cuOccupancyMaxPotentialClusterSize": ">i P P",
}  # fmt: skip
#: What it takes to load a kernel, and to launch it.
_USUAL: Final = (
    "cuInit", "cuCtxGetCurrent", "cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuCtxGetId",
    "cuCtxGetDevice", "cuDeviceGetAttribute", "cuDriverGetVersion", "cuThreadExchangeStreamCaptureMode",
    "cuLibraryGetKernel", "cuKernelGetFunction", "cuLaunchKernelEx",
)  # fmt: skip
_TYPES: Final = {"i": ctypes.c_int, "z": ctypes.c_size_t, "P": ctypes.c_void_p, "Q": ctypes.c_ulonglong,
                 "s": ctypes.c_char_p}  # fmt: skip
#: CUdevice_attribute, CUfunction_attribute, CUlaunchAttributeID, CUpointer_attribute, CUstreamCaptureMode (cuda.h).
_NUMBERS: Final = {
    "CU_DEVICE_ATTRIBUTE_": {
        "MAX_THREADS_PER_BLOCK": 1, "MAX_BLOCK_DIM_X": 2, "MAX_BLOCK_DIM_Y": 3, "MAX_BLOCK_DIM_Z": 4,
        "MAX_GRID_DIM_X": 5, "MAX_GRID_DIM_Y": 6, "MAX_GRID_DIM_Z": 7, "MAX_REGISTERS_PER_BLOCK": 12,
        "MULTIPROCESSOR_COUNT": 16, "MAX_THREADS_PER_MULTIPROCESSOR": 39, "COMPUTE_CAPABILITY_MAJOR": 75,
        "COMPUTE_CAPABILITY_MINOR": 76, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 97, "CLUSTER_LAUNCH": 120,
    },
    "CU_FUNC_ATTRIBUTE_": {
        "MAX_THREADS_PER_BLOCK": 0, "SHARED_SIZE_BYTES": 1, "CONST_SIZE_BYTES": 2, "LOCAL_SIZE_BYTES": 3,
        "NUM_REGS": 4, "PTX_VERSION": 5, "BINARY_VERSION": 6, "MAX_DYNAMIC_SHARED_SIZE_BYTES": 8,
        "PREFERRED_SHARED_MEMORY_CARVEOUT": 9, "NON_PORTABLE_CLUSTER_SIZE_ALLOWED": 14,
    },
    "CU_LAUNCH_ATTRIBUTE_": {
        "COOPERATIVE": 2, "CLUSTER_DIMENSION": 4, "PROGRAMMATIC_STREAM_SERIALIZATION": 6, "PRIORITY": 8,
        "PREFERRED_SHARED_MEMORY_CARVEOUT": 14,
    },
    "CU_POINTER_ATTRIBUTE_": {"DEVICE_POINTER": 3},
    "CU_STREAM_CAPTURE_MODE_": {"RELAXED": 2},
}  # fmt: skip


class DriverNotFoundError(ImportError):
    """There is no driver's library here."""


class Status(int):
    """A CUresult; 0 is always the same object."""

    @property
    def name(self) -> str:
        """The driver's own name, such as CUDA_ERROR_INVALID_VALUE."""
        text = ctypes.c_char_p()
        driver.library.cuGetErrorName(int(self), ctypes.byref(text))
        return (text.value or b"unknown error").decode()


_SUCCESS: Final = Status(0)


class _LaunchConfig:
    """A CUlaunchConfig: memory at a fixed address."""

    def __init__(self) -> None:
        self._memory = ctypes.create_string_buffer(64)
        self._as_parameter_ = ctypes.c_void_p(ctypes.addressof(self._memory))

    def getPtr(self) -> int:  # noqa: N802 - as the bindings call it
        """Return where it is."""
        return ctypes.addressof(self._memory)


class _Enumeration:
    """An enumeration of cuda.h."""

    def __getattr__(self, name: str) -> int:
        return next(found[name[len(start) :]] for start, found in _NUMBERS.items() if name.startswith(start))


class _Results:
    CUDA_SUCCESS = _SUCCESS

    def __call__(self, code: int) -> Status:
        return _SUCCESS if code == 0 else Status(code)


class CtypesDriver:
    """The functions of libcuda, each made when it is first called. Calls release the GIL."""

    CUresult = _Results()
    CUcontext = CUdevice = CUstream = int
    CUlaunchConfig = _LaunchConfig
    CUdevice_attribute = CUfunction_attribute = CUlaunchAttributeID = CUpointer_attribute = CUstreamCaptureMode = (
        _Enumeration()
    )

    def __getattr__(self, name: str) -> Any:
        if name == "library":
            self.library = _open()
            return self.library
        exported = name if name in _CALLS else f"{name}_v2"
        if exported not in _CALLS:
            raise AttributeError(name)
        made = _function(self.library[exported], _CALLS[exported].split())
        setattr(self, name, made)
        return made

    def cuLibraryLoadData(self, data: bytes, *_: Any) -> tuple[Any, ...]:  # noqa: N802 - the driver's name
        """Load an image without options; the text of PTX ends with a zero, as all bytes of Python do."""
        return _given(self.library.cuLibraryLoadData, data, None, None, 0, None, None, 0)

    def cuPointerGetAttribute(self, which: int, address: int) -> tuple[Any, ...]:  # noqa: N802 - the driver's name
        """Return the attribute of an address that is an address."""
        value = ctypes.c_void_p()
        status = self.library.cuPointerGetAttribute(ctypes.byref(value), which, ctypes.c_uint64(address))
        return self.CUresult(status), value.value or 0

    def cuOccupancyMaxPotentialBlockSize(self, function: int, _: Any, shared: int, most: int) -> tuple[Any, ...]:  # noqa: N802 - the driver's name
        """Suggest blocks and threads for a kernel with constant shared memory."""
        blocks, threads = ctypes.c_int(), ctypes.c_int()
        places = ctypes.byref(blocks), ctypes.byref(threads)
        call = self.library.cuOccupancyMaxPotentialBlockSize
        status = call(*places, ctypes.c_void_p(function), None, ctypes.c_size_t(shared), most)
        return self.CUresult(status), blocks.value, threads.value


def _open() -> Any:  # ctypes.CDLL, or ctypes.WinDLL
    """Return the driver's library. Raises DriverNotFoundError without one."""
    try:
        return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError as error:
        raise DriverNotFoundError(str(error)) from error


def _given(function: Any, *args: Any) -> tuple[Any, ...]:
    value = ctypes.c_void_p()
    status = function(ctypes.byref(value), *args)
    return CtypesDriver.CUresult(status), value.value or 0


def _function(call: Any, codes: list[str]) -> Callable[..., tuple[Any, ...]]:
    """Return a function of the driver that gives its status and its values."""
    types = [_TYPES[code[-1]] for code in codes]
    call.argtypes = [ctypes.c_void_p if len(code) == 2 else kind for code, kind in zip(codes, types, strict=True)]
    gives = [(index, kind) for index, (code, kind) in enumerate(zip(codes, types, strict=True)) if len(code) == 2]

    def plain(*args: Any) -> tuple[Any, ...]:
        status = call(*args)
        return (_SUCCESS if status == 0 else Status(status),)

    def giving(*args: Any) -> tuple[Any, ...]:
        given: list[Any] = [*args]
        made: list[Any] = []
        for index, kind in gives:
            value: Any = kind(given.pop(index)) if codes[index][0] == "=" else kind()
            given.insert(index, ctypes.byref(value))
            made.append(value)
        status = call(*given)
        if status != 0:  # then nothing is given, whatever the driver wrote there
            return (Status(status), *(None for _ in made))
        return (_SUCCESS, *(value.value or 0 for value in made))

    return giving if gives else plain


driver: Final = CtypesDriver()


def find_usual() -> None:
    """Find the functions that it takes to load and to launch a kernel. Raises DriverNotFoundError."""
    for name in _USUAL:
        getattr(driver, name)
