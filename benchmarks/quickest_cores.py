"""The cores to time something on: other machines may share them, and then take a third of their speed for seconds."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def on_quickest_cores(count: int) -> Iterator[None]:
    """Run this thread, and what it starts, on as many cores on which a loop takes the least time right now."""
    cores = os.sched_getaffinity(0)

    def seconds(core: int) -> float:
        os.sched_setaffinity(0, {core})
        start = time.perf_counter()
        sum(number * number for number in range(100_000))
        return time.perf_counter() - start

    try:
        if len(cores) > count:
            os.sched_setaffinity(0, sorted(cores, key=seconds)[:count])
        yield
    finally:
        os.sched_setaffinity(0, cores)
