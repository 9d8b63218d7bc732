"""Launch arguments: from Python objects to the kernel's parameter buffer, checked against the recorded signature.

A launch packs by ``struct``, which range-checks numbers itself (see ``launch``); only what it rejects takes the slower
path here that converts or explains. Layout: CUDA C++ Programming Guide, "Driver API, kernel execution".
"""

from __future__ import annotations

import ctypes
import re
import struct
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.errors import ArgumentError, LaunchError
from hatch_cuda_kernels.runtime.launch.arrays import device_address

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["PLAIN_NUMBERS", "Signature", "Slot", "preparer"]

#: struct code, size and description, by PTX type.
_SCALARS: Final[dict[str, tuple[str, int, str]]] = {
    "u8": ("B", 1, "8-bit integer or bool"),
    "s8": ("b", 1, "8-bit integer"),
    "b8": ("B", 1, "8-bit value"),
    "u16": ("H", 2, "16-bit integer"),
    "s16": ("h", 2, "16-bit integer"),
    "b16": ("H", 2, "16-bit value"),
    "f16": ("e", 2, "half"),
    "u32": ("I", 4, "32-bit integer"),
    "s32": ("i", 4, "32-bit integer"),
    "b32": ("I", 4, "32-bit value"),
    "u64": ("Q", 8, "64-bit integer, pointer or array"),
    "s64": ("q", 8, "64-bit integer"),
    "b64": ("Q", 8, "64-bit value, pointer or array"),
    "ptr": ("Q", 8, "pointer or array"),
    "f32": ("f", 4, "float"),
    "f64": ("d", 8, "double"),
}
_POINTERS: Final = frozenset({"u64", "b64", "ptr"})
_FLOATS: Final = frozenset({"f16", "f32", "f64"})
#: Types that struct checks and converts by itself.
PLAIN_NUMBERS: Final = frozenset({int, float, bool})
#: A kernel takes at most 32,764 bytes of parameters.
_STRUCT: Final = re.compile(r"b8\[([0-9]{1,5})\]:([1-9][0-9]{0,3})")


class Slot:
    """A parameter buffer and the ``extra`` array that describes it to cuLaunchKernel, at fixed addresses.

    Without parameters, ``extra`` is NULL: the driver refuses a buffer that is larger than what the kernel takes.
    """

    __slots__ = ("_extra", "_size", "buffer", "extra")

    def __init__(self, size: int) -> None:
        self.buffer = ctypes.create_string_buffer(size)
        self._size = ctypes.c_size_t(size)
        # CU_LAUNCH_PARAM_BUFFER_POINTER = 1, CU_LAUNCH_PARAM_BUFFER_SIZE = 2, CU_LAUNCH_PARAM_END = 0 (cuda.h)
        pointers = (1, ctypes.addressof(self.buffer), 2, ctypes.addressof(self._size), 0)
        self._extra = (ctypes.c_void_p * len(pointers))(*pointers)
        self.extra = ctypes.addressof(self._extra) if size else 0


class Signature:
    """A kernel's parameters: how arguments are checked, converted and laid out in the parameter buffer.

    Raises LaunchError for a parameter type that this version does not know.
    """

    def __init__(self, kernel: str, params: Sequence[str]) -> None:
        self.kernel = kernel
        self.params = tuple(params)
        unknown = [param for param in self.params if param not in _SCALARS and not _STRUCT.fullmatch(param)]
        if unknown:
            message = f"{kernel} is recorded with parameters of unknown types: {', '.join(unknown)}"
            raise LaunchError(f"{message}; reinstall its package, or upgrade hatch-cuda-kernels")
        self.layout = struct.Struct(_layout(self.params))

    @property
    def pointers(self) -> tuple[int, ...]:
        """Positions of the parameters that can be pointers."""
        return tuple(index for index, param in enumerate(self.params) if param in _POINTERS)

    def pack(self, args: Sequence[Any]) -> bytes:
        """Return the parameter buffer's bytes. Raises ArgumentError for a wrong number, kind or range of arguments."""
        return self.layout.pack(*self.convert(args))

    def convert(self, args: Sequence[Any]) -> list[Any]:
        """Return the arguments as ``layout`` takes them. Raises ArgumentError."""
        if len(args) != len(self.params):
            raise ArgumentError(
                f"{self.kernel} takes {len(self.params)} arguments ({', '.join(self.params)}), got {len(args)}"
            )
        return [self._convert(index, arg) for index, arg in enumerate(args)]

    def _convert(self, index: int, arg: Any) -> Any:  # any Python object may be passed
        param = self.params[index]
        try:
            return _convert(param, preparer(param)(arg), *_size_of(param)[:2])
        except (struct.error, AttributeError, TypeError, ValueError, OverflowError) as error:
            raise ArgumentError(
                f"argument {index} of {self.kernel} must be a {_describe_type(param)}, got {_describe(arg)}: {error}"
            ) from error


