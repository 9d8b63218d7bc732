"""The function that XLA calls with a call frame, and that launches a kernel.

It is generated for the order of the kernel's parameters, because XLA waits for it. It looks up what is known since the
call was traced by the call's text, and reads only addresses from the frame. Unusual cases go to ``otherwise``: the
first call of a text or on a stream, the question for metadata, errors. All LookupErrors come before the launch.

A call's text states what is known when it is traced: the launch's shape and the numbers passed by value. XLA keeps it
as the call's one attribute. XLA's own scalar attributes lack float16 and half of uint64, and a handler would decode
each of them at each call, while it compares a text with those it has met. The text holds nothing of this process,
because compiled programs are also kept on disk.

A call in progress writes to a slot. Slots are kept by thread, and so is Python's state of the thread: Python did not
start XLA's threads, and making and destroying their state at each call would take 13 us, thirty times as long as
entering.

The structs are the part of XLA's FFI that this uses, from ``xla/ffi/api/c_api.h``, which jaxlib ships. Their layout is
the same from API 0.1 (jaxlib 0.6) to 0.5 (0.12). XLA takes handlers of older versions, so this one states 0.1.
"""

from __future__ import annotations

import ctypes
import json
import struct
import threading
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple, Protocol

from hatch_cuda_kernels.driver import remember
from hatch_cuda_kernels.errors import HatchCudaKernelsError, LaunchError
from hatch_cuda_kernels.runtime.launch import Shape

if TYPE_CHECKING:
    from collections.abc import Callable

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


#: The attribute's name.
ATTRIBUTE = "launch"


class Constants(NamedTuple):
    """The constants of one call."""

    shape: Shape
    arguments: bytes
    """The parameter buffer, with zeros for the pointers."""

    def to_text(self) -> str:
        """Return the attribute."""
        shape = {name: value for name, value in self.shape._asdict().items() if value}
        return json.dumps({**shape, "arguments": self.arguments.hex()}, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: bytes) -> Constants:
        """Read what ``to_text`` wrote."""
        stated: dict[str, Any] = {"shared_mem": 0, **json.loads(text)}
        arguments = bytes.fromhex(stated.pop("arguments"))
        sizes: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in stated.items()
        }
        return cls(Shape(**sizes), arguments)


class CallSlot:
    """Addresses of arguments, as cuLaunchKernel takes them, and the request for a stream; at fixed addresses."""

    __slots__ = ("address", "memory", "request", "request_address")

    def __init__(self, parameters: int) -> None:
        self.memory = (ctypes.c_uint64 * max(parameters, 1))()
        self.address = ctypes.addressof(self.memory)
        self.request = StreamGetArgs(ctypes.sizeof(StreamGetArgs))
        self.request_address = ctypes.addressof(self.request)


class CallSlots(threading.local):
    """The free slots of one handler in the current thread, and Python's state of the thread, which stays with them.

    ctypes makes a state for a callback, and destroys it afterwards unless something else needs it. Python counts what
    does (PyGILState_Ensure); this count is never given back.
    """

    def __init__(self) -> None:  # once in each thread
        ctypes.pythonapi.PyGILState_Ensure()
        self.free: list[CallSlot] = []


#: Functions of XLA's that take the address of a struct. They return at once, so they keep the GIL.
_Function = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


def answer_metadata(frame: CallFrame) -> bool:
    """Answer a question for metadata with the handler's API version and traits; return whether it was one.

    XLA asks when a handler is registered; such a frame has no context, and with API 0.1 no functions.
    """
    address = frame.extension_start
    while address:
        extension = MetadataExtension.from_address(address)
        if extension.extension_base.type == EXTENSION_METADATA:
            metadata = extension.metadata.contents
            metadata.api_version.major_version, metadata.api_version.minor_version = API_VERSION
            metadata.traits = COMMAND_BUFFER_COMPATIBLE
            return True
        address = extension.extension_base.next
    return False


