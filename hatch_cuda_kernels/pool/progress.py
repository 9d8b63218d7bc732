"""What a build shows while it runs: a progress bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from hatch_cuda_kernels.pool.watched import Watched, name_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from hatch_cuda_kernels.compiler import Job
    from hatch_cuda_kernels.pool.compilation import Progress

__all__ = ["LineProgress", "open_progress"]


def open_progress(stream: TextIO | None = None) -> Progress:
    """Return a bar when the stream (standard error) is a terminal, else plain lines for logs."""
    stream = stream or sys.stderr
    if not stream.isatty():
        return LineProgress(stream)
    from hatch_cuda_kernels.pool.progress_bar import BarProgress  # a bar takes longer to import than lines to write

    return BarProgress(stream)


class LineProgress(Watched):
    """A line now and then: logs of a build service want to see that it lives, not every job."""

    def __init__(self, stream: TextIO, *, every: float = 5.0) -> None:
        super().__init__()
        self._stream = stream
        self._every = every
        self._last = 0.0

    def start(self, jobs: Sequence[Job]) -> None:
        """Say how much there is to do."""
        super().start(jobs)
        self._last = time.monotonic()
        self._say(f"compiling {self.total} module x architecture pairs")

    def done(self, job: Job, seconds: float | None) -> None:
        """Say how far it is and what runs, at most once every few seconds; failures always."""
        super().done(job, seconds)
        if seconds is None:
            self._say(f"{self.ended}/{self.total} {name_of(job)} failed")
        elif self.current and time.monotonic() - self._last >= self._every:
            self._last = time.monotonic()
            self._say(f"{self.ended}/{self.total}, compiling {self.current}")

    def finish(self) -> None:
        """Say what took longest."""
        if self.slowest:
            self._say(self.slowest)

    def _say(self, text: str) -> None:
        print(f"cuda-kernels: {text}", file=self._stream, flush=True)