def _describe_type(param: str) -> str:
    """Return a parameter type in words: ``float (f32)``, ``struct of 16 bytes (b8[16]:8)``."""
    match = _STRUCT.fullmatch(param)
    words = f"struct of {match[1]} bytes" if match else _SCALARS[param][2]
    return f"{words} ({param})"


def _layout(params: Sequence[str]) -> str:
    """Return the struct format: each parameter at the next multiple of its alignment, without tail padding."""
    layout, offset = "<", 0
    for param in params:
        code, size, alignment = _size_of(param)
        padding = -offset % alignment
        layout += f"{padding}x" * bool(padding) + code
        offset += padding + size
    return layout


def _size_of(param: str) -> tuple[str, int, int]:
    match = _STRUCT.fullmatch(param)
    if match:
        return f"{match[1]}s", int(match[1]), int(match[2])
    code, size, _ = _SCALARS[param]
    return code, size, size


def preparer(param: str) -> Callable[[Any], Any]:
    """Return the function that turns an argument for this parameter into a value for struct, or raises."""
    if _STRUCT.fullmatch(param):
        size = _size_of(param)[1]
        return lambda arg: _struct_bytes(arg, size)
    return device_address if param in _POINTERS else _as_number


def _as_number(arg: Any) -> Any:  # any Python object may be passed
    """Return numbers of Python and numpy; refuse arrays, which struct would silently copy from the device."""
    if type(arg) in PLAIN_NUMBERS:
        return arg
    if hasattr(arg, "__array__") and getattr(arg, "shape", None) == () and type(arg).__module__ == "numpy":
        return arg.item()
    if hasattr(arg, "data_ptr") or hasattr(arg, "__cuda_array_interface__") or hasattr(arg, "__array__"):
        raise TypeError("an array was passed for a number")
    return arg


def _convert(param: str, value: Any, code: str, size: int) -> Any:
    """Convert a value that struct would reject, or raise. PTX does not say which integers are signed."""
    if param.startswith("u") and isinstance(value, int) and value < 0:
        if value < -(1 << (8 * size - 1)):
            raise ValueError(f"{value} is below the smallest {8 * size}-bit integer")
        value += 1 << (8 * size)
    if code in "BHIQbhiq" and isinstance(value, int) and value >= 1 << (8 * size):
        raise ValueError(f"it does not fit into {8 * size} bits")
    if param in _FLOATS and not isinstance(value, int | float):
        value = _float(value)
    struct.pack(f"<{code}", value)
    return value


def _float(value: Any) -> float:
    if not hasattr(type(value), "__float__"):  # float() would parse text
        raise TypeError("not a number")
    return float(value)


def _struct_bytes(arg: Any, size: int) -> bytes:
    """Return a by-value struct's bytes from bytes, a numpy record or scalar, or anything with the buffer protocol."""
    data = arg.tobytes() if hasattr(arg, "tobytes") else bytes(memoryview(arg))
    if isinstance(arg, float | int) or len(data) != size:
        raise ValueError(f"{len(data)} bytes instead of {size}")
    return data


def _describe(arg: Any) -> str:
    kind = type(arg)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"{arg!r} ({name})" if type(arg) in PLAIN_NUMBERS else name
