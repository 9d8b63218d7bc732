"""As much of XLA's FFI as a handler uses: the structs of ``xla/ffi/api/c_api.h``, which jaxlib ships.

The layout is the same from API 0.1 (jaxlib 0.6) to 0.5 (0.12). XLA takes handlers of older versions, so 0.1 is what
this one says it is of.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any, ClassVar, Final

API_VERSION: Final = (0, 1)
EXTENSION_METADATA: Final = 1  # XLA_FFI_Extension_Metadata
EXECUTE: Final = 3  # XLA_FFI_ExecutionStage_EXECUTE
COMMAND_BUFFER_COMPATIBLE: Final = 1  # XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE

#: All memory of this process: to unpack words of it takes a fraction of what a ctypes object for each struct takes.
MEMORY: Final[Any] = (ctypes.c_char * (1 << 62)).from_address(0)


class ErrorCode:
    """XLA_FFI_Error_Code, as far as it is used."""

    CANCELLED: Final = 1
    INVALID_ARGUMENT: Final = 3
    INTERNAL: Final = 13


class Extension(ctypes.Structure):
    """XLA_FFI_InternalExtension (XLA_FFI_Extension_Base before API 0.3)."""

    _fields_ = (("struct_size", ctypes.c_size_t), ("type", ctypes.c_int), ("next", ctypes.c_void_p))


class _Extensible(ctypes.Structure):
    """What most structs of the interface begin with."""

    _fields_: ClassVar[tuple[tuple[str, Any], ...]] = (
        ("struct_size", ctypes.c_size_t),
        ("extension_start", ctypes.c_void_p),
    )


class ApiVersion(_Extensible):
    """XLA_FFI_Api_Version."""

    _fields_ = (("major_version", ctypes.c_int), ("minor_version", ctypes.c_int))


class HandlerMetadata(ctypes.Structure):
    """XLA_FFI_Metadata, up to what API 0.1 has."""

    _fields_ = (("struct_size", ctypes.c_size_t), ("api_version", ApiVersion), ("traits", ctypes.c_uint32))


class MetadataExtension(ctypes.Structure):
    """XLA_FFI_Metadata_Extension."""

    _fields_ = (("extension_base", Extension), ("metadata", ctypes.POINTER(HandlerMetadata)))


class Buffers(_Extensible):
    """XLA_FFI_Args and XLA_FFI_Rets."""

    _fields_ = (("size", ctypes.c_int64), ("types", ctypes.c_void_p), ("buffers", ctypes.c_void_p))


class Attributes(_Extensible):
    """XLA_FFI_Attrs."""

    _fields_ = (
        ("size", ctypes.c_int64), ("types", ctypes.c_void_p), ("names", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
    )  # fmt: skip


class CallFrame(_Extensible):
    """XLA_FFI_CallFrame."""

    _fields_ = (
        ("api", ctypes.c_void_p), ("context", ctypes.c_void_p), ("stage", ctypes.c_int), ("args", Buffers),
        ("rets", Buffers), ("attributes", Attributes),
    )  # fmt: skip


class Buffer(_Extensible):
    """XLA_FFI_Buffer."""

    _fields_ = (
        ("dtype", ctypes.c_int), ("data", ctypes.c_void_p), ("rank", ctypes.c_int64), ("dims", ctypes.c_void_p),
    )  # fmt: skip


class ByteSpan(ctypes.Structure):
    """XLA_FFI_ByteSpan, which a text attribute is."""

    _fields_ = (("ptr", ctypes.c_void_p), ("len", ctypes.c_size_t))


class StreamGetArgs(_Extensible):
    """XLA_FFI_Stream_Get_Args."""

    _fields_ = (("context", ctypes.c_void_p), ("stream", ctypes.c_void_p))


class ErrorCreateArgs(_Extensible):
    """XLA_FFI_Error_Create_Args."""

    _fields_ = (("message", ctypes.c_char_p), ("code", ctypes.c_int))


class FrameApi(_Extensible):
    """XLA_FFI_Api, up to the functions that are used."""

    _fields_ = (
        ("api_version", ApiVersion), ("internal_api", ctypes.c_void_p), ("error_create", ctypes.c_void_p),
        ("not_used", ctypes.c_void_p * 3), ("stream_get", ctypes.c_void_p),
    )  # fmt: skip


def words(count: int) -> struct.Struct:
    """Return what unpacks so many addresses."""
    return struct.Struct(f"{count}Q")


def frame_words() -> struct.Struct:
    """Return what unpacks, of a call frame, its extension, context, argument and result buffers, and attributes."""
    offsets = (
        CallFrame.extension_start.offset,
        CallFrame.context.offset,
        CallFrame.args.offset + Buffers.buffers.offset,
        CallFrame.rets.offset + Buffers.buffers.offset,
        CallFrame.attributes.offset + Attributes.attributes.offset,
    )
    layout, end = "", 0
    for offset in offsets:
        layout += f"{offset - end}xQ"
        end = offset + WORD.size
    return struct.Struct(layout)


WORD: Final = words(1)
#: Address and length of a text.
SPAN: Final = words(2)
#: Where a buffer has the address of its data.
DATA: Final = Buffer.data.offset
