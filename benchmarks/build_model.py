"""How long a build takes: jobs, cores and hosts in, seconds out. Six costs are fitted to measured builds.

A build starts, hands its jobs in turn to whichever worker is free, and records what comes back in its own process while
they compile. So it takes the longest of three: the workers' schedule, all work shared by the cores there are, and the
build's own part, which more machines do not shorten.
"""

from __future__ import annotations

import heapq
from statistics import fmean, linear_regression
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Costs(NamedTuple):
    """What a build costs besides compiling, in seconds."""

    start: float
    """Interpreter, manifest, plan: whatever the number of images."""
    image: float
    """An image, before and after the compiles: its key, its look-up in the disk cache, its place in the store."""
    own: float
    """A job, in the build's own process while others compile: hand it out, take it back, record it."""
    worker: float
    """A worker until it can compile: an interpreter, and NVRTC loaded."""
    overhead: float
    """A job, in its worker, besides the compiler."""
    crowding: float = 1.0
    """How many times longer a compile takes when every core compiles."""


class Build(NamedTuple):
    """A measured build of ``images`` images: its seconds, and those of building again with nothing changed."""

    jobs: Sequence[float]
    images: int
    wall: float
    unchanged: float


def predict(jobs: Sequence[float], images: int, costs: Costs, *, cores: int, workers: int = 0, hosts: int = 1) -> float:
    """Return the seconds of a build. ``workers`` is of each host (0: as many as cores)."""
    workers = workers or cores
    slower = costs.crowding if workers >= cores else 1.0
    times = [seconds * slower + costs.overhead for seconds in jobs]
    own = costs.own * len(times)
    schedule = makespan(times, workers * hosts)
    shared = (sum(times) + own) / (cores * hosts)
    return costs.start + costs.image * images + costs.worker + max(schedule, shared, own)


def makespan(times: Iterable[float], workers: int) -> float:
    """Return when the last job ends if each goes, in order, to the worker that is free first."""
    free = [0.0] * workers
    for seconds in times:
        heapq.heappush(free, heapq.heappop(free) + seconds)
    return max(free)


def fit(alone: Sequence[Build], own: float, crowding: float = 1.0) -> Costs:
    """Return the costs that explain builds of different sizes by one worker.

    ``own`` is measured apart: CPU seconds a job of the build's own process. Raises StatisticsError for builds that all
    have one size.
    """
    image, start = linear_regression([build.images for build in alone], [build.unchanged for build in alone])
    counts = [len(build.jobs) for build in alone]
    rest = [build.wall - build.unchanged - sum(build.jobs) for build in alone]
    overhead, worker = linear_regression(counts, rest)
    if worker < 0 or overhead < own:  # noise: one worker does both parts, and neither gives time back
        overhead, worker = max(fmean(took / count for took, count in zip(rest, counts, strict=True)), own), 0.0
    return Costs(max(start, 0.0), max(image, 0.0), own, worker, overhead - own, max(crowding, 1.0))
