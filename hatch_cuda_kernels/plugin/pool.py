"""Run compile jobs on an executor, longest first, and hand out results as they come."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, CancelledError, Future
from contextlib import closing
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.errors import CompileError, HatchCudaKernelsError
from hatch_cuda_kernels.plugin.task import Task, compile_task, needed_tools
from hatch_cuda_kernels.plugin.worker import WorkerDiedError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from concurrent.futures import Executor
    from typing import TypeAlias

    from hatch_cuda_kernels.compiler.job import Compiled, CompileJob

    Outcomes: TypeAlias = Generator[tuple[CompileJob, Compiled | Exception], None, None]

__all__ = ["compile_all", "estimate_seconds"]

#: Front ends of these take seconds, and NVRTC runs one front end at a time in a process.
_HEAVY_HEADERS: Final = ("cub/", "cuda/", "thrust/", "cooperative_groups", "cute/", "cutlass/", "nv/")
_HEAVY_SECONDS: Final = 2.5
_LIGHT_SECONDS: Final = 0.06
_INSTANCE_SECONDS: Final = 0.01
#: A front end reads about a megabyte of text in a second.
_CHARACTER_SECONDS: Final = 1e-6
_TICK_SECONDS: Final = 0.1


def estimate_seconds(job: CompileJob) -> float:
    """Return a rough compile time, good enough to order jobs and to decide about processes."""
    heavy = any(name.startswith(_HEAVY_HEADERS) for name in job.outside)
    front_end = _HEAVY_SECONDS if heavy else _LIGHT_SECONDS
    characters = len(job.source) + sum(len(text) for _, text in job.headers)
    return front_end + _INSTANCE_SECONDS * len(job.names) + _CHARACTER_SECONDS * characters


def compile_all(
    jobs: Sequence[CompileJob],
    executor: Executor,
    *,
    cost: Callable[[CompileJob], float] = estimate_seconds,
    warn: Callable[[str], None] | None = None,
) -> Outcomes:
    """Compile every job and yield each with its result, or with the error that kept it from one, as they finish.

    A failing job does not stop the others: all failures of a run are reported together. Jobs whose worker process died
    are compiled again, after the others and one at a time, which ``warn`` is told once. On KeyboardInterrupt, or when
    the caller closes the generator, what has not begun is cancelled.
    """
    needed = needed_tools(jobs)
    lost = []
    with closing(_run(sorted(jobs, key=cost, reverse=True), executor, needed)) as outcomes:
        for job, outcome in outcomes:
            if isinstance(outcome, WorkerDiedError):
                lost.append(job)
            else:
                yield job, outcome
    if lost and warn is not None:
        warn(_lost(lost))
    for job in lost:  # one at a time, in a process of its own: it may have been the memory
        with closing(_run([job], executor, needed)) as outcomes:
            for _, outcome in outcomes:
                yield job, _died_again(job) if isinstance(outcome, WorkerDiedError) else outcome


def _run(jobs: Sequence[CompileJob], executor: Executor, needed: dict[str, str]) -> Outcomes:
    waiting: dict[Future[Compiled], CompileJob] = {}
    done: SimpleQueue[Future[Compiled]] = SimpleQueue()
    try:
        for job in jobs:
            future = _submit(executor, Task(needed, job))
            waiting[future] = job
            future.add_done_callback(done.put)
        while waiting:
            future = _next(done)
            job = waiting.pop(future)
            yield job, _outcome(future, job)
    finally:
        for future in waiting:
            future.cancel()


def _submit(executor: Executor, task: Task) -> Future[Compiled]:
    try:
        return executor.submit(compile_task, task)
    except RuntimeError as error:  # an executor that broke, or was shut down, meanwhile
        future: Future[Compiled] = Future()
        future.set_exception(BrokenExecutor(str(error)))
        return future


def _next(done: SimpleQueue[Future[Compiled]]) -> Future[Compiled]:
    """Wait in short turns: NVRTC leaves SIGINT such that a wait goes on after it, and Ctrl-C would wait for the end."""
    while True:
        try:
            return done.get(timeout=_TICK_SECONDS)
        except Empty:
            continue


def _outcome(future: Future[Compiled], job: CompileJob) -> Compiled | Exception:
    """Return a result, or the error to report with its job, beside the other failures."""
    try:
        return future.result()
    except (HatchCudaKernelsError, WorkerDiedError, BrokenExecutor, CancelledError) as error:
        return error
    except Exception as error:  # noqa: BLE001 - such as an executor's own, of a job whose workers died
        return CompileError(job.module, str(job.arch), f"{type(error).__name__}: {error}")


def _lost(jobs: Sequence[CompileJob]) -> str:
    names = ", ".join(f"{job.module} for {job.arch}" for job in jobs)
    return f"a worker process died (killed, or out of memory); compiling again, one at a time: {names}"


def _died_again(job: CompileJob) -> CompileError:
    message = "the worker process died twice while it compiled this (killed, out of memory, or NVRTC crashed)"
    return CompileError(job.module, str(job.arch), message)
