"""What a build shows while it runs: a progress bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

if TYPE_CHECKING:
    from typing import TextIO

    from hatch_cuda_kernels.compiler.finish_job import Job
    from hatch_cuda_kernels.pool.compilation import Progress

__all__ = ["LineProgress", "open_progress"]


def open_progress(stream: TextIO | None = None) -> Progress:
    """Return a bar when the stream (standard error) is a terminal, else plain lines for logs."""
    stream = stream or sys.stderr
    return _BarProgress(stream) if stream.isatty() else LineProgress(stream)


class _BarProgress:
    """One progress bar that names the job that finished last."""

    def __init__(self, stream: TextIO) -> None:
        self._bar = Bar(
            TextColumn("compiling"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
            console=Console(file=stream),
            transient=True,
        )
        self._task = self._bar.add_task("", total=None)

    def start(self, total: int) -> None:
        """Show the bar."""
        self._bar.update(self._task, total=total)
        self._bar.start()

    def done(self, job: Job, seconds: float | None) -> None:
        """Advance, naming the job."""
        state = "failed" if seconds is None else f"{seconds:.2f} s"
        self._bar.update(self._task, advance=1, description=f"{job.module} {job.arch} {state}")

    def finish(self) -> None:
        """Remove the bar."""
        self._bar.stop()


class LineProgress:
    """A line now and then: logs of a build service want to see that it lives, not every job."""

    def __init__(self, stream: TextIO, *, every: float = 5.0) -> None:
        self._stream = stream
        self._every = every
        self._total = self._done = 0
        self._last = 0.0

    def start(self, total: int) -> None:
        """Say how much there is to do."""
        self._total, self._last = total, time.monotonic()
        self._say(f"compiling {total} module x architecture pairs")

    def done(self, job: Job, seconds: float | None) -> None:
        """Say how far it is, at most once every few seconds; failures always."""
        self._done += 1
        if seconds is None or time.monotonic() - self._last >= self._every:
            self._last = time.monotonic()
            state = "failed" if seconds is None else f"{seconds:.2f} s"
            self._say(f"{self._done}/{self._total} {job.module} {job.arch} {state}")

    def finish(self) -> None:
        """Nothing is left to say."""

    def _say(self, text: str) -> None:
        print(f"cuda-kernels: {text}", file=self._stream, flush=True)
