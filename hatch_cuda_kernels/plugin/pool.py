"""Run compile jobs, longest first, where they run fastest: in this process, or in worker processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hatch_cuda_kernels.compiler.job import Compiled, CompileJob

__all__ = ["compile_all", "default_workers", "estimate_seconds"]

#: Below this much estimated work, starting a worker process (0.2 s) costs more than it saves.
_WORTH_A_PROCESS: Final = 0.8
#: Front ends of these take seconds, and NVRTC runs one front end at a time in a process.
_HEAVY_HEADERS: Final = ("cub/", "cuda/", "thrust/", "cooperative_groups", "cute/", "cutlass/", "nv/")
_HEAVY_SECONDS: Final = 2.5
_LIGHT_SECONDS: Final = 0.06
_INSTANCE_SECONDS: Final = 0.01
#: Peak memory of one worker with CUB-like sources.
_WORKER_BYTES: Final = 450 << 20


def compile_all(
    jobs: Sequence[CompileJob], *, workers: int | None = None
) -> Iterator[tuple[CompileJob, Compiled | Exception]]:
    """Compile every job and yield each with its result, or with the error that kept it from one, as they finish.

    A failing job does not stop the others: all failures of a run are reported together. On KeyboardInterrupt (or when
    the caller closes the iterator) worker processes are killed at once.
    """
    ordered = sorted(jobs, key=estimate_seconds, reverse=True)
    with _executor(ordered, workers) as executor:
        futures = {executor.submit(_compile, job): job for job in ordered}
        for future in as_completed(futures):
            yield futures[future], _outcome(future, futures[future])


def estimate_seconds(job: CompileJob) -> float:
    """Return a rough compile time, good enough to order jobs and to decide about processes."""
    heavy = any(name.startswith(_HEAVY_HEADERS) for name in job.outside)
    front_end = _HEAVY_SECONDS if heavy else _LIGHT_SECONDS
    return front_end + _INSTANCE_SECONDS * len(job.names) + len(job.source) / 1e6


def default_workers() -> int:
    """Return how many workers this machine has cores and free memory for."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, _free_bytes() // _WORKER_BYTES))


def _free_bytes() -> int:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on this platform
        return 1 << 40


def _outcome(future: Future[Compiled], job: CompileJob) -> Compiled | Exception:
    try:
        return future.result()
    except BrokenProcessPool:
        return CompileError(job.module, str(job.arch), "the worker process died (killed, or out of memory)")
    except Exception as error:  # noqa: BLE001 - reported with its job, beside the other failures
        return error


@contextmanager
def _executor(jobs: Sequence[CompileJob], workers: int | None) -> Iterator[Executor]:
    workers = min(workers or default_workers(), len(jobs)) or 1
    if workers == 1 or sum(map(estimate_seconds, jobs)) < _WORTH_A_PROCESS:
        executor: Executor = ThreadPoolExecutor(workers)
    else:
        # Never fork: a compile may be running in another thread of this process.
        executor = ProcessPoolExecutor(
            workers, mp_context=multiprocessing.get_context("spawn"), initializer=_start_worker
        )
    try:
        yield executor
    except BaseException:
        _kill(executor)
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _kill(executor: Executor) -> None:
    """End worker processes now; NVRTC cannot be interrupted while its front end runs."""
    for process in list((getattr(executor, "_processes", None) or {}).values()):
        process.kill()


def _start_worker() -> None:
    """Leave Ctrl-C to the parent, and end with it even when it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _compile(job: CompileJob) -> Compiled:
    from hatch_cuda_kernels.compiler.nvrtc import compile as compile_job  # noqa: PLC0415 - loads NVRTC, in the worker

    return compile_job(job)
