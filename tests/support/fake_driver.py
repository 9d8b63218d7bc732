"""A CUDA driver for machines without one: contexts, libraries and kernels as numbers, and launches kept for tests."""

# ruff: noqa: N802 - the names are the driver's
from __future__ import annotations

import ctypes
from enum import IntEnum
from types import SimpleNamespace


class Result(IntEnum):
    """The results of driver calls that tests meet."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209
    CUDA_ERROR_INVALID_PTX = 218
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222
    CUDA_ERROR_NOT_FOUND = 500
    CUDA_ERROR_LAUNCH_FAILED = 719


class FakeDriver:
    """As much of ``cuda.bindings.driver`` as the run side uses, with one device of compute capability 9.0.

    ``refuse(data, name)`` returns the result for asking for a kernel of an image; None takes it.
    """

    CUresult = Result
    CUcontext = CUstream = CUdevice = int
    CUlaunchConfig = SimpleNamespace
    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=0, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=1
    )

    def __init__(self, capability=(9, 0), version=13000):
        self.capability = capability
        self.version = version
        self.context = 0
        self.status = Result.CUDA_SUCCESS
        self.refuse = lambda *_: None
        self.loaded = []
        self.launches = []

    def cuInit(self, _):
        """Start."""
        return (Result.CUDA_SUCCESS,)

    def cuDriverGetVersion(self):
        """Answer as a driver for CUDA 13.0 does, where not told otherwise."""
        return Result.CUDA_SUCCESS, self.version

    def cuDeviceGet(self, ordinal):
        """Give the only device."""
        return Result.CUDA_SUCCESS, ordinal

    def cuDeviceGetAttribute(self, attribute, _):
        """Give a half of the compute capability."""
        return Result.CUDA_SUCCESS, self.capability[attribute]

    def cuDevicePrimaryCtxRetain(self, _):
        """Give the primary context."""
        return Result.CUDA_SUCCESS, 7

    def cuCtxGetCurrent(self):
        """Give the current context."""
        return Result.CUDA_SUCCESS, self.context

    def cuCtxSetCurrent(self, context):
        """Make a context current."""
        self.context = context
        return (Result.CUDA_SUCCESS,)

    def cuCtxPushCurrent(self, context):
        """Make a context current for a while."""
        return self.cuCtxSetCurrent(context)

    def cuCtxPopCurrent(self):
        """Forget nothing: there is one context."""
        return Result.CUDA_SUCCESS, self.context

    def cuCtxGetId(self, context):
        """Give a context's number; 0 stands for the current one."""
        return Result.CUDA_SUCCESS, context or self.context

    def cuCtxGetDevice(self):
        """Give the current context's device."""
        return Result.CUDA_SUCCESS, 0

    def cuLibraryLoadData(self, data, *_):
        """Take any image, as the driver does: it loads lazily."""
        self.loaded.append(data)
        return Result.CUDA_SUCCESS, data

    def cuLibraryGetKernel(self, library, name):
        """Give a kernel's handle, which is its name here, or what ``refuse`` says."""
        return self.refuse(library, name) or Result.CUDA_SUCCESS, name

    def cuLibraryGetGlobal(self, library, name):
        """Give a variable's address and size where the image has its name."""
        found = name in library
        return Result.CUDA_SUCCESS if found else Result.CUDA_ERROR_NOT_FOUND, 0x1000, 36

    def cuLaunchKernelEx(self, config, handle, _, extra):
        """Keep what was launched; the parameter buffer is copied while it is valid."""
        data = None
        if extra:
            words = (ctypes.c_void_p * 5).from_address(extra)
            data = ctypes.string_at(words[1], ctypes.c_size_t.from_address(words[3]).value)
        self.launches.append((config.hStream, handle, data))
        return (self.status,)
