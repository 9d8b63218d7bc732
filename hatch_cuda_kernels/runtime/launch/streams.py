"""The stream of a launch: the framework's current one, or the caller's, of any type."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["current_stream", "stream_address"]


def stream_address(stream: Any) -> int:  # any framework's stream
    """Return a stream's handle as a number.

    ``stream`` is an int, anything with ``__cuda_stream__`` (cuda.core protocol), or a framework's stream object. Raises
    TypeError for anything else.
    """
    if isinstance(stream, int):
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr", "handle"):  # torch, CuPy, numba and the bindings
        value = getattr(stream, name, None)
        if value is not None:
            return int(getattr(value, "value", value) or 0)
    try:
        return int(stream)
    except (TypeError, ValueError):
        raise TypeError(f"not a CUDA stream: {stream!r}") from None


def current_stream(args: Sequence[Any], ordinal: int) -> int:
    """Return the current stream, on a device, of the framework that owns the first array among ``args``.

    0, the legacy default stream, where no argument belongs to a framework with streams.
    """
    for arg in args:
        stream = _CURRENT_STREAM[type(arg)](arg, ordinal)
        if stream is not None:
            return stream
    return 0


class _CurrentStreams(dict[type, "Callable[[Any, int], int | None]"]):
    """How to ask for the current stream, by an argument's type; None if the type has no streams."""

    def __missing__(self, kind: type) -> Callable[[Any, int], int | None]:
        def first(arg: Any, ordinal: int) -> int | None:
            reader = self[kind] = _reader_for(arg)
            return reader(arg, ordinal)

        return first


def _reader_for(arg: Any) -> Callable[[Any, int], int | None]:
    if hasattr(arg, "is_cuda") and "torch" in sys.modules:
        # The public torch.cuda.current_stream() builds an object in 4 us; this is what it calls.
        raw = sys.modules["torch"]._C._cuda_getCurrentRawStream  # noqa: SLF001
        return lambda _, ordinal: raw(ordinal)
    if type(arg).__module__.partition(".")[0] == "cupy":
        current = sys.modules["cupy"].cuda.get_current_stream
        return lambda *_: current().ptr
    return _interface_stream if hasattr(arg, "__cuda_array_interface__") else _no_stream


def _interface_stream(array: Any, _: int) -> int | None:
    return array.__cuda_array_interface__.get("stream")  # type: ignore[no-any-return]


def _no_stream(*_: object) -> None:
    """Answer for types that belong to no framework with streams."""


_CURRENT_STREAM: Final = _CurrentStreams({int: _no_stream, float: _no_stream, type(None): _no_stream})
