"""Ctrl-C while NVRTC compiles in this process: its front end would end the process at once, with status 4."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["held_back", "raise_pending"]


@contextmanager
def held_back() -> Iterator[None]:
    """Hold SIGINT back from this thread and those it starts meanwhile; afterwards Python gets it, as at any time.

    Its front end has a handler of its own while it runs, process-wide. Windows has nothing like it.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def raise_pending() -> None:
    """Raise KeyboardInterrupt where a SIGINT came that is held back."""
    if hasattr(signal, "sigpending") and signal.SIGINT in signal.sigpending():
        signal.sigwait({signal.SIGINT})
        raise KeyboardInterrupt
