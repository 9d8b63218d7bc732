"""A build's progress as a bar on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.theme import Theme

from hatch_cuda_kernels.pool.watched import Watched

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from hatch_cuda_kernels.compiler import Job

__all__ = ["BarProgress"]

#: rich has the figures green and yellow, which nobody can read on white.
_STYLES: Final = {"progress.download": "default", "progress.elapsed": "default", "bar.complete": "magenta"}


class BarProgress(Watched):
    """One progress bar that names what is being compiled; then, in a line that stays, what took longest."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._bar = Progress(
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
