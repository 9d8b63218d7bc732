"""A CUDA driver for machines without one: devices, contexts, libraries, streams and launches, kept for tests to see."""

# ruff: noqa: N802 - the names are the driver's
from __future__ import annotations

import ctypes
import threading
from enum import IntEnum
from types import SimpleNamespace

from hatch_cuda_kernels.compiler.binary.cubin import read_cubin


class Result(IntEnum):
    """The results of driver calls that tests meet."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_NOT_INITIALIZED = 3
    CUDA_ERROR_INVALID_CONTEXT = 201
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209
    CUDA_ERROR_INVALID_PTX = 218
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222
    CUDA_ERROR_INVALID_HANDLE = 400
    CUDA_ERROR_NOT_FOUND = 500
    CUDA_ERROR_ILLEGAL_ADDRESS = 700
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709
    CUDA_ERROR_LAUNCH_FAILED = 719
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900


OK = Result.CUDA_SUCCESS

CONTEXT_ID = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_ulonglong))
LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
#: Functions that C may call as long as the process lives.
_KEPT = []

#: What a device of compute capability 9.0 says of itself.
DEVICE = {
    "MAX_THREADS_PER_BLOCK": 1024,
    "MAX_BLOCK_DIM_X": 1024, "MAX_BLOCK_DIM_Y": 1024, "MAX_BLOCK_DIM_Z": 64,
    "MAX_GRID_DIM_X": 2**31 - 1, "MAX_GRID_DIM_Y": 65535, "MAX_GRID_DIM_Z": 65535,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 232448,
    "MAX_REGISTERS_PER_BLOCK": 65536,
    "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
    "MULTIPROCESSOR_COUNT": 132,
    "CLUSTER_LAUNCH": 1,
}  # fmt: skip
#: What it says of every kernel, unless a test changes it.
KERNEL = {
    "MAX_THREADS_PER_BLOCK": 1024, "SHARED_SIZE_BYTES": 0, "CONST_SIZE_BYTES": 0, "LOCAL_SIZE_BYTES": 0,
    "NUM_REGS": 32, "PTX_VERSION": 90, "BINARY_VERSION": 90, "MAX_DYNAMIC_SHARED_SIZE_BYTES": 48 << 10,
    "NON_PORTABLE_CLUSTER_SIZE_ALLOWED": 0, "PREFERRED_SHARED_MEMORY_CARVEOUT": -1,
}  # fmt: skip


def names(prefix, values):
    """Return an enumeration's stand-in: each member is its own name, less the prefix."""
    return SimpleNamespace(**{f"{prefix}{name}": name for name in values})


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig as cuda.h has it."""

    _fields_ = (
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("sharedMemBytes", ctypes.c_uint32),
        ("hStream", ctypes.c_uint64),
        ("attrs", ctypes.c_uint64),
        ("numAttrs", ctypes.c_uint32),
    )

    def getPtr(self):
        """Return where it is, as the bindings do."""
        return ctypes.addressof(self)

    @property
    def attributes(self):
        """The launch attributes: ids with the bytes of their values."""
        data = ctypes.string_at(self.attrs, 72 * self.numAttrs) if self.numAttrs else b""
        return {data[at]: data[at + 8 : at + 72] for at in range(0, len(data), 72)}


class FakeDriver:
    """As much of ``cuda.bindings.driver`` as the run side uses. Device 0 has the primary context 7, device 1 has 17.

    A context's handle is its first id. ``refuse(data, name)`` returns the result for asking for a kernel of an image;
    None takes it. ``launches`` has stream, kernel and parameters, ``launched_in`` the context of each launch.
    """

    CUresult = Result
    CUcontext = CUdevice = CUstream = staticmethod(int)
    CUlaunchConfig = LaunchConfig
    CUlaunchAttributeID = SimpleNamespace(
        CU_LAUNCH_ATTRIBUTE_COOPERATIVE=2,
        CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION=4,
        CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION=6,
        CU_LAUNCH_ATTRIBUTE_PRIORITY=8,
        CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT=14,
    )
    CUstreamCaptureMode = SimpleNamespace(CU_STREAM_CAPTURE_MODE_RELAXED=2)
    CUdevice_attribute = names(
        "CU_DEVICE_ATTRIBUTE_", ["COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR", *DEVICE]
    )
    CUfunction_attribute = names("CU_FUNC_ATTRIBUTE_", KERNEL)

    def __init__(self, capability=(9, 0), version=13000, devices=1):
        self.capability = capability
        self.version = version
        self.devices = devices
        self.status = OK
        self.refuse = lambda *_: None
        self.loaded = []
        self.unloaded = []
        self.launches = []
        self.launched_in = []
        self.configs = []
        self.maps = []
        """What tensor maps say, in the driver's order of dimensions."""
        self.calls = []
        """Of streams, events and copies."""
        self.is_capturing = False
        """Whether a stream is captured in the default mode."""
        self.device_attributes = dict(DEVICE)
        self.kernel_attributes = {}
        self.pointers = {}
        """Devices of addresses."""
        self.managed = set()
        self.stream_contexts = {}
        self.gone = set()
        """Handles of contexts that were destroyed or reset."""
        self._ids = {}
        self._kernels = []
        self._stacks = threading.local()

    # Contexts

    @property
    def context(self):
        """The current context's handle, 0 if there is none."""
        return self._stack[-1]

    @context.setter
    def context(self, handle):
        self._stack[-1] = handle

    @property
    def _stack(self):
        self._stacks.__dict__.setdefault("stack", [0])
        return self._stacks.stack

    def reset(self, ordinal=0):
        """Reset a primary context: it stays current where it is, and is another one once it is retained again."""
        self.gone.add(7 + 10 * ordinal)

    def cuInit(self, _):
        """Start."""
        return (OK,)

    def cuDriverGetVersion(self):
        """Answer as a driver for CUDA 13.0 does, where not told otherwise."""
        return OK, self.version

    def cuDeviceGetCount(self):
        """Count the devices."""
        return OK, self.devices

    def cuDeviceGet(self, ordinal):
        """Give a device."""
        return OK, ordinal

    def cuDeviceGetAttribute(self, attribute, _):
        """Give a half of the compute capability, or a limit."""
        if attribute.startswith("COMPUTE_CAPABILITY"):
            return OK, self.capability[attribute.endswith("MINOR")]
        return OK, self.device_attributes[attribute]

    def cuDevicePrimaryCtxRetain(self, ordinal):
        """Give a device's primary context; after a reset, it is a new one at the old handle."""
        handle = 7 + 10 * ordinal
        if handle in self.gone:
            self.gone.discard(handle)
            self._ids[handle] = self._ids.get(handle, handle) + 1000
        return OK, handle

    def cuDevicePrimaryCtxGetState(self, ordinal):
        """Say whether a primary context is there."""
        return OK, 0, int(7 + 10 * ordinal not in self.gone)

    def cuCtxGetCurrent(self):
        """Give the current context."""
        return OK, self.context

    def cuCtxSetCurrent(self, context):
        """Make a context current."""
        self.context = context
        return (OK,)

    def cuCtxPushCurrent(self, context):
        """Make a context current for a while."""
        self._stack.append(context)
        return (OK,)

    def cuCtxPopCurrent(self):
        """Go back to the one before."""
        return OK, self._stack.pop()

    def cuCtxGetId(self, context):
        """Give a context's id; 0 stands for the current one."""
        handle = context or self.context
        if not handle:
            return Result.CUDA_ERROR_INVALID_CONTEXT, None
        if handle in self.gone:
            return Result.CUDA_ERROR_CONTEXT_IS_DESTROYED, None
        return OK, self._ids.get(handle, handle)

    def cuCtxGetDevice(self):
        """Give the current context's device."""
        if not self.context:
            return Result.CUDA_ERROR_INVALID_CONTEXT, None
        return OK, 1 if self.context == 17 else 0

    # The same for C

    def cuGetProcAddress(self, name, *_):
        """Give the address of a function that C calls, and that does what the method of its name does."""
        made = CONTEXT_ID(self._context_id) if name == b"cuCtxGetId" else LAUNCH(self._launch)
        _KEPT.append(made)
        return OK, ctypes.cast(made, ctypes.c_void_p).value, 0

    def _context_id(self, context, out):
        status, found = self.cuCtxGetId(context)
        out[0] = found or 0
        return status

    def _launch(self, config, handle, params, extra):
        copy = LaunchConfig.from_buffer_copy(ctypes.string_at(config, ctypes.sizeof(LaunchConfig)))
        return self.cuLaunchKernelEx(copy, handle or 0, params or 0, extra or 0)[0]

    # Libraries and kernels

    @property
    def capture_mode(self):
        """How this thread and captures get on: 0 unless it was exchanged for 2, which is relaxed."""
        return self._stacks.__dict__.get("capture_mode", 0)

    def cuThreadExchangeStreamCaptureMode(self, mode):
        """Exchange the mode of this thread."""
        before, self._stacks.capture_mode = self.capture_mode, mode
        return OK, before

    @property
    def _refuses_now(self):
        return self.is_capturing and self.capture_mode != 2

    def cuLibraryLoadData(self, data, *_):
        """Take any image, as the driver does: it loads lazily."""
        if self._refuses_now:
            return Result.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, None
        self.loaded.append(data)
        return OK, data

    def cuLibraryUnload(self, library):
        """Forget an image."""
        if self._refuses_now:
            return (Result.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,)
        self.unloaded.append(library)
        return (OK,)

    def cuLibraryGetKernel(self, library, name):
        """Give a kernel's handle, or what ``refuse`` says."""
        if (library, name) not in self._kernels:
            self._kernels.append((library, name))
        return self.refuse(library, name) or OK, 1 + self._kernels.index((library, name))

    def cuKernelGetFunction(self, handle):
        """Give a kernel's function in the current context, under the same number: that loads it there."""
        return Result.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED if self._refuses_now else OK, handle

    def name_of(self, handle):
        """Return the lowered name of a kernel."""
        return self._kernels[handle - 1][1]

    def cuLibraryGetGlobal(self, library, name):
        """Give a variable's address and size where the image has its name; each context has its own."""
        if self._refuses_now:
            return Result.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, None, None
        found = name in library
        return OK if found else Result.CUDA_ERROR_NOT_FOUND, 0x1000 + 0x100 * (self.cuCtxGetId(0)[1] - 7), 36

    def cuKernelGetAttribute(self, attribute, handle, device):
        """Give an attribute."""
        return OK, self.kernel_attributes.get((attribute, handle, device), KERNEL[attribute])

    def cuKernelSetAttribute(self, attribute, value, handle, device):
        """Set an attribute."""
        self.kernel_attributes[attribute, handle, device] = value
        return (OK,)

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, _, threads, __):
        """Count blocks by threads alone."""
        return OK, 2048 // threads

    def cuOccupancyMaxPotentialBlockSize(self, _, __, ___, limit):
        """Suggest as many threads as may be."""
        return OK, 132, limit or 1024

    def cuOccupancyMaxPotentialClusterSize(self, *_):
        """Take clusters of up to 16 blocks."""
        return OK, 16

    def cuLaunchKernelEx(self, config, handle, params, extra):
        """Keep what was launched; the parameters are copied while they are valid, each of the size in the image."""
        data = None
        if params:
            library, name = self._kernels[handle - 1]
            sizes = [size for _, size in read_cubin(bytes(library)).kernels[name.decode()].params]
            places = (ctypes.c_void_p * len(sizes)).from_address(params)
            data = b"".join(map(ctypes.string_at, places, sizes))
        if extra:
            words = (ctypes.c_void_p * 5).from_address(extra)
            data = ctypes.string_at(words[1], ctypes.c_size_t.from_address(words[3]).value)
        known = handle <= len(self._kernels)
        self.launches.append((config.hStream, self.name_of(handle) if known else handle, data))
        self.launched_in.append(self.context)
        self.configs.append(config)
        return (self.status,)

    # Memory and streams

    def cuPointerGetAttribute(self, value, attribute, address):
        """Say whether memory is managed (8), or which device it is on (9), as the library itself does to ctypes."""
        if address.value not in self.pointers:
            return Result.CUDA_ERROR_INVALID_VALUE
        value._obj.value = address.value in self.managed if attribute == 8 else self.pointers[address.value]
        return OK

    def cuTensorMapEncodeTiled(self, at, kind, rank, address, dims, strides, box, steps, *modes):  # noqa: PLR0917 - as it is
        """Keep what a tensor map says, and write its number into each of its bytes; the memory must be aligned."""
        if at.value % 64:
            return Result.CUDA_ERROR_INVALID_VALUE
        sizes = [*dims][:rank], [*strides][: rank - 1], [*box][:rank], [*steps][:rank]
        self.maps.append((kind, address.value, *sizes, *modes))
        ctypes.memset(at.value, len(self.maps), 128)
        return OK

    def cuStreamGetCtx(self, stream):
        """Give a stream's context."""
        context = self.stream_contexts.get(stream)
        return (Result.CUDA_ERROR_INVALID_HANDLE, None) if context is None else (OK, context)

    def cuStreamIsCapturing(self, _):
        """Say no."""
        return OK, 0

    def cuEventCreate(self, _):
        """Make an event."""
        return OK, 99

    def __getattr__(self, name):
        """Keep any other call on streams, events and memory."""
        if not name.startswith(("cuEvent", "cuStream", "cuMemcpy")):
            raise AttributeError(name)

        def call(*args):
            self.calls.append((name, *args))
            return (OK,)

        return call
