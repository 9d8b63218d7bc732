"""Python's garbage collector, while sources are read; a rebuild, which reads none, loads this too."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Let nobody look for garbage meanwhile: millions of tokens are made, and few of them are in circles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
