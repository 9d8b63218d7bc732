"""Compiles whose image shows the working directory, run with ``/`` as theirs: equal jobs must give equal images.

NVRTC writes the directory into LTO-IR and into debug information, whatever the program is called, and into line numbers
where ``#line`` names a file. A process that does nothing but compile goes there for the compile. On Linux a thread can
have a working directory of its own (unshare(2), CLONE_FS), which disturbs nobody; elsewhere another process has to do.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from hatch_cuda_kernels.child_process import call_apart, is_child
from hatch_cuda_kernels.threads import wait_for_thread

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["call_at_root"]

T = TypeVar("T")

_CLONE_FS: Final = 0x200


def call_at_root(function: Callable[[Any], T], argument: object) -> T:
    """Return what a module's function returns, called with ``/`` as its working directory; raise what it raises."""
    if is_child():
        return _in_process(function, argument)
    if _threads_can_move():
        return _in_thread(function, argument)
    return call_apart(_in_process, function, argument)


@cache
def _threads_can_move() -> bool:
    """Return whether a thread may have a working directory of its own here; a sandbox may forbid it."""
    return wait_for_thread(_move)


def _move() -> bool:
    """Give the calling thread a working directory of its own, and make it ``/``."""
    if not sys.platform.startswith("linux"):
        return False
    if ctypes.CDLL(None).unshare(_CLONE_FS) != 0:
        return False
    os.chdir("/")
    return True


def _in_process(function: Callable[[Any], T], argument: object) -> T:
    before = None
    with suppress(OSError):  # it was removed meanwhile
        before = Path.cwd()
    os.chdir(Path(sys.executable).anchor)
    try:
        return function(argument)
    finally:
        if before is not None:
            os.chdir(before)


def _in_thread(function: Callable[[Any], T], argument: object) -> T:
    def run() -> T:
        _move()
        return function(argument)

    return wait_for_thread(run)
