"""A child process that answers calls: pickled calls arrive at its standard input, and it writes pickled results.

This is not concurrent.futures.ProcessPoolExecutor, whose workers run the caller's main module again, and where the
death of one costs every call its result.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from hatch_cuda_kernels.threads import interruptible, start_daemon

if TYPE_CHECKING:
    from hatch_cuda_kernels.threads import Call


T = TypeVar("T")

#: Make glibc's malloc keep what a compile frees for the next one: else NVRTC returns its memory to the system and
#: takes it again at every compile, and 3 % of a build of light sources are page faults. The peak stays the same.
_MALLOC: Final = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TOP_PAD_": str(16 << 20),
}
#: With the parent's path, imports find what they find there, as in pip's build environment; advice names its command.
#: Ctrl-C is the parent's business: POSIX keeps it from another process group, also while Python starts; Windows does
#: not.
_START: Final = """\
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
import sys
_, temporary, ahead, number, *words = sys.argv
sys.argv[:], sys.path[:] = words[:int(number)], words[int(number):]
from hatch_cuda_kernels.child_process import serve
serve(temporary, ahead)
"""

#: Signals that a program causes itself.
_CRASHES: Final = frozenset({"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGTRAP", "SIGSYS"})
#: The same on Windows: an access violation, a stack overflow, an illegal instruction.
_WINDOWS: Final = {0xC0000005: "SIGSEGV", 0xC00000FD: "SIGSEGV", 0xC000001D: "SIGILL"}
_END_SECONDS: Final = 5.0

_serving = False


class ChildDiedError(Exception):
    """A child process ended before it answered: killed, out of memory, or crashed."""

    def __init__(self, ending: str = "") -> None:
        super().__init__(ending)
        self.ending = ending
        """The signal that ended it, such as SIGSEGV; empty for none."""

    @property
    def crashed(self) -> bool:
        """Whether the process crashed, and was not killed, as for lack of memory."""
        return self.ending in _CRASHES


class ChildProcess:
    """This side of one child process. Leaving its ``with`` block ends it.

    ``temporary`` is the folder of its temporary files, by default that of this process's. It goes with the process if
    this one does not live to remove it. ``ahead`` is a function that it calls before the first call is there, to load
    what that needs. Raises OSError where no process can be started.
    """

    def __init__(self, *, temporary: str | None = None, ahead: Callable[[], object] | None = None) -> None:
        arguments = getattr(sys, "argv", [])  # a program that embeds Python may have none
        first = "" if ahead is None else f"{ahead.__module__}:{ahead.__name__}"
        command = [sys.executable, "-P", "-c", _START, temporary or "", first, str(len(arguments)), *arguments]
        path = sys.path
        with contextlib.suppress(OSError):  # the working directory may have been removed, and compiles may change it
            path = [*map(os.path.abspath, sys.path)]
        command += path
        pipe, env = subprocess.PIPE, _MALLOC | os.environ | ({"TMPDIR": temporary} if temporary else {})
        self.process = subprocess.Popen(  # noqa: S603 - ourselves
            command, stdin=pipe, stdout=pipe, env=env, process_group=0
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the pipes, at which the child ends, and wait for that."""
        with contextlib.suppress(OSError), self.process:
            pass  # a pipe may be broken, with a call half written

    def kill(self) -> None:
        """End it now, with the ptxas that it may be waiting for."""
        if not hasattr(os, "killpg"):
            self.process.kill()
        elif self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # another thread has waited for its end meanwhile
                os.killpg(self.process.pid, signal.SIGKILL)

    def call(self, call: Call) -> Any:  # whatever the function returns
        """Return what a call returned there, or raise what it raised. Raises ChildDiedError."""
        send, receive = self.process.stdin, self.process.stdout
        if send is None or receive is None:  # for mypy: both are pipes
            raise ChildDiedError
        import pickle  # few processes have a child

        data = pickle.dumps(call)
        try:
            send.write(data)
            send.flush()
            done, outcome = pickle.load(receive)  # noqa: S301 - from our own process
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise ChildDiedError(self._ending()) from error
        if not done:
            raise outcome
        return outcome

    def _ending(self) -> str:
        """Return the signal that ended the process; empty for none, and while it has not ended."""
        try:
            status = self.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return ""
        with contextlib.suppress(ValueError):  # a real-time signal
            return signal.Signals(-status).name if status < 0 else _WINDOWS.get(status, "")
        return ""


def call_in_child(function: Callable[..., T], *args: object, **kwargs: object) -> T:
    """Call a module's function in a new child process, and return what it returns or raise what it raises.

    Ctrl-C in the main thread ends the wait at once. Raises ChildDiedError if the process ended before it answered, and
    OSError where none can be started.
    """

    def call() -> T:
        with ChildProcess() as child:
            return child.call((function, args, kwargs))  # type: ignore[no-any-return]  # it crossed a pipe

    return interruptible(call)


def is_child() -> bool:
    """Return whether this process is such a child, which runs nothing but calls."""
    return _serving


def serve(temporary: str, ahead: str) -> None:
    """Answer calls in the order they come, in the child process. What they print goes to standard error.

    ``temporary`` is a folder that goes with the parent, if there is one. ``ahead`` is ``MODULE:FUNCTION``, or empty.
    """
    global _serving  # noqa: PLW0603 - a fact about the process
    _serving = True
    import pickle

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    calls: SimpleQueue[Call] = SimpleQueue()

    def answer() -> None:
        if ahead:
            module, _, name = ahead.partition(":")
            with contextlib.suppress(Exception):  # a call that needs it says what is wrong
                getattr(import_module(module), name)()
        while True:
            function, args, kwargs = calls.get()
            try:
                outcome = True, function(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - raised again on the other side
                outcome = False, error
            pickle.dump(outcome, answers)
            answers.flush()

    start_daemon(answer)  # with the same stack as for compiles elsewhere

    try:  # the input ends when the parent ends, for whatever reason
        while True:
            calls.put(pickle.load(sys.stdin.buffer))  # noqa: S301 - from our own parent
    finally:
        if temporary:
            shutil.rmtree(temporary, ignore_errors=True)
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():  # with the ptxas that runs for this process
            os.killpg(0, signal.SIGKILL)
        os._exit(1)
