"""Compile one job after another in a separate process, for code that nobody has compiled before: NVRTC may crash."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Timer
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.child_process import ChildDiedError, ChildProcess
from hatch_cuda_kernels.compiler import run_job
from hatch_cuda_kernels.pool.schedule import LostJob
from hatch_cuda_kernels.threads import interruptible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hatch_cuda_kernels.compiler import Compiled, Job

_worker: Final[ContextVar[_Worker | None]] = ContextVar("_worker", default=None)


class OutOfTimeError(Exception):
    """A compile took longer than it may, and was ended."""


class _Worker:
    """A process that is started when it is needed, and again after it died."""

    def __init__(self) -> None:
        self._child: ChildProcess | None = None

    def compile(self, job: Job) -> Compiled | Exception:
        """Return what a job gives, or the error that it ends in."""
        self._child = self._child or ChildProcess()
        try:
            return self._child.call((run_job, (job,), {}))  # type: ignore[no-any-return]  # it crossed a pipe
        except ChildDiedError as error:
            self.end()
            return error
        except Exception as error:  # noqa: BLE001 - raised where it was asked for
            return error

    def kill(self) -> None:
        """Let the compile that is going on end without an answer."""
        if self._child is not None:
            self._child.kill()

    def end(self) -> None:
        """End the process."""
        child, self._child = self._child, None
        if child is not None:
            with child:
                child.kill()


@contextmanager
def one_worker() -> Iterator[_Worker]:
    """Keep one process for all compiles of a block, or of a function that this decorates, and end it afterwards."""
    outer = _worker.get()
    if outer is not None:
        yield outer
        return
    worker = _Worker()
    token = _worker.set(worker)
    try:
        yield worker
    finally:
        _worker.reset(token)
        worker.end()


def run_isolated(job: Job, seconds: float | None = None) -> Compiled:
    """Return what ``run_job`` returns or raise what it raises; a crash of NVRTC is a CompileError, too.

    Raises OSError where no process can be started, and OutOfTimeError after some seconds.
    """
    expired = Event()
    if seconds == 0:
        raise OutOfTimeError
    with one_worker() as worker:

        def end() -> None:
            expired.set()
            worker.kill()

        timer = None if seconds is None else Timer(seconds, end)
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            outcome = interruptible(lambda: worker.compile(job))
            if isinstance(outcome, ChildDiedError) and not expired.is_set():
                lost = LostJob(job, outcome)
                outcome = lost.outcome(interruptible(lambda: worker.compile(lost.again)))
        finally:
            if timer is not None:
                timer.cancel()
    if isinstance(outcome, Exception):
        if expired.is_set():
            raise OutOfTimeError
        raise outcome
    return outcome
