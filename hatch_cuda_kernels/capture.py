"""Loading while a stream is captured into a graph, by this thread or another one."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from hatch_cuda_kernels.driver import check, cuda

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["outside_captures"]


@contextmanager
def outside_captures() -> Iterator[None]:
    """Let the body do what no capture records: load and unload images, look up kernels and variables.

    These allocate memory, which the driver refuses a thread, and for which it ends the capture, unless the thread says
    that nothing of it belongs into the graph (CUDA Driver API, cuThreadExchangeStreamCaptureMode). Raises DriverError.
    """
    driver = cuda()
    relaxed = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    call = driver.cuThreadExchangeStreamCaptureMode(relaxed)
    before = check("cuThreadExchangeStreamCaptureMode", call)
    try:
        yield
    finally:
        driver.cuThreadExchangeStreamCaptureMode(before)
