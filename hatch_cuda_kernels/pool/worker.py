"""Worker processes on this machine as an executor: pickled calls go in through standard input, results come out.

Not concurrent.futures.ProcessPoolExecutor: its workers run the caller's main module again, and there one death costs
every job its result.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.daemon_threads import DaemonThreads

if TYPE_CHECKING:
    from collections.abc import Callable

    from hatch_cuda_kernels.daemon_threads import Call

__all__ = ["WorkerDiedError", "WorkerExecutor", "serve"]

#: glibc's malloc, told to keep what a compile frees for the next one: else NVRTC returns its memory to the system and
#: takes it again at every compile, and 3 % of a build of light sources are page faults. The peak stays the same.
_MALLOC: Final = {
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TOP_PAD_": str(16 << 20),
}
#: The parent's path finds what it found, as in pip's build environment. Ctrl-C is the parent's business: POSIX keeps it
#: from another process group, also while Python starts; Windows does not.
_START: Final = """\
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
import sys
sys.path[:] = sys.argv[1:]
from hatch_cuda_kernels.pool.worker import serve
serve()
"""


class WorkerDiedError(Exception):
    """A worker ended before it answered: killed, out of memory, or crashed."""


class WorkerExecutor(DaemonThreads):
    """At most ``max_workers`` processes, each with a thread here; started when needed, ended when nothing is left.

    A worker that dies fails the one call it ran with WorkerDiedError; another takes its place.
    """

    def __init__(self, max_workers: int) -> None:
        super().__init__(max_workers)
        self._workers: set[_Worker] = set()
        self._killed = False

    def kill(self) -> None:
        """Cancel what waits and end every worker now: NVRTC cannot be interrupted."""
        with self._lock:
            self._killed = True
            for worker in self._workers:
                worker.kill()
        self.shutdown(cancel_futures=True)

    def _work(self) -> None:
        """Do what there is to do, in one worker as long as it lives."""
        worker = None
        while (found := self._next_call()) is not None:
            future, call = found
            if not future.set_running_or_notify_cancel():
                continue
            try:
                worker = worker or self._start()
                result = worker.call(call)
            except WorkerDiedError as error:
                self._end(worker)
                worker = None
                future.set_exception(error)
            except Exception as error:  # noqa: BLE001 - it is the caller's
                future.set_exception(error)
            else:
                future.set_result(result)
        self._end(worker)
        self._done()

    def _start(self) -> _Worker:
        with self._lock:
            if self._killed:
                raise WorkerDiedError
            worker = _Worker()
            self._workers.add(worker)
            return worker

    def _end(self, worker: _Worker | None) -> None:
        if worker is None:
            return
        with contextlib.suppress(OSError), worker.process:
            pass  # leaving closes the pipes, at which it ends; one may be broken, with a call half written
        with self._lock:
            self._workers.discard(worker)


class _Worker:
    """This side of one worker process."""

    def __init__(self) -> None:
        command = [sys.executable, "-P", "-c", _START, *sys.path]
        pipe, env = subprocess.PIPE, _MALLOC | os.environ
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=env, process_group=0)  # noqa: S603 - ourselves

    def kill(self) -> None:
        """End it now, with the ptxas that it may be waiting for."""
        if hasattr(os, "killpg") and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()

    def call(self, call: Call) -> Any:  # whatever the function returns
        """Return what a call returned there, or raise what it raised. Raises WorkerDiedError."""
        send, receive = self.process.stdin, self.process.stdout
        if send is None or receive is None:  # for mypy: both are pipes
            raise WorkerDiedError
        data = pickle.dumps(call)
        try:
            send.write(data)
            send.flush()
            done, outcome = pickle.load(receive)  # noqa: S301 - from our own process
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise WorkerDiedError from error
        if not done:
            raise outcome
        return outcome


def serve() -> None:
    """Answer calls in the order they come, in the worker process. What they print goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    calls: SimpleQueue[Call] = SimpleQueue()
    Thread(target=_receive, args=(calls,), daemon=True).start()
    while True:
        pickle.dump(_outcome(*calls.get()), answers)
        answers.flush()


def _receive(calls: SimpleQueue[Call]) -> None:
    """Hand on the calls. The input ends when the parent does, however that came about: then end too, at once.

    A ptxas that runs for this process ends as well: it is in the process group that this one leads.
    """
    try:
        while True:
            calls.put(pickle.load(sys.stdin.buffer))  # noqa: S301 - from our own parent
    finally:
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)


def _outcome(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, Any]:
    try:
        return True, fn(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - raised again on the other side
        return False, error
