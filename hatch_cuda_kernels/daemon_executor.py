"""An executor of daemon threads: neither Ctrl-C nor Python's exit waits for what they do."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any, TypeVar

from hatch_cuda_kernels.threads import start_daemon

if TYPE_CHECKING:
    from hatch_cuda_kernels.threads import Call

T = TypeVar("T")


class DaemonThreads(Executor):
    """At most ``max_workers`` daemon threads, started when needed, ended when nothing is left to do."""

    def __init__(self, max_workers: int) -> None:
        self._max_workers = max_workers
        self._calls: deque[tuple[Future[Any], Call]] = deque()
        self._threads: set[threading.Thread] = set()
        self._active = 0
        """Threads that will look for a call again; the others are ending."""
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:  # Executor's
        """Call a function in a thread when its turn comes. Raises RuntimeError after a shutdown."""
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if self._active < self._max_workers:
                self._threads.add(start_daemon(self._work))
                self._active += 1
            self._calls.append((future, (fn, args, kwargs)))
            self._added((fn, args, kwargs))
        return future

    def _added(self, call: Call) -> None:
        """Take notice of a call that waits now. The lock is held."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls; wait for those that are there, unless they are cancelled."""
        with self._lock:
            self._closed = True
            calls = [*self._calls] if cancel_futures else []
            threads = [*self._threads]
        for future, _ in calls:
            future.cancel()
        for thread in threads if wait else ():
            thread.join()

    def kill(self) -> None:
        """Cancel what waits, and wait for nothing."""
        self.shutdown(wait=False, cancel_futures=True)

    def _work(self) -> None:
        while (found := self._next_call()) is not None:
            future, (fn, args, kwargs) = found
            if future.set_running_or_notify_cancel():
                _settle(future, lambda: fn(*args, **kwargs))  # noqa: B023 - called before the next turn
        self._done()

    def _next_call(self) -> tuple[Future[Any], Call] | None:
        with self._lock:
            if self._calls:
                return self._calls.popleft()
            self._active -= 1
            return None

    def _done(self) -> None:
        with self._lock:
            self._threads.discard(threading.current_thread())


def _settle(future: Future[T], work: Callable[[], T]) -> None:
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 - raised where the future is asked
        future.set_exception(error)
    else:
        future.set_result(result)
