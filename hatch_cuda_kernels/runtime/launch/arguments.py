"""A kernel's parameters: how arguments are checked, converted and laid out in the parameter buffer.

A launch packs by ``struct``, which range-checks numbers itself (see ``launch``); only what it rejects comes here again
to be explained.
"""

from __future__ import annotations

import ctypes
import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.errors import ArgumentError, HatchCudaKernelsError, LaunchError
from hatch_cuda_kernels.runtime.launch.arrays import family
from hatch_cuda_kernels.runtime.launch.packing import packing_of
from hatch_cuda_kernels.runtime.launch.unusable import FATAL, MismatchError
from hatch_cuda_kernels.signature import parameters_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.runtime.launch.packing import Packing
    from hatch_cuda_kernels.runtime.launch.values import Found, Reader
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

    __slots__ = ("_extra", "_params", "_size", "buffer", "extra", "found", "params")

    def __init__(self, size: int, offsets: Sequence[int] = ()) -> None:
        """Describe the buffer as a whole, or with ``offsets`` the parameters one by one."""
        self.buffer = ctypes.create_string_buffer(size)
        self.found: Found = []
        """By readers, of the arguments of one launch; torch's current stream is not among the streams."""
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

    def convert(self, args: Sequence[Any], ordinal: int, found: Found) -> list[Any]:
        """Return the arguments as ``layout`` takes them, for a launch on a device; add to what was ``found``.

        Raises ArgumentError for a wrong number, kind or range of arguments.
        """
        if len(args) != len(self.parameters):
            listed = ", ".join(map(str, self.parameters))
            raise ArgumentError(f"{self.kernel} takes {len(self.parameters)} arguments ({listed}), got {len(args)}")
        return [self._convert(index, arg, ordinal, found) for index, arg in enumerate(args)]

    def device(self, args: Sequence[Any]) -> int | None:
        """Return the device of the arrays among the arguments, None without any. Raises ArgumentError for several."""
        given = [index for index in self._arrays if index < len(args)]
        places = {index: self._device(index, args[index]) for index in given}
        devices = {*places.values()} - {None}
        if len(devices) > 1:
            named = [f"argument {index} on device {where}" for index, where in places.items() if where is not None]
            what = f"the arrays passed to {self.kernel} are on several devices"
            raise ArgumentError(f"{what}: {', '.join(named)}; copy them to one")
        return next(iter(devices), None)

    def _device(self, index: int, arg: Any) -> int | None:
        try:
            return family(arg).device(arg)
        except (*FATAL, HatchCudaKernelsError):
            raise
        except Exception as error:
            raise self._refusal(index, arg, error) from error

    def _convert(self, index: int, arg: Any, ordinal: int, found: Found) -> Any:  # any Python object may be passed
        packing = self.packings[index]
        try:
            if packing.may_be_pointer:
                family(arg).examine(arg)
            value = self.readers[index](arg, ordinal, found)
            struct.pack(f"<{packing.code}", value)
        except (*FATAL, HatchCudaKernelsError):
            raise
        except Exception as error:
            raise self._refusal(index, arg, error) from error
        return value

    def _refusal(self, index: int, arg: Any, error: Exception) -> ArgumentError:
        """Return the error for an argument that was not taken: which one it is, what it should be, what was wrong."""
        parameter, packing = self.parameters[index], self.packings[index]
        name = f" ({parameter.name})" if parameter.name else ""
        what = f"is {parameter.type}" if parameter.type else f"must be a {packing.words} ({parameter.kind})"
        got = str(error) if isinstance(error, MismatchError) else f"{_describe(arg)}: {error}"
        return ArgumentError(f"argument {index}{name} of {self.kernel} {what}, got {got}")


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
