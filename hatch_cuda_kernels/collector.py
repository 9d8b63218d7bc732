"""Python's garbage collector: off while sources are read or modules imported, which make much and drop little."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

#: What holds one item while the collector is off because of this module.
_off: list[None] = []


@contextmanager
def uncollected() -> Iterator[None]:
    """Let nobody look for garbage meanwhile: millions of tokens are made, and few of them are in circles."""
    was_enabled = gc.isenabled()
    if was_enabled:
        gc.disable()
        _off.append(None)
    try:
        yield
    finally:
        if was_enabled:
            _collect_again()


def _collect_again() -> None:
    """Undo it, also in a forked child: the thread that would do so may not be there."""
    if _off:
        _off.clear()
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_collect_again)
