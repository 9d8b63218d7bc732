"""Run compile jobs, longest first, where they run fastest: in this process, or in worker processes."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.link_job import LinkJob
from hatch_cuda_kernels.errors import CompileError
from hatch_cuda_kernels.plugin.memory import free_bytes
from hatch_cuda_kernels.plugin.worker import WorkerDiedError, WorkerPool

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import TypeAlias

    from hatch_cuda_kernels.compiler.job import Compiled
    from hatch_cuda_kernels.compiler.link_job import Job

    Outcomes: TypeAlias = Generator[tuple[Job, Compiled | Exception], None, None]

__all__ = ["compile_all", "default_workers", "estimate_seconds"]

#: Below this much estimated work, starting a worker process (0.2 s) costs more than it saves.
_WORTH_A_PROCESS: Final = 0.8
#: Front ends of these take seconds, and NVRTC runs one front end at a time in a process.
_HEAVY_HEADERS: Final = ("cub/", "cuda/", "thrust/", "cooperative_groups", "cute/", "cutlass/", "nv/")
_HEAVY_SECONDS: Final = 2.5
_LIGHT_SECONDS: Final = 0.06
_INSTANCE_SECONDS: Final = 0.01
#: Bytes that nvJitLink finishes in a second.
_LTOIR_SECOND: Final = 400_000
_PTX_SECOND: Final = 1_000_000
#: Peak memory of one worker with CUB-like sources.
_WORKER_BYTES: Final = 450 << 20
_TICK_SECONDS: Final = 0.1


def compile_all(
    jobs: Sequence[Job], *, workers: int | None = None, warn: Callable[[str], None] | None = None
) -> Outcomes:
    """Compile every job and yield each with its result, or with the error that kept it from one, as they finish.

    A failing job does not stop the others: all failures of a run are reported together. Jobs whose worker process died
    are compiled again, after the others and one at a time, which ``warn`` is told once. On KeyboardInterrupt, or when
    the caller closes the generator, worker processes are killed at once.
    """
    ordered = sorted(jobs, key=estimate_seconds, reverse=True)
    count = min(workers or default_workers(), len(ordered)) or 1
    locked = (estimate_seconds(job) for job in ordered if not isinstance(job, LinkJob))  # nvJitLink takes threads
    in_workers = count > 1 and sum(locked) >= _WORTH_A_PROCESS
    lost = []
    with closing(_run(ordered, count, WorkerPool() if in_workers else _ThisProcess())) as outcomes:
        for job, outcome in outcomes:
            if isinstance(outcome, WorkerDiedError):
                lost.append(job)
            else:
                yield job, outcome
    if lost:
        if warn is not None:
            warn(_lost(lost))
        with closing(_run(lost, 1, WorkerPool())) as outcomes:
            for job, outcome in outcomes:
                yield job, _died_again(job) if isinstance(outcome, WorkerDiedError) else outcome


def estimate_seconds(job: Job) -> float:
    """Return a rough compile time, good enough to order jobs and to decide about processes."""
    if isinstance(job, LinkJob):
        return len(job.input.image) / (_LTOIR_SECOND if job.input_kind == "ltoir" else _PTX_SECOND) if job.input else 0
    heavy = any(name.startswith(_HEAVY_HEADERS) for name in job.outside)
    front_end = _HEAVY_SECONDS if heavy else _LIGHT_SECONDS
    return front_end + _INSTANCE_SECONDS * len(job.names) + len(job.source) / 1e6


def default_workers() -> int:
    """Return how many workers this machine has cores and free memory for."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, free_bytes() // _WORKER_BYTES))


class _ThisProcess:
    """What a WorkerPool does, without processes."""

    def compile(self, job: Job) -> Compiled:
        from hatch_cuda_kernels.compiler.nvrtc import compile as compile_job  # noqa: PLC0415 - loads NVRTC

        return compile_job(job)

    def kill(self) -> None:
        """Nothing can be killed: NVRTC cannot be interrupted."""

    def close(self) -> None:
        """Nothing is left."""


def _run(jobs: Sequence[Job], count: int, compiler: WorkerPool | _ThisProcess) -> Outcomes:
    executor = ThreadPoolExecutor(count)
    try:
        futures = {executor.submit(compiler.compile, job): job for job in jobs}
        done: SimpleQueue[Future[Compiled]] = SimpleQueue()
        for future in futures:
            future.add_done_callback(done.put)
        for _ in futures:
            future = _next(done)
            yield futures[future], _outcome(future)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        compiler.kill()
        executor.shutdown(wait=True)
        compiler.close()


def _next(done: SimpleQueue[Future[Compiled]]) -> Future[Compiled]:
    """Wait in short turns: NVRTC leaves SIGINT such that a wait goes on after it, and Ctrl-C would wait for the end."""
    while True:
        try:
            return done.get(timeout=_TICK_SECONDS)
        except Empty:
            continue


def _outcome(future: Future[Compiled]) -> Compiled | Exception:
    try:
        return future.result()
    except Exception as error:  # noqa: BLE001 - reported with its job, beside the other failures
        return error


def _lost(jobs: Sequence[Job]) -> str:
    names = ", ".join(f"{job.module} for {job.arch}" for job in jobs)
    return f"a worker process died (killed, or out of memory); compiling again, one at a time: {names}"


def _died_again(job: Job) -> CompileError:
    message = "the worker process died twice while it compiled this (killed, out of memory, or NVRTC crashed)"
    return CompileError(job.module, str(job.arch), message)
