"""Python's garbage collector: off while sources are read or modules imported, which make much and drop little."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

#: What holds one item for each of those that have turned the collector off.
_off: list[object] = []


@contextmanager
def uncollected() -> Iterator[None]:
    """Let nobody look for garbage meanwhile: millions of tokens are made, and few of them are in circles.

    It is off for all threads, so a body should not wait long for others: for locks, programs or drivers.
    """
    mine = object()
    try:  # a signal may raise KeyboardInterrupt after any call
        if gc.isenabled():
            _off.append(mine)  # first: a child may be forked after any call, too
            gc.disable()
        yield
    finally:
        if mine in _off:
            gc.enable()
            _off.remove(mine)


def _collect_in_child() -> None:
    """Turn it on in a forked child: the thread that would do so may not be there."""
    if _off:
        gc.enable()
        _off.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_collect_in_child)
