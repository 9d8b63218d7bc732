"""What a handler says to XLA besides launching: what it is, which stream it asks for, and what went wrong."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from hatch_cuda_kernels.errors import HatchCudaKernelsError, LaunchError
from hatch_cuda_kernels.operators.jax.abi import (
    API_VERSION,
    COMMAND_BUFFER_COMPATIBLE,
    EXTENSION_METADATA,
    ErrorCode,
    ErrorCreateArgs,
    FrameApi,
    MetadataExtension,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hatch_cuda_kernels.operators.jax.abi import CallFrame
    from hatch_cuda_kernels.operators.jax.slots import CallSlot

__all__ = ["answer_metadata", "get_stream_of", "make_error", "stream_getter"]

#: Functions of XLA's that take the address of a struct. They return at once, so they keep the GIL.
_Function = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class XlaFaultError(Exception):
    """A function of XLA's failed; ``address`` is that of its error, which goes back to XLA."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.address = address


def answer_metadata(frame: CallFrame) -> bool:
    """Tell XLA the handler's API version and traits if that is what it calls for, and return whether it does.

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


def get_stream_of(frame: CallFrame, slot: CallSlot, get_stream: Callable[[int], Any]) -> int | None:
    """Return the stream of a call. Raises XlaFaultError."""
    slot.request.context = frame.context
    fault = get_stream(slot.request_address)
    if fault:
        raise XlaFaultError(fault)
    stream: int | None = slot.request.stream
    return stream


def make_error(frame: CallFrame, error: BaseException) -> int | None:
    """Return the address of an error that XLA raises in the caller, with the text of an exception."""
    if isinstance(error, XlaFaultError):
        return error.address
    if not frame.api:  # with API 0.1, where XLA asks for metadata
        return None
    ours = isinstance(error, HatchCudaKernelsError)
    message = str(error) if ours else f"{type(error).__name__}: {error}"
    request = ErrorCreateArgs(
        ctypes.sizeof(ErrorCreateArgs), None, message.encode(errors="replace").replace(b"\0", b"?"), _code_of(error)
    )
    create = _Function(FrameApi.from_address(frame.api).error_create)
    address: int | None = create(ctypes.addressof(request))
    return address


def _code_of(error: BaseException) -> int:
    if isinstance(error, KeyboardInterrupt):
        return ErrorCode.CANCELLED
    return ErrorCode.INVALID_ARGUMENT if isinstance(error, LaunchError) else ErrorCode.INTERNAL
