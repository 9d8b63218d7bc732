"""Threads for work that nothing can interrupt, such as a compile: neither Ctrl-C nor Python's exit waits for it.

They are daemon threads. Python's own exit copes with those, but the C library then destroys what a compiler still uses,
and the process would crash; so while one works, the process ends before that.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import threading
from contextvars import copy_context
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TICK_SECONDS", "NoThreadError", "interruptible", "start_daemon", "wait_for_thread"]

T = TypeVar("T")

#: As much as a main thread may have at most, usually; a thread has 8 MiB, or 2 MiB where the limit is ``unlimited``,
#: and NVRTC's front end, which recurses, crashes beyond. It is address space: only what is used takes memory.
_STACK_BYTES: Final = 64 << 20
#: Python looks for signals this often while it waits: one that comes just before a wait does not end it, and none does
#: where another library has told the system to go on with waits after a signal.
TICK_SECONDS: Final = 0.05

_starting: Final = threading.Lock()
_working: Final[set[threading.Thread]] = set()


class NoThreadError(RuntimeError):
    """No thread can be started: too many are running, or the interpreter is exiting."""


def interruptible(work: Callable[[], T]) -> T:
    """Return what ``work`` returns, or raise what it raises; Ctrl-C in the main thread ends the wait for it at once.

    The work then goes on in its thread, and its outcome is dropped. Where no thread can be started, it is done here.
    """
    try:
        return work() if _gets_no_signal() else wait_for_thread(work)
    except NoThreadError:
        return work()


def _gets_no_signal() -> bool:
    """Return whether Ctrl-C means nothing here: in one of these threads, or where it is ignored, as in a worker."""
    thread = threading.current_thread()
    ignored = thread is threading.main_thread() and not callable(signal.getsignal(signal.SIGINT))
    return ignored or thread in _working


def wait_for_thread(work: Callable[[], T]) -> T:
    """Do the same as ``interruptible``, in a new thread or not at all. Raises NoThreadError."""
    results: list[T] = []
    errors: list[BaseException] = []
    context = copy_context()  # what is under way here is under way there, see reentry.py

    def run() -> None:
        try:
            results.append(context.run(work))
        except BaseException as error:  # noqa: BLE001 - raised again where it was asked for
            errors.append(error)

    thread = start_daemon(run)
    while thread.is_alive():
        thread.join(TICK_SECONDS)
    if errors:
        raise errors[0]
    return results[0]


def start_daemon(work: Callable[[], None]) -> threading.Thread:
    """Start a daemon thread that the exit knows of while it works. Raises NoThreadError."""

    def run() -> None:
        try:
            work()
        finally:
            _working.discard(thread)

    thread = threading.Thread(target=run, name="hatch-cuda-kernels", daemon=True)
    with _starting:
        usual = threading.stack_size(_STACK_BYTES)
        try:
            _working.add(thread)
            thread.start()
        except RuntimeError as error:
            _working.discard(thread)
            raise NoThreadError(str(error)) from error
        finally:
            threading.stack_size(usual)
    return thread


@atexit.register
def _end_before_destructors() -> None:
    """Let the process end before the C library's exit handlers run, if one of the threads still works.

    By then Python has called its own handlers and written its files, and the status is known. glibc's functions are
    registered themselves, because no Python runs that late: the last is called first, and does to C's files what an
    exit does. Windows stops the threads first by itself.
    """
    if any(thread.is_alive() for thread in [*_working]) and hasattr(libc := ctypes.CDLL(None), "on_exit"):
        libc.on_exit(libc._exit, None)  # noqa: SLF001 - C's name
        libc.on_exit(libc.fcloseall, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_starting.acquire, after_in_parent=_starting.release, after_in_child=_starting.release)
