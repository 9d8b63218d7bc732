"""A kernel's parameters: how arguments are checked, converted and laid out in the parameter buffer.

A launch packs by ``struct``, which range-checks numbers itself (see ``launch``); only what it rejects comes here again
to be explained. Layout: CUDA C++ Programming Guide, "Driver API, kernel execution".
"""

from __future__ import annotations

import ctypes
import re
import struct
from numbers import Integral
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.errors import ArgumentError, LaunchError
from hatch_cuda_kernels.runtime.launch.arrays import by_value_reader, family, read_address
from hatch_cuda_kernels.runtime.launch.maps import MAP_BYTES
from hatch_cuda_kernels.runtime.launch.values import float_reader, integer_reader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.runtime.launch.values import Reader

__all__ = ["PtxParameter", "Signature", "Slot"]

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
#: A kernel takes at most 32,764 bytes of parameters.
_STRUCT: Final = re.compile(r"b8\[([0-9]{1,5})\]:([1-9][0-9]{0,3})")


class Slot:
    """A parameter buffer and the ``extra`` array that describes it to cuLaunchKernel, at fixed addresses.

    Without parameters, ``extra`` is NULL: the driver refuses a buffer that is larger than what the kernel takes.
    """

    __slots__ = ("_extra", "_size", "buffer", "extra", "streams")

    def __init__(self, size: int) -> None:
        self.buffer = ctypes.create_string_buffer(size)
        self.streams: list[int] = []
        """Streams of the arrays of one launch, besides torch's current one."""
        self._size = ctypes.c_size_t(size)
        # CU_LAUNCH_PARAM_BUFFER_POINTER = 1, CU_LAUNCH_PARAM_BUFFER_SIZE = 2, CU_LAUNCH_PARAM_END = 0 (cuda.h)
        pointers = (1, ctypes.addressof(self.buffer), 2, ctypes.addressof(self._size), 0)
        self._extra = (ctypes.c_void_p * len(pointers))(*pointers)
        self.extra = ctypes.addressof(self._extra) if size else 0


class PtxParameter(NamedTuple):
    """One parameter, as far as PTX tells: a pointer may look like an integer, and signs do not show."""

    kind: str
    code: str
    """struct's."""
    size: int
    alignment: int
    words: str

    @classmethod
    def parse(cls, kind: str) -> PtxParameter | None:
        """Read what an index records, None for a type that this version does not know."""
        match = _STRUCT.fullmatch(kind)
        if match:
            return cls(kind, f"{match[1]}s", int(match[1]), int(match[2]), f"struct of {match[1]} bytes")
        known = _SCALARS.get(kind)
        return None if known is None else cls(kind, known[0], known[1], known[1], known[2])

    def __str__(self) -> str:
        return f"{self.words} ({self.kind})"

    @property
    def is_pointer(self) -> bool:
        """Whether it is a pointer."""
        return self.kind == "ptr"

    @property
    def may_be_pointer(self) -> bool:
        """Whether it can be one."""
        return self.kind in {"ptr", "u64", "b64"}

    @property
    def may_be_array(self) -> bool:
        """Whether an array can be behind its argument: a pointer, or a tensor map."""
        return self.may_be_pointer or (self.is_struct and self.size == MAP_BYTES)

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point number."""
        return self.code in "efd"

    @property
    def is_struct(self) -> bool:
        """Whether it is a struct that is passed by value."""
        return self.code.endswith("s")

    @property
    def reader(self) -> Reader:
        """What turns an argument for this parameter into a value for struct, or raises."""
        if self.is_struct:
            return by_value_reader(self.size)
        if self.is_float:
            return float_reader()
        if self.is_pointer:
            return read_address
        number = integer_reader(8 * self.size, signed=self.kind.startswith("s"))
        return _word_reader(number) if self.may_be_pointer else number


def _word_reader(number: Reader) -> Reader:
    """Return what reads an integer or an address."""

    def read(arg: Any, ordinal: int, streams: list[int]) -> int:
        value: int = (number if isinstance(arg, Integral) else read_address)(arg, ordinal, streams)
        return value

    return read


class Signature:
    """A kernel's parameters, in order.

    Raises LaunchError for a parameter type that this version does not know.
    """

    def __init__(self, kernel: str, params: Sequence[str]) -> None:
        self.kernel = kernel
        self.params = tuple(params)
        known = {kind: PtxParameter.parse(kind) for kind in self.params}
        unknown = [kind for kind, parameter in known.items() if parameter is None]
        if unknown:
            message = f"{kernel} is recorded with parameters of unknown types: {', '.join(unknown)}"
            raise LaunchError(f"{message}; reinstall its package, or upgrade hatch-cuda-kernels")
        self.parameters = tuple(parameter for kind in self.params if (parameter := known[kind]) is not None)
        self.readers = tuple(parameter.reader for parameter in self.parameters)
        self.layout = struct.Struct(_layout(self.parameters))
        self._arrays = [index for index, parameter in enumerate(self.parameters) if parameter.may_be_array]

    def pack(self, args: Sequence[Any]) -> bytes:
        """Return the parameter buffer's bytes for device 0. Raises ArgumentError as ``convert`` does."""
        return self.layout.pack(*self.convert(args, 0, []))

    def convert(self, args: Sequence[Any], ordinal: int, streams: list[int]) -> list[Any]:
        """Return the arguments as ``layout`` takes them, for a launch on a device; add their streams to ``streams``.

        Raises ArgumentError for a wrong number, kind or range of arguments.
        """
        if len(args) != len(self.params):
            raise ArgumentError(
                f"{self.kernel} takes {len(self.params)} arguments ({', '.join(self.params)}), got {len(args)}"
            )
        return [self._convert(index, arg, ordinal, streams) for index, arg in enumerate(args)]

    def device(self, args: Sequence[Any]) -> int | None:
        """Return the device of the arrays among the arguments, None without any. Raises ArgumentError for several."""
        given = [index for index in self._arrays if index < len(args)]
        devices = {family(args[index]).device(args[index]) for index in given} - {None}
        if len(devices) > 1:
            places = ((index, family(args[index]).device(args[index])) for index in given)
            where = ", ".join(f"argument {index} on device {device}" for index, device in places if device is not None)
            raise ArgumentError(f"the arrays passed to {self.kernel} are on several devices: {where}; copy them to one")
        return next(iter(devices), None)

    def _convert(
        self, index: int, arg: Any, ordinal: int, streams: list[int]
    ) -> Any:  # any Python object may be passed
        parameter = self.parameters[index]
        try:
            if parameter.may_be_pointer:
                family(arg).examine(arg)
            value = self.readers[index](arg, ordinal, streams)
            struct.pack(f"<{parameter.code}", value)
        except (struct.error, AttributeError, TypeError, ValueError, OverflowError, RuntimeError, LookupError) as error:
            raise ArgumentError(
                f"argument {index} of {self.kernel} must be a {parameter}, got {_describe(arg)}: {error}"
            ) from error
        return value


def _layout(parameters: Sequence[PtxParameter]) -> str:
    """Return the struct format: each parameter at the next multiple of its alignment, without tail padding."""
    layout, offset = "<", 0
    for parameter in parameters:
        padding = -offset % parameter.alignment
        layout += f"{padding}x" * bool(padding) + parameter.code
        offset += padding + parameter.size
    return layout


def _describe(arg: Any) -> str:
    kind = type(arg)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"{arg!r} ({name})" if kind in {int, float, bool} else name
