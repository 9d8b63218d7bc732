"""The stream of a launch: the caller's, of any type, or that of the arrays, whose streams' work comes before."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.driver import check, cuda
from hatch_cuda_kernels.runtime.launch.values import remember_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.runtime.launch.values import Found

#: 0 and 1 are the legacy default stream (CU_STREAM_LEGACY).
_LEGACY: Final = frozenset({0, 1})
_MOST: Final = (1 << 64) - 1
_NO_TIMING: Final = 2  # CU_EVENT_DISABLE_TIMING


def stream_address(stream: Any) -> int:  # any framework's stream
    """Return a stream's handle as a number.

    ``stream`` is an int, anything with ``__cuda_stream__`` (cuda.core protocol), or a framework's stream object. Raises
    TypeError for anything else.
    """
    try:
        return _ADDRESS[stream.__class__](stream)
    except AttributeError:  # not all objects of the type offer the same
        return _reader_of(stream)(stream)


class _Addresses(dict[type, "Callable[[Any], int]"]):
    """How to read the handle of a stream, by its type; each new type is examined once."""

    def __missing__(self, kind: type) -> Callable[[Any], int]:
        def first(stream: Any) -> int:
            reader = _reader_of(stream)
            remember_type(self, kind, reader)
            return reader(stream)

        return first


def _reader_of(stream: Any) -> Callable[[Any], int]:
    for name in ("cuda_stream", "ptr"):  # torch and CuPy: quicker than by the protocol
        if isinstance(getattr(stream, name, None), int):
            return attrgetter(name)
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return _by_method if callable(protocol) else _by_attribute
    if getattr(stream, "handle", None) is not None:  # numba and the bindings
        return lambda stream: _number(stream.handle)
    return _convert


def _by_method(stream: Any) -> int:
    return int(stream.__cuda_stream__()[1])


def _by_attribute(stream: Any) -> int:
    return int(stream.__cuda_stream__[1])


def _number(handle: Any) -> int:
    return int(getattr(handle, "value", handle) or 0)  # None is ctypes' null pointer


def _convert(stream: Any) -> int:
    if not hasattr(type(stream), "__int__") or isinstance(stream, float):
        raise TypeError(f"not a CUDA stream: {stream!r}")
    return int(stream)


_ADDRESS: Final = _Addresses({int: int})


def check_address(stream: int) -> int:
    """Return the address of a stream. Raises TypeError for a number that is not an address."""
    if not 0 <= stream <= _MOST:
        raise TypeError(f"not a CUDA stream: {stream} is no address")
    return stream


def join(found: Found, chosen: int | None) -> int | None:
    """Return the stream to launch on, ``chosen`` or else the first, after all work that the others have by now.

    Without any, return None, which stands for the legacy default stream. Raises DriverError.
    """
    for stream in found if len(found) == 1 else dict.fromkeys(found):
        if stream.__class__ is not int:
            continue
        if chosen is None:
            chosen = stream
        elif stream != chosen and not _LEGACY.issuperset((stream, chosen)):
            _order(stream, chosen)
    return chosen


def _order(before: int, after: int) -> None:
    """Let a stream wait for the work that another one has by now. A stream in a capture cannot wait for others."""
    driver = cuda()
    first, second = driver.CUstream(before), driver.CUstream(after)
    if int(check("cuStreamIsCapturing", driver.cuStreamIsCapturing(second))):
        return
    event = check("cuEventCreate", driver.cuEventCreate(_NO_TIMING))
    try:
        check("cuEventRecord", driver.cuEventRecord(event, first))
        check("cuStreamWaitEvent", driver.cuStreamWaitEvent(second, event, 0))
    finally:
        driver.cuEventDestroy(event)