def stream_getter(api: int) -> Callable[[int], Any]:
    """Return XLA's function that fills in a request for the stream; it returns the address of an error, or None."""
    return _Function(FrameApi.from_address(api).stream_get)


def make_error(frame: CallFrame, error: BaseException) -> int | None:
    """Return the address of an error that XLA raises in the caller, with the text of an exception."""
    if not frame.api:  # with API 0.1, where XLA asks for metadata
        return None
    text = str(error) if isinstance(error, HatchCudaKernelsError) else f"{type(error).__name__}: {error}"
    message, code = text.encode(errors="replace").replace(b"\0", b"?"), ErrorCode.INTERNAL
    if isinstance(error, KeyboardInterrupt | LaunchError):
        code = ErrorCode.CANCELLED if isinstance(error, KeyboardInterrupt) else ErrorCode.INVALID_ARGUMENT
    request = ErrorCreateArgs(ctypes.sizeof(ErrorCreateArgs), None, message, code)
    create = _Function(FrameApi.from_address(frame.api).error_create)
    address: int | None = create(ctypes.addressof(request))
    return address


_TEMPLATE: Final = """
def handle(frame):
    try:
        extension, context, args, rets, attributes = frame_words(memory, frame)
        if not extension:
            span, = word(memory, attributes)
            start, size = two_words(memory, span)
            free = slots.free
            slot = free.pop()
            request = slot.request
            request.context = context
            if not get_stream(slot.request_address):
                config, kernel, constants, owners = known[memory[start : start + size], request.stream]
                {args}
                {rets}
                pack(slot.memory, 0, {values})
                if not launch(config, kernel, slot.address, 0):
                    free.append(slot)
                    return None
    except LookupError:
        pass
    except BaseException as error:
        return failed(frame, error)
    return otherwise(frame)
"""


class Entered(NamedTuple):
    """What launches one shape on one stream."""

    config: int
    """Address of a CUlaunchConfig."""
    kernel: int
    owner: Any
    """Keeps both alive."""


class Source(NamedTuple):
    """Where a parameter's value is."""

    kind: Literal["a", "r", "c"]
    """An argument's buffer, a result's, or the constants."""
    at: int
    """Which buffer, or the offset in the constants."""


class LaunchTarget(Protocol):
    """Where calls of a handler go to."""

    platform: str
    """XLA's name of it, such as ``CUDA``."""

    @property
    def launch(self) -> Callable[[int, int, int, int], int]:
        """Take a configuration, a kernel, arguments and 0; launch without the GIL; return 0 or what went wrong."""

    def prepare(self) -> None:
        """Load the kernel wherever calls may go, ahead of all. Raises what loading raises."""

    def get_stream(self, api: int) -> Callable[[int], Any]:
        """Return what fills in a request for XLA's stream, given its address; it returns an error's address."""

    def enter(self, shape: Shape, stream: int | None) -> Entered:
        """Return what launches a shape on a stream. Raises what loading raises."""

    def refuse(self, status: int, shape: Shape, stream: int | None) -> None:
        """Raise what explains that a launch failed."""


class Passing(NamedTuple):
    """How a call passes a kernel's parameters. An argument that a result overwrites is passed as that result."""

    args: int
    """Number of argument buffers."""
    rets: int
    """Number of result buffers."""
    sources: tuple[Source, ...]
    """Of each parameter."""


