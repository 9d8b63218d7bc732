"""Worker processes for compiles: pickled jobs go in through standard input, pickled outcomes come out.

Not multiprocessing, whose workers run the caller's main module again, and where one death costs every job its result.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hatch_cuda_kernels.compiler.job import Compiled
    from hatch_cuda_kernels.compiler.link_job import Job

__all__ = ["WorkerDiedError", "WorkerPool", "serve"]

#: The parent's path finds what it found, as in pip's build environment. Ctrl-C is the parent's business: POSIX keeps it
#: from another process group, also while Python starts; Windows does not.
_START: Final = """\
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
import sys
sys.path[:] = sys.argv[1:]
from hatch_cuda_kernels.plugin.worker import serve
serve()
"""


class WorkerDiedError(Exception):
    """A worker ended before it answered: killed, out of memory, or crashed."""


class WorkerPool:
    """Worker processes, one for each thread that compiles at a time; each is started when it is first needed."""

    def __init__(self) -> None:
        self._workers: list[_Worker] = []
        self._idle: list[_Worker] = []
        self._lock = threading.Lock()
        self._killed = False

    def compile(self, job: Job) -> Compiled:
        """Compile a job in a process of its own. Raises what the compile raises there, or WorkerDiedError."""
        worker = self._take()
        outcome = worker.compile(job)
        self._idle.append(worker)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def kill(self) -> None:
        """End every worker now: NVRTC cannot be interrupted. What is compiling raises WorkerDiedError."""
        with self._lock:
            self._killed = True
            for worker in self._workers:
                worker.process.kill()

    def close(self) -> None:
        """Wait for the killed workers. No thread may be compiling any more."""
        for worker in self._workers:
            with contextlib.suppress(OSError), worker.process:
                pass  # leaving closes the pipes, one of which may be broken with a job half written

    def _take(self) -> _Worker:
        with self._lock:
            if self._killed:
                raise WorkerDiedError
            if self._idle:
                return self._idle.pop()
            worker = _Worker()
            self._workers.append(worker)
            return worker


class _Worker:
    """This side of one worker process."""

    def __init__(self) -> None:
        command = [sys.executable, "-P", "-c", _START, *sys.path]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, process_group=0)  # noqa: S603 - ourselves

    def compile(self, job: Job) -> Compiled | Exception:
        """Return what a job gave there. Raises WorkerDiedError."""
        send, receive = self.process.stdin, self.process.stdout
        if send is None or receive is None:  # for mypy: both are pipes
            raise WorkerDiedError
        try:
            pickle.dump(job, send)
            send.flush()
            outcome: Compiled | Exception = pickle.load(receive)  # noqa: S301 - from our own process
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise WorkerDiedError from error
        return outcome


def serve() -> None:
    """Answer jobs in the order they come, in the worker process. What a compile prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    jobs: SimpleQueue[Job] = SimpleQueue()
    threading.Thread(target=_receive, args=(jobs,), daemon=True).start()
    while True:
        pickle.dump(_outcome(jobs.get()), answers)
        answers.flush()


def _receive(jobs: SimpleQueue[Job]) -> None:
    """Hand on the jobs. The input ends when the parent does, however that came about: then end too, at once."""
    try:
        while True:
            jobs.put(pickle.load(sys.stdin.buffer))  # noqa: S301 - from our own parent
    finally:
        os._exit(1)


def _outcome(job: Job) -> Compiled | Exception:
    from hatch_cuda_kernels.compiler.nvrtc import compile as compile_job  # noqa: PLC0415 - loads NVRTC, in the worker

    try:
        return compile_job(job)
    except Exception as error:  # noqa: BLE001 - reported with its job, beside the other failures
        return error
