"""Worker processes on this machine as an executor."""

from __future__ import annotations

import shutil
import threading
from collections import Counter
from contextlib import suppress
from functools import partial
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from hatch_cuda_kernels.child_process import ChildDiedError, ChildProcess
from hatch_cuda_kernels.threads import DaemonThreads, NoThreadError, start_daemon

if TYPE_CHECKING:
    from collections.abc import Hashable
    from collections.abc import Set as AbstractSet
    from concurrent.futures import Future

    from hatch_cuda_kernels.threads import Call

__all__ = ["WorkerExecutor"]


class WorkerExecutor(DaemonThreads):
    """At most ``max_workers`` processes, each with a thread here; started when needed, ended when nothing is left.

    A worker that dies fails the one call it ran with ChildDiedError; another takes its place. A call whose first
    argument has a ``begin`` ends with what that returns here, unless it is None. Calls whose first argument has a
    ``group`` go to a worker that did the like, if there is one; its ``announce`` is told how many of them wait for that
    worker. Temporary files of each are in a folder that goes with it.
    """

    def __init__(self, max_workers: int) -> None:
        super().__init__(max_workers)
        self._workers: set[ChildProcess] = set()
        self._started: list[ChildProcess] = []
        """Those that no thread has taken yet."""
        self._starting: threading.Thread | None = None
        self._killed = False
        self._waiting: Counter[Hashable] = Counter()
        self._busy: dict[threading.Thread, Hashable] = {}
        """The group that each thread works on."""
        self._temporary: dict[ChildProcess, str | None] = {}

    @property
    def max_workers(self) -> int:
        """How many processes there may be."""
        return self._max_workers

    def start_workers(self, calls: int) -> None:
        """Begin to start the processes for so many calls before these are there, as far as that is possible.

        In a thread: Ctrl-C, which is the main thread's, does not come between a process and the note of it.
        """
        with suppress(NoThreadError), self._lock:
            self._starting = start_daemon(partial(self._start_ahead, min(calls, self._max_workers)))
            self._threads.add(self._starting)

    def kill(self) -> None:
        """Cancel what waits and end every worker now: NVRTC cannot be interrupted."""
        with self._lock:
            self._killed = True
            for worker in self._workers:
                worker.kill()
        self.shutdown(cancel_futures=True)
        for worker in [*self._workers]:  # also those that nobody has taken
            self._end(worker)

    def _start_ahead(self, count: int) -> None:
        with suppress(OSError, ChildDiedError):
            for _ in range(count):
                self._started.append(self._start())
        self._done()

    def _work(self) -> None:
        """Do what there is to do, in one worker as long as it lives."""
        worker = None
        while (found := self._next_call()) is not None:
            future, call = found
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = _begin(call)
                if result is None:
                    worker = worker or self._take()
                    self._announce(call)
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
        if not self._busy:
            self._end_started()
        self._done()

    def _added(self, call: Call) -> None:
        self._waiting[_group(call)] += 1

    def _next_call(self) -> tuple[Future[Any], Call] | None:
        with self._lock:
            mine = self._busy.pop(threading.current_thread(), None)
            if not self._calls:
                self._active -= 1
                return None
            position = self._choose(mine)
            found = self._calls[position]
            del self._calls[position]
            group = self._busy[threading.current_thread()] = _group(found[1])
            self._waiting[group] -= 1
            return found

    def _choose(self, mine: Hashable) -> int:
        """Return which call comes next: of the group that was worked on, of one that nobody does, of the largest."""
        if mine is not None and self._waiting[mine]:
            return self._first({mine})
        taken = {*self._busy.values()} - {None}
        if any(waits for group, waits in self._waiting.items() if group not in taken):
            return self._first(self._waiting.keys() - taken)
        return self._first({max(taken, key=lambda group: self._waiting[group])})

    def _first(self, groups: AbstractSet[Hashable]) -> int:
        return next(position for position, (_, call) in enumerate(self._calls) if _group(call) in groups)

    def _announce(self, call: Call) -> None:
        group = _group(call)
        if group is not None:
            with self._lock:
                alike = self._waiting[group] + 1
                sharing = sum(other == group for other in self._busy.values())
            call[1][0].announce(alike // sharing)

    def _take(self) -> ChildProcess:
        if self._starting is not None:
            self._starting.join()
        with self._lock:
            started = self._started.pop() if self._started else None
        return started or self._start()

    def _start(self) -> ChildProcess:
        with self._lock:
            if self._killed:
                raise ChildDiedError
            folder = None
            with suppress(OSError):  # there may be no place for temporary files at all
                folder = mkdtemp(prefix="hatch-cuda-kernels-")
            worker = ChildProcess(temporary=folder)
            self._temporary[worker] = folder
            self._workers.add(worker)
            return worker

    def _end(self, worker: ChildProcess | None) -> None:
        if worker is None:
            return
        with worker:
            pass
        with self._lock:
            self._workers.discard(worker)
            folder = self._temporary.pop(worker, None)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def _end_started(self) -> None:
        """End the processes that got nothing to do."""
        while self._started:
            with suppress(IndexError):  # another thread was faster
                self._end(self._started.pop())


def _begin(call: Call) -> Any:  # whatever a worker would return
    _, args, _ = call
    return args[0].begin() if args and hasattr(args[0], "begin") else None


def _group(call: Call) -> Hashable:
    """Return the group of a call; None for none."""
    _, args, _ = call
    return getattr(args[0], "group", None) if args else None
