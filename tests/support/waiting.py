"""Waiting for events, never for a time: what a test proves must not depend on how busy the machine is."""

from __future__ import annotations

import time
from contextlib import contextmanager

from hatch_cuda_kernels.cache.publishing import Once

__all__ = ["HANG_SECONDS", "on_turn", "wait_until"]

#: Whoever waits this long has found a hang, on a machine under any load.
HANG_SECONDS = 300.0


def wait_until(true):
    """Wait until a condition holds. Fails where it never does."""
    end = time.monotonic() + HANG_SECONDS
    while not true():
        assert time.monotonic() < end, f"hangs: still false after {HANG_SECONDS:.0f} s"
        time.sleep(0.005)


@contextmanager
def on_turn(call):
    """Call a function whenever a thread has missed a key and is about to wait for its turn to make the image."""
    turn = Once.turn

    def noted(self, key, ready):
        call()
        return turn(self, key, ready)

    Once.turn = noted  # not by unittest.mock: it imports asyncio and ssl, half of what another process imports
    try:
        yield
    finally:
        Once.turn = turn