class Handler:
    """The handler of one kernel, for one way to pass its parameters. Thread-safe."""

    def __init__(self, passing: Passing, target: LaunchTarget) -> None:
        self._passing = passing
        self.target = target
        """Where calls go to."""
        self._known: dict[tuple[bytes, int | None], tuple[int, int, int, Any]] = {}
        """By text and stream: a configuration, a kernel, the constants' address, and what keeps all three alive."""
        self._slots = CallSlots()
        self._pack = words(len(passing.sources)).pack_into
        self._scope = self._make_scope()
        exec(_source(passing), self._scope)  # noqa: S102 - made of positions only, see _source
        self.handle: Callable[[int], int | None] = self._scope["handle"]
        """Takes the address of a call frame; returns the address of an error, None if all went well."""

    def _make_scope(self) -> dict[str, Any]:
        def not_yet(_: int) -> int:
            raise LookupError

        return {
            "frame_words": frame_words().unpack_from,
            "memory": MEMORY,
            "word": WORD.unpack_from,
            "two_words": SPAN.unpack_from,
            "args_words": words(self._passing.args).unpack_from,
            "rets_words": words(self._passing.rets).unpack_from,
            "pack": self._pack,
            "slots": self._slots,
            "known": self._known,
            "get_stream": not_yet,  # XLA's function comes with the first call, and so does the driver's
            "launch": None,
            "failed": lambda frame, error: make_error(CallFrame.from_address(frame), error),
            "otherwise": self._otherwise,
        }

    def _otherwise(self, address: int) -> int | None:
        """Do what is asked with care. Raises nothing: Python would print the error, and XLA would not see it."""
        frame = CallFrame.from_address(address)
        try:
            return None if answer_metadata(frame) else self._call(frame)
        except BaseException as error:  # noqa: BLE001 - the caller is XLA
            return make_error(frame, error)

    def _call(self, frame: CallFrame) -> int | None:
        """Launch. Returns the address of XLA's own error if it gives no stream."""
        text = self._text(frame)
        get_stream, launch = self.target.get_stream(frame.api), self.target.launch
        self._scope.update(launch=launch, get_stream=get_stream)
        slot = CallSlot(len(self._passing.sources))
        slot.request.context = frame.context
        fault: int | None = get_stream(slot.request_address)
        stream, shape = slot.request.stream, Constants.from_text(text).shape
        if fault or shape.is_empty:
            return fault
        config, kernel, constants, _owners = self._known.get((text, stream)) or self._learn(text, stream)
        self._pack(slot.memory, 0, *self._addresses(frame, constants))
        status = launch(config, kernel, slot.address, 0)
        if status:
            self.target.refuse(status, shape, stream)
        self._slots.free.append(slot)
        return None

    def _text(self, frame: CallFrame) -> bytes:
        """Return a call's text. Raises LaunchError for a call that was not made by this package."""
        given = frame.args.size, frame.rets.size, frame.attributes.size, frame.stage
        if given != (self._passing.args, self._passing.rets, 1, EXECUTE):
            raise LaunchError("this FFI target was called with arguments that it is not registered for")
        (span,) = WORD.unpack_from(MEMORY, frame.attributes.attributes)
        start, size = SPAN.unpack_from(MEMORY, span)
        text: bytes = MEMORY[start : start + size]
        return text

    def _learn(self, text: bytes, stream: int | None) -> tuple[int, int, int, Any]:
        constants = Constants.from_text(text)
        entered = self.target.enter(constants.shape, stream)
        arguments = ctypes.create_string_buffer(constants.arguments, len(constants.arguments))
        known = entered.config, entered.kernel, ctypes.addressof(arguments), (arguments, entered.owner)
        remember(self._known, (text, stream), known)
        return known

    def _addresses(self, frame: CallFrame, constants: int) -> list[int]:
        buffers = {
            "a": words(frame.args.size).unpack_from(MEMORY, frame.args.buffers or 0),
            "r": words(frame.rets.size).unpack_from(MEMORY, frame.rets.buffers or 0),
        }
        sources = self._passing.sources
        return [constants + at if kind == "c" else buffers[kind][at] + DATA for kind, at in sources]


def _source(passing: Passing) -> str:
    """Fill in the template. Only numbers and positions get into the text."""
    values = (f"constants + {at}" if kind == "c" else f"{kind}{at} + {DATA}" for kind, at in passing.sources)
    return _TEMPLATE.format(
        args=_unpacking("a", "args", passing.args),
        rets=_unpacking("r", "rets", passing.rets),
        values=", ".join(values),
    )


def _unpacking(kind: str, name: str, count: int) -> str:
    return f"{', '.join(f'{kind}{index}' for index in range(count))}, = {name}_words(memory, {name})" if count else ""
