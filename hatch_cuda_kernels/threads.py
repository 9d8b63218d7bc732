"""Threads for work that nothing can interrupt, such as a compile: neither Ctrl-C nor Python's exit waits for it.

They are daemon threads. Python's own exit copes with them, but the C library then destroys what a compiler still uses,
which would crash the process. So while one of them works, the process ends before that.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    Call: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]

T = TypeVar("T")

#: As much as a main thread may have at most, usually; a thread has 8 MiB, or 2 MiB where the limit is ``unlimited``,
#: and NVRTC's front end, which recurses, crashes beyond. It is address space: only what is used takes memory.
_STACK_BYTES: Final = 64 << 20
#: Python looks for signals this often while it waits: one that comes just before a wait does not end it, and none does
#: where another library has made the system resume waits after a signal.
TICK_SECONDS: Final = 0.05

_starting: Final = threading.Lock()
_working: Final[set[threading.Thread]] = set()


class NoThreadError(RuntimeError):
    """No thread can be started: too many are running, or the interpreter is exiting."""


def interruptible(work: Callable[[], T], meanwhile: Callable[[], None] | None = None) -> T:
    """Return what ``work`` returns, or raise what it raises; Ctrl-C in the main thread ends the wait for it at once.

    The work then goes on in its thread, and its outcome is dropped. If no thread can be started, it is done here.
    ``meanwhile`` is done here while a thread works; where none does, it is left out.
    """
    thread = threading.current_thread()
    # Where Ctrl-C means nothing: it is ignored, as in a worker, or this is one of these threads.
    ignored = thread is threading.main_thread() and not callable(signal.getsignal(signal.SIGINT))
    try:
        return work() if ignored or thread in _working else wait_for_thread(work, meanwhile)
    except NoThreadError:
        return work()


def wait_for_thread(work: Callable[[], T], meanwhile: Callable[[], None] | None = None) -> T:
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
    if meanwhile is not None:
        meanwhile()
    while thread.is_alive():
        thread.join(TICK_SECONDS)
    if errors:
        raise errors[0]
    # A handler of a signal may have forked: then the thread is not in this process.
    return results[0] if results else wait_for_thread(work)


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


class Ahead(Generic[T]):
    """Work that can begin in a thread, before anybody needs what it gives."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work: Final = work
        self._thread: threading.Thread | None = None
        self._results: Final[list[T]] = []

    def begin(self) -> None:
        """Begin, the first time, if there can be a thread."""
        if self._thread is None:
            with suppress(NoThreadError):
                self._thread = start_daemon(self._run)

    def _run(self) -> None:
        with suppress(Exception):  # it comes again where the outcome is needed
            self._results.append(self._work())

    def wait(self) -> None:
        """Wait for the thread, if there is one."""
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(TICK_SECONDS)

    def get(self) -> T:
        """Return what the work gives, which is done here if it was not. Raises what it raises."""
        self.wait()
        return self._results[0] if self._results else self._work()


@atexit.register
def _end_before_destructors() -> None:
    """Let the process end before the C library's exit handlers run, if one of the threads still works.

    By then Python has called its own handlers and written its files, and the status is known. glibc's functions are
    registered themselves, because no Python runs that late: the last is called first, and does to C's files what an
    exit does. Windows itself stops the threads first.
    """
    if any(thread.is_alive() for thread in [*_working]) and hasattr(libc := ctypes.CDLL(None), "on_exit"):
        libc.on_exit(libc._exit, None)  # noqa: SLF001 - C's name
        libc.on_exit(libc.fcloseall, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_starting.acquire, after_in_parent=_starting.release, after_in_child=_starting.release)


#: More than a ``struct sigaction`` has on any system.
_ACTION_BYTES: Final = 512
_PAUSE_SECONDS: Final = 0.001


@contextmanager
def keep_sigint_handler() -> Iterator[None]:
    """Keep Python's handler of SIGINT while NVRTC compiles for the first time in this process.

    Before 13.5, NVRTC ignores SIGINT for a moment, which drops one that is pending, sets its own handler until the
    first front end has finished, and then restores Python's so that the system resumes a wait after a signal: Ctrl-C
    would not end a ``join`` or ``result``. This thread gets the signal afterwards: another one takes it meanwhile. The
    others, which may get it instead, find Python's handler again at once. Windows is not affected.
    """
    if not hasattr(signal, "pthread_sigmask") or not callable(signal.getsignal(signal.SIGINT)):
        yield
        return
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    libc, action, done = ctypes.CDLL(None), ctypes.create_string_buffer(_ACTION_BYTES), threading.Event()
    libc.sigaction(signal.SIGINT, None, action)
    taken: list[object] = []

    def keep() -> None:
        while not done.is_set():
            if not hasattr(signal, "sigtimedwait"):  # on macOS
                done.wait(_PAUSE_SECONDS)
            # Python returns memory that nobody wrote where another signal, a debugger or a freezer ends the wait.
            elif (found := signal.sigtimedwait({signal.SIGINT}, _PAUSE_SECONDS)) and found.si_signo == signal.SIGINT:
                taken.append(found)
            libc.sigaction(signal.SIGINT, action, None)

    keeper = threading.Thread(target=keep, daemon=True)
    try:
        with suppress(RuntimeError):  # from Python 3.12 on, none can be started while Python exits
            keeper.start()
        yield
    finally:
        done.set()
        if keeper.is_alive():
            keeper.join()
        libc.sigaction(signal.SIGINT, action, None)
        signal.siginterrupt(signal.SIGINT, True)  # also where another library was the first to use NVRTC
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if taken:
            os.kill(os.getpid(), signal.SIGINT)


def leave_ctrl_c() -> None:
    """Let this thread, and the processes it starts, get no SIGINT from now on: it is then for another thread.

    While NVRTC has its own handler (see ``keep_sigint_handler``), a thread that starts processes would meet it, since
    Python's is not restored meanwhile.
    """
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
