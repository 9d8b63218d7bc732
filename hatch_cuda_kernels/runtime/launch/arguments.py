"""A kernel's parameters: how arguments are checked, converted and laid out in the parameter buffer.

A launch packs by ``struct``, which range-checks numbers itself (see ``launch``); only what it rejects comes here again
to be explained.
"""

from __future__ import annotations

import ctypes
import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.errors import ArgumentError, LaunchError
from hatch_cuda_kernels.runtime.launch.arrays import family
from hatch_cuda_kernels.runtime.launch.packing import packing_of
from hatch_cuda_kernels.runtime.launch.unusable import MismatchError
from hatch_cuda_kernels.signature import parameters_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.runtime.launch.packing import Packing
    from hatch_cuda_kernels.runtime.launch.values import Reader
    from hatch_cuda_kernels.signature import Parameter

__all__ = ["Signature", "Slot"]

#: Of where a kernel's parameters begin, on every architecture (0x210 for compute capability 9.0). What is aligned to
#: more, such as a tensor map, the kernel finds elsewhere than where a buffer that begins at 0 would have it.
_BASE_ALIGNMENT: Final = 16
#: Signatures that are remembered; few programs have more.
_MOST_SIGNATURES: Final = 512


class Slot:
    """A parameter buffer and what describes it to cuLaunchKernel, at fixed addresses: ``extra`` or ``params``.

    Without parameters, both are NULL: the driver refuses a buffer that is larger than what the kernel takes.
    """

    __slots__ = ("_extra", "_params", "_size", "buffer", "extra", "params", "streams")

    def __init__(self, size: int, offsets: Sequence[int] = ()) -> None:
        """Describe the buffer as a whole, or with ``offsets`` the parameters one by one."""
        self.buffer = ctypes.create_string_buffer(size)
        self.streams: list[int] = []
        """Streams of the arrays of one launch, besides torch's current one."""
        self._size = ctypes.c_size_t(size)
        # CU_LAUNCH_PARAM_BUFFER_POINTER = 1, CU_LAUNCH_PARAM_BUFFER_SIZE = 2, CU_LAUNCH_PARAM_END = 0 (cuda.h)
        pointers = (1, ctypes.addressof(self.buffer), 2, ctypes.addressof(self._size), 0)
        self._extra = (ctypes.c_void_p * len(pointers))(*pointers)
        self.extra = ctypes.addressof(self._extra) if size and not offsets else 0
        self._params = (ctypes.c_void_p * len(offsets))(*(ctypes.addressof(self.buffer) + at for at in offsets))
        self.params = ctypes.addressof(self._params) if offsets else 0


class _Parts(NamedTuple):
    """What follows from the types and names of parameters alone."""

    parameters: tuple[Parameter, ...]
    packings: tuple[Packing, ...]
    readers: tuple[Reader, ...]
    places: tuple[int, ...]
    layout: struct.Struct
    arrays: tuple[int, ...]


class Signature:
    """A kernel's parameters, in order.

    Raises LaunchError for a parameter type that this version does not know.
    """

    def __init__(
        self, kernel: str, params: Sequence[str], types: Sequence[str] = (), names: Sequence[str] = ()
    ) -> None:
        self.kernel = kernel
        try:
            parts = _parts(tuple(params), tuple(types), tuple(names))
        except LookupError as error:
            message = f"{kernel} is recorded with parameters of unknown types: {error.args[0]}"
            raise LaunchError(f"{message}; reinstall its package, or upgrade hatch-cuda-kernels") from error
        self.parameters, self.packings, self.readers, self.places, self.layout, self._arrays = parts
        self.offsets = self.places if any(packing.alignment > _BASE_ALIGNMENT for packing in self.packings) else ()
        """Of the parameters in the buffer, where the driver must be given them one by one."""

    def pack(self, args: Sequence[Any]) -> bytes:
        """Return the parameter buffer's bytes for device 0. Raises ArgumentError as ``convert`` does."""
        return self.layout.pack(*self.convert(args, 0, []))

    def convert(self, args: Sequence[Any], ordinal: int, streams: list[int]) -> list[Any]:
        """Return the arguments as ``layout`` takes them, for a launch on a device; add their streams to ``streams``.

        Raises ArgumentError for a wrong number, kind or range of arguments.
        """
        if len(args) != len(self.parameters):
            listed = ", ".join(map(str, self.parameters))
            raise ArgumentError(f"{self.kernel} takes {len(self.parameters)} arguments ({listed}), got {len(args)}")
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
        packing = self.packings[index]
        try:
            if packing.may_be_pointer:
                family(arg).examine(arg)
            value = self.readers[index](arg, ordinal, streams)
            struct.pack(f"<{packing.code}", value)
        except MismatchError as error:
            raise ArgumentError(f"{self._expected(index)}, got {error}") from error
        except (struct.error, AttributeError, TypeError, ValueError, OverflowError, RuntimeError, LookupError) as error:
            raise ArgumentError(f"{self._expected(index)}, got {_describe(arg)}: {error}") from error
        return value

    def _expected(self, index: int) -> str:
        """Return which argument this is, and what it should be."""
        parameter, packing = self.parameters[index], self.packings[index]
        name = f" ({parameter.name})" if parameter.name else ""
        what = f"is {parameter.type}" if parameter.type else f"must be a {packing.words} ({parameter.kind})"
        return f"argument {index}{name} of {self.kernel} {what}"


@lru_cache(_MOST_SIGNATURES)
def _parts(params: tuple[str, ...], types: tuple[str, ...], names: tuple[str, ...]) -> _Parts:
    """Return what kernels of one signature share. Raises LookupError, with their names, for unknown types."""
    parameters = parameters_of(params, types, names)
    found = [packing_of(parameter.kind, parameter.type) for parameter in parameters]
    unknown = [kind for kind, packing in zip(params, found, strict=True) if packing is None]
    if unknown:
        raise LookupError(", ".join(dict.fromkeys(unknown)))
    packings = tuple(packing for packing in found if packing is not None)
    places = _offsets(packings)
    layout = struct.Struct(_layout(packings, places))
    arrays = tuple(index for index, packing in enumerate(packings) if packing.may_be_array)
    return _Parts(tuple(parameters), packings, tuple(packing.reader for packing in packings), places, layout, arrays)


def _offsets(packings: Sequence[Packing]) -> tuple[int, ...]:
    """Return where the parameters are: each at the next multiple of its alignment."""
    found, end = list[int](), 0
    for packing in packings:
        found.append(end + -end % packing.alignment)
        end = found[-1] + packing.size
    return tuple(found)


def _layout(packings: Sequence[Packing], offsets: Sequence[int]) -> str:
    """Return the struct format, without tail padding."""
    layout, end = "<", 0
    for packing, offset in zip(packings, offsets, strict=True):
        layout += f"{offset - end}x" * (offset > end) + packing.code
        end = offset + packing.size
    return layout


def _describe(arg: Any) -> str:
    kind = type(arg)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"{arg!r} ({name})" if kind in {int, float, bool} else name
