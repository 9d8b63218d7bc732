"""Compiles that run apart, so that equal jobs give equal images.

Those whose image shows the working directory have ``/`` as theirs; those that would change later ones have a process.

NVRTC writes the directory into LTO-IR and into debug information, whatever the program is called. On Linux a thread can
have a working directory of its own (unshare(2), CLONE_FS), which disturbs nobody; elsewhere a process has to do.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from hatch_cuda_kernels.threads import wait_for_thread

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["call_at_root", "call_in_process"]

T = TypeVar("T")

_CLONE_FS: Final = 0x200
_CODE: Final = """
import pickle, sys
sys.path[:] = sys.argv[1:]
function, argument = pickle.load(sys.stdin.buffer)
try:
    outcome = True, function(argument)
except Exception as error:
    outcome = False, error
pickle.dump(outcome, sys.stdout.buffer)
"""


def call_at_root(function: Callable[[Any], T], argument: object) -> T:
    """Return what a module's function returns, called with ``/`` as its working directory; raise what it raises."""
    return _in_thread(function, argument) if _threads_can_move() else call_in_process(function, argument)


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


def _in_thread(function: Callable[[Any], T], argument: object) -> T:
    def run() -> T:
        _move()
        return function(argument)

    return wait_for_thread(run)


def call_in_process(function: Callable[[Any], T], argument: object) -> T:
    """Return what ``call_at_root`` does, from a process of its own: nothing of the call stays in this one."""
    root = Path(sys.executable).anchor
    command = [sys.executable, "-P", "-c", _CODE, *map(os.path.abspath, filter(None, sys.path))]
    done = subprocess.run(  # noqa: S603 - this interpreter
        command, input=pickle.dumps((function, argument)), stdout=subprocess.PIPE, cwd=root, check=True
    )
    returned, outcome = pickle.loads(done.stdout)  # noqa: S301 - from our own process
    if not returned:
        raise outcome
    return outcome  # type: ignore[no-any-return]
