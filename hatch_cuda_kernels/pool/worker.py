"""Worker processes on this machine as an executor."""

from __future__ import annotations

from hatch_cuda_kernels.child_process import ChildDiedError, ChildProcess
from hatch_cuda_kernels.daemon_threads import DaemonThreads

__all__ = ["WorkerExecutor"]


class WorkerExecutor(DaemonThreads):
    """At most ``max_workers`` processes, each with a thread here; started when needed, ended when nothing is left.

    A worker that dies fails the one call it ran with ChildDiedError; another takes its place.
    """

    def __init__(self, max_workers: int) -> None:
        super().__init__(max_workers)
        self._workers: set[ChildProcess] = set()
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
            except ChildDiedError as error:
                self._end(worker)
                worker = None
                future.set_exception(error)
            except Exception as error:  # noqa: BLE001 - it is the caller's
                future.set_exception(error)
            else:
                future.set_result(result)
        self._end(worker)
        self._done()

    def _start(self) -> ChildProcess:
        with self._lock:
            if self._killed:
                raise ChildDiedError
            worker = ChildProcess()
            self._workers.add(worker)
            return worker

    def _end(self, worker: ChildProcess | None) -> None:
        if worker is None:
            return
        with worker:
            pass
        with self._lock:
            self._workers.discard(worker)
