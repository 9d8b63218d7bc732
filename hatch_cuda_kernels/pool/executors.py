"""Where compiles run: an executor by its name, from an option or the environment, opened for one build."""

from __future__ import annotations

import os
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.environment import EXECUTOR
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.pool.memory import free_bytes
from hatch_cuda_kernels.threads import DaemonThreads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hatch_cuda_kernels.pool.task import Tools

__all__ = [
    "DASK_REQUIREMENT",
    "choose_executor",
    "default_workers",
    "is_executor",
    "local_executor",
    "open_executor",
    "uses_dask",
]

#: Also the extra ``dask``; an isolated build whose environment asks for Dask gets it through the hook.
DASK_REQUIREMENT: Final = "distributed>=2024.1"
_LOCAL: Final = "process"
_DASK: Final = "dask:"

#: Below this much estimated work, starting another worker process (0.2 s) costs more than it saves.
_WORTH_ANOTHER: Final = 0.8
#: Peak memory of one worker with CUB-like sources.
_WORKER_BYTES: Final = 450 << 20


def choose_executor(*, flag: str | None = None, option: str | None = None) -> str:
    """Return the executor's name: a flag comes before the environment, which comes before the project's own option.

    Raises InputError for a variable that names none.
    """
    stated = os.environ.get(EXECUTOR)
    if stated and not is_executor(stated):
        raise InputError(f"{EXECUTOR}={stated!r} is neither {_LOCAL!r} nor '{_DASK}ADDRESS'")
    return flag or stated or option or _LOCAL


def is_executor(name: str) -> bool:
    """Return whether a name is that of an executor: ``process``, or ``dask:`` and an address or scheduler file."""
    return name == _LOCAL or (uses_dask(name) and len(name) > len(_DASK))


def uses_dask(name: str) -> bool:
    """Return whether an executor's name asks for Dask."""
    return name.startswith(_DASK)


@contextmanager
def open_executor(
    executor: Executor | str,
    needed: Tools,
    *,
    local: Callable[[], DaemonThreads],
    warn: Callable[[str], None],
) -> Iterator[Executor]:
    """Yield the executor of a name for one build, and end at once what still runs on it afterwards.

    One that was made by the caller is yielded as it is, and left open.
    """
    if isinstance(executor, Executor):
        yield executor
    elif uses_dask(executor):
        from hatch_cuda_kernels.pool.dask_cluster import dask_executor  # an extra

        with dask_executor(executor.removeprefix(_DASK), needed, warn) as opened:
            yield opened
    else:
        opened = local()
        try:
            yield opened
        finally:
            opened.kill()


def local_executor(costs: list[float], workers: int | None = None) -> DaemonThreads:
    """Return worker processes for jobs of these estimated seconds, one for little work; threads where none compiles.

    NVRTC crashes on some sources, and in this process it would end the build without a message.
    """
    count = min(workers or default_workers(), len(costs)) or 1
    if not any(costs):
        return DaemonThreads(count)
    from hatch_cuda_kernels.pool.worker import WorkerExecutor  # who only asks for names needs none of it

    return WorkerExecutor(count if sum(costs) >= _WORTH_ANOTHER else 1)


def default_workers() -> int:
    """Return how many workers this machine has cores and free memory for."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, free_bytes() // _WORKER_BYTES))
