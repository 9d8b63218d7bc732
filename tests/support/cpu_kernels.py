"""Kernels in Python that XLA's CPU calls as it would call those of a device, and what was launched."""

from __future__ import annotations

import ctypes
import struct

import numpy as np

from hatch_cuda_kernels.operators import OperatorKernel, stated_sizes
from hatch_cuda_kernels.operators.jax.handler import Entered
from hatch_cuda_kernels.runtime.launch.arguments import Signature
from hatch_cuda_kernels.runtime.launch.shapes import Shape

#: PTX type, size and ctypes' type by C++ type.
NUMBERS = {
    "float": ("f32", ctypes.c_float),
    "double": ("f64", ctypes.c_double),
    "int": ("s32", ctypes.c_int32),
    "unsigned int": ("u32", ctypes.c_uint32),
    "long long": ("s64", ctypes.c_int64),
    "unsigned long long": ("u64", ctypes.c_uint64),
}


def operator_kernel(name, declarations, grid=1, block=32, *, get_kernel=None, scope="scope", identity=(), **sizes):
    """Return a kernel of such parameters."""
    types, names = zip(*(declaration.rsplit(" ", 1) for declaration in declarations.split(", ")), strict=True)
    params = ["ptr" if kind.endswith("*") else NUMBERS[kind][0] for kind in types]
    signature = Signature(name, params, types, names)
    launch = stated_sizes(name, {"grid": grid, "block": block, **sizes})
    get = get_kernel or (lambda: None)
    return OperatorKernel(name, signature.parameters, signature, launch, get, scope, identity or (name,))


class CpuTarget:
    """The CPU in the place of a device: a launch calls a function in Python with the shape and the arguments.

    Pointers come as addresses. ``status`` is what launches answer, ``entered`` and ``launched`` what was asked for.
    """

    platform = "cpu"

    def __init__(self, kernel, run):
        self._types = [ctypes.c_void_p if found.is_pointer else NUMBERS[found.type][1] for found in kernel.parameters]
        self._run = run
        self.status = 0
        self.entered = []
        self.launched = []
        self.prepared = 0

    def prepare(self):
        """Count."""
        self.prepared += 1

    def get_stream(self, _):
        """Give the default stream, for the CPU has none."""
        return lambda _: None

    def enter(self, shape, stream):
        """Lay a shape out as the driver's configurations are."""
        self.entered.append((shape, stream))
        config = ctypes.create_string_buffer(struct.pack("7I", *shape.grid, *shape.block, shape.shared_mem))
        return Entered(ctypes.addressof(config), 1234, config)

    def launch(self, config, kernel, arguments, extra):
        """Run the kernel."""
        assert (kernel, extra) == (1234, 0)
        x, y, z, u, v, w, shared = (ctypes.c_uint32 * 7).from_address(config)
        shape = Shape((x, y, z), (u, v, w), shared)
        where = (ctypes.c_uint64 * len(self._types)).from_address(arguments)
        values = [kind.from_address(address).value for kind, address in zip(self._types, where, strict=True)]
        self.launched.append((shape, values))
        if not self.status:
            self._run(shape, *values)
        return self.status

    def refuse(self, status, shape, stream):
        """Say what failed."""
        message = f"status {status} for {shape.grid} on {stream}"
        raise RuntimeError(message)


def array_at(address, shape, dtype=np.float32):
    """Return the array at an address, without copying it."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_char * count).from_address(address), dtype).reshape(shape)
