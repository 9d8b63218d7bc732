"""Ctrl-C while NVRTC compiles for the first time in a process: its front end would end the process, with status 4."""

from __future__ import annotations

import ctypes
import signal
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["kept_handler"]

#: More than a ``struct sigaction`` has on any system.
_ACTION_BYTES: Final = 512
_PAUSE_SECONDS: Final = 0.001


@contextmanager
def kept_handler() -> Iterator[None]:
    """Keep Python's handler of SIGINT while NVRTC compiles for the first time in this process.

    Before 13.5, NVRTC sets a handler of its own until the first front end is through, and then Python's again, but so
    that the system goes on with a wait after a signal: Ctrl-C would end no ``join`` or ``result``. This thread gets the
    signal afterwards. The others, which it may go to instead, find Python's handler again at once. Windows has nothing
    like it.
    """
    if not hasattr(signal, "pthread_sigmask") or not callable(signal.getsignal(signal.SIGINT)):
        yield
        return
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    libc, action, done = ctypes.CDLL(None), ctypes.create_string_buffer(_ACTION_BYTES), threading.Event()
    libc.sigaction(signal.SIGINT, None, action)

    def keep() -> None:
        while not done.wait(_PAUSE_SECONDS):
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
