"""What a compile at run time tells the user: that it runs and why, how long it took, and how to avoid it."""

from __future__ import annotations

import logging
import sys
import threading
import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.environment import JIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.arch import SmArch
    from hatch_cuda_kernels.runtime.ladder.request import Request

__all__ = ["LOGGER", "Notice"]

LOGGER: Final = logging.getLogger("hatch_cuda_kernels")
#: Seconds. Shorter compiles are logged as INFO, longer ones as WARNING, which shows without any logging set up.
_NOTICEABLE: Final = 1.0


class Notice:
    """The log of one request's compile, if it needs one."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._what, self._seconds = "", 0.0

    @contextmanager
    def compiling(self, arch: SmArch, compiler: str) -> Iterator[None]:
        """Log the start of the compile in the body, time it, and show progress on a terminal after a second."""
        self._what = f"{self._request.module.module} ({self._request.kernel.name}) for {arch} with {compiler}"
        LOGGER.info("compiling %s; %s", self._what, _why(self._request))
        start = time.perf_counter()
        with _nvtx_range(f"compile {self._request.kernel.name}"), _progress(f"compiling {self._what}"):
            yield
        self._seconds = time.perf_counter() - start

    def compiled(self, arch: SmArch, *, recorded: bool) -> None:
        """Log the end, once it is known whether the next process has the image, and how to avoid the compile."""
        level = logging.WARNING if self._seconds > _NOTICEABLE else logging.INFO
        kept = "recorded for the next process" if recorded else "not recorded, so that each process compiles it again"
        ship = f"ship {arch}" if self._request.listed else "list the instance in kernels.yaml"
        advice = f"to avoid it, {ship}, or set {JIT}=0 to forbid it"
        why = _why(self._request)
        LOGGER.log(level, "compiled %s in %.2f s, %s; %s; %s", self._what, self._seconds, kept, why, advice)


def _nvtx_range(name: str) -> Any:  # a context manager
    """Return an NVTX range if the application has imported nvtx, else a context that does nothing."""
    nvtx = sys.modules.get("nvtx")
    return nullcontext() if nvtx is None else nvtx.annotate(f"hatch_cuda_kernels: {name}")


def _why(request: Request) -> str:
    if not request.listed:
        return "the instance is not in the package's kernels.yaml"
    if request.source.stale:
        return request.source.stale
    built = ", ".join(str(record.arch) for record in request.module.images)
    return f"not prebuilt: the package was built for {built}"


@contextmanager
def _progress(text: str) -> Iterator[None]:
    """On a terminal, show a line that counts seconds once the body has taken one."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_count, args=(text, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _count(text: str, done: threading.Event) -> None:
    start = time.monotonic()
    shown = done.wait(_NOTICEABLE)
    if shown:
        return
    while not done.wait(0.2):
        sys.stderr.write(f"\r{text} ... {time.monotonic() - start:.0f} s")
        sys.stderr.flush()
    sys.stderr.write("\r\x1b[K")
    sys.stderr.flush()
