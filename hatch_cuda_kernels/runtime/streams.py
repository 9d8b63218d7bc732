"""The stream a launch goes to: the caller's, whoever's type it is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["stream_address"]


def stream_address(stream: Any, args: Sequence[Any]) -> int:  # noqa: ANN401 - any framework's stream
    """Return a stream's handle as a number.

    ``stream`` is an int, anything with ``__cuda_stream__`` (cuda.core protocol), or a framework's stream object. None
    means the current stream of the framework that owns the first array among ``args``, else the legacy default stream.
    Raises TypeError for anything else.
    """
    if stream is None:
        return _current_stream(args)
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


def _current_stream(args: Sequence[Any]) -> int:
    for arg in args:
        torch = sys.modules.get("torch")
        if torch is not None and getattr(arg, "is_cuda", False):
            # The public torch.cuda.current_stream() builds an object in 4 us; this is what it calls.
            return int(torch._C._cuda_getCurrentRawStream(arg.device.index))  # noqa: SLF001
        if type(arg).__module__.partition(".")[0] == "cupy":
            return int(sys.modules["cupy"].cuda.get_current_stream().ptr)
        interface = getattr(arg, "__cuda_array_interface__", None)
        if interface is not None:
            return int(interface.get("stream") or 0)
    return 0
