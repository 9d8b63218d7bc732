"""Writing a module's ``__constant__`` variable in stream order."""

from __future__ import annotations

import threading
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from example_project._driver import check, driver

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

__all__ = ["Constant", "holding"]


class Constant(Protocol):
    """A variable on the device, as ``get_global`` returns it."""

    @property
    def address(self) -> int: ...
    @property
    def size(self) -> int: ...


class _Upload(NamedTuple):
    done: Any
    values: np.ndarray[Any, Any]


_lock: Final = threading.Lock()
#: By the constant's address, which no other constant of the process shares, whatever its context.
_in_flight: Final[dict[int, deque[_Upload]]] = {}


@contextmanager
def holding(constant: Constant, values: np.ndarray[Any, Any], stream: int) -> Iterator[None]:
    """Let `constant` hold `values` for the kernels that the body launches on `stream`, without waiting on the host.

    `values` must be C-contiguous and stay unchanged. Raises ValueError where they do not fit. Not for stream capture.
    """
    if values.nbytes > constant.size:
        raise ValueError(f"{values.nbytes} bytes do not fit into a constant of {constant.size}")
    # One lock over copy and launch: otherwise two threads could copy, copy, launch, launch.
    with _lock:
        uploads = _in_flight.setdefault(constant.address, deque())
        if uploads:  # kernels on other streams may still be reading what the constant holds now
            check(driver.cuStreamWaitEvent(stream, uploads[-1].done, 0))
        # Stream order puts the copy after the kernels launched before it, which need the old values, and before those
        # launched after it. A synchronous cuMemcpyHtoD would not wait for work on a non-blocking stream.
        check(driver.cuMemcpyHtoDAsync(constant.address, values.ctypes.data, values.nbytes, stream))
        try:
            yield
        finally:
            _remember(uploads, values, stream)


def _remember(uploads: deque[_Upload], values: np.ndarray[Any, Any], stream: int) -> None:
    # `values` is pageable memory. The driver usually stages such a copy before it returns, but promises only that it
    # "might be synchronous" (CUDA Driver API, "API synchronization behavior"). So the array lives until `done` passed.
    done = check(driver.cuEventCreate(driver.CUevent_flags.CU_EVENT_DISABLE_TIMING))
    check(driver.cuEventRecord(done, stream))
    uploads.append(_Upload(done, values))
    while len(uploads) > 1 and driver.cuEventQuery(uploads[0].done)[0] == driver.CUresult.CUDA_SUCCESS:
        check(driver.cuEventDestroy(uploads.popleft().done))
