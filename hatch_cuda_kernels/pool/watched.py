"""What of a build's jobs is done, runs, or took long: for those who show it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hatch_cuda_kernels.compiler import Job

__all__ = ["Watched", "name_of"]

#: A compile that takes less is nothing to speak of.
_LONG_SECONDS: Final = 1.0


class Watched:
    """What is being compiled: jobs begin in the order given, so the first that is not done runs; and the slowest."""

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._slowest: tuple[float, str] = (0.0, "")
        self.total = self.ended = 0

    def start(self, jobs: Sequence[Job]) -> None:
        """Remember what there is to do."""
        self._waiting = list(map(name_of, jobs))
        self.total = len(jobs)

    def done(self, job: Job, seconds: float | None) -> None:
        """Remember how long a job took."""
        self.ended += 1
        with suppress(ValueError):
            self._waiting.remove(name_of(job))
        self._slowest = max(self._slowest, (seconds or 0.0, name_of(job)))

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
