"""What a build shows while it runs: a progress bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler import Job

#: A compile that takes less is nothing to speak of.
_LONG_SECONDS: Final = 1.0
#: rich shows figures in green and yellow, which are hard to read on white.
_STYLES: Final = {"progress.download": "default", "progress.elapsed": "default", "bar.complete": "magenta"}


class Progress:
    """What of a build's jobs is done, runs, or took long. This shows nothing; subclasses do.

    Jobs begin in the order given, so the first that is not done has been running longest.
    """

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._slowest: tuple[float, str] = (0.0, "")
        self.total = self.ended = 0

    def start(self, jobs: Sequence[Job]) -> None:
        """Take notice of the jobs of a round, in the order in which they begin. A round repeats what was refused."""
        self._waiting = list(map(name_of, jobs))
        self.total = self.ended + len(jobs)

    def refused(self, job: Job) -> None:
        """Take notice of a job that gave nothing: it is repeated in the next round, or else reported as failed."""
        with suppress(ValueError):
            self._waiting.remove(name_of(job))

    def done(self, job: Job, seconds: float | None) -> None:
        """Take notice of a job that finished after ``seconds``, or failed (None)."""
        self.ended += 1
        self.refused(job)
        self._slowest = max(self._slowest, (seconds or 0.0, name_of(job)))

    def finish(self) -> None:
        """Take notice that no more jobs come, also when the build fails."""

    @property
    def current(self) -> str:
        """The job that has been running longest, empty after the last."""
        return next(iter(self._waiting), "")

    @property
    def slowest(self) -> str:
        """The slowest job of all, empty if none took long."""
        seconds, name = self._slowest
        return f"slowest: {name}, {seconds:.1f} s" if seconds >= _LONG_SECONDS else ""


def name_of(job: Job) -> str:
    """Return what a job is called in messages."""
    return f"{job.module} {job.arch}"


def open_progress(stream: TextIO | None = None) -> Progress:
    """Return a bar when the stream (standard error) is a terminal, else plain lines for logs."""
    stream = stream or sys.stderr
    return BarProgress(stream) if stream.isatty() else LineProgress(stream)


class LineProgress(Progress):
    """A line now and then: logs of a build service want to see that it lives, not every job."""

    def __init__(self, stream: TextIO, *, every: float = 5.0) -> None:
        super().__init__()
        self._stream = stream
        self._every = every
        self._last = 0.0

    def start(self, jobs: Sequence[Job]) -> None:
        """Say how much there is to do."""
        super().start(jobs)
        again = " again, with more host code cut" if self._last else ""
        self._last = time.monotonic()
        self._say(f"compiling {len(jobs)} module x architecture pairs{again}")

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


class BarProgress(Progress):
    """One progress bar that names what is being compiled; then, in a line that stays, what took longest."""

    def __init__(self, stream: TextIO) -> None:
        # Importing these takes longer than writing lines does.
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar
        from rich.theme import Theme

        super().__init__()
        self._bar = Bar(
            TextColumn("compiling"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
            console=Console(file=stream, theme=Theme(_STYLES)),
            transient=True,
        )
        self._task = self._bar.add_task("", total=None)

    def start(self, jobs: Sequence[Job]) -> None:
        """Show the bar."""
        super().start(jobs)
        self._bar.update(self._task, total=self.total, description=self.current)
        self._bar.start()

    def done(self, job: Job, seconds: float | None) -> None:
        """Advance."""
        super().done(job, seconds)
        self._bar.update(self._task, advance=1, description=self.current)

    def finish(self) -> None:
        """Remove the bar."""
        self._bar.stop()
        if self.slowest:
            self._bar.console.print(self.slowest, highlight=False, markup=False)
