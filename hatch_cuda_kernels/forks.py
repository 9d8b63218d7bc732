"""Forked processes: what a parent's compilers hold is held in the child for ever, so that it compiles in a new process.

NVRTC has one lock for all compiles of a process. A child that is forked while another thread of its parent compiles
inherits that lock, locked. Nothing unlocks it, and nothing tells.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from hatch_cuda_kernels.errors import ToolchainError

P = ParamSpec("P")
T = TypeVar("T")

#: The compilers' libraries that this process has loaded, and those that were in the process it was forked from.
_loaded: Final[set[str]] = set()
_inherited: Final[set[str]] = set()
#: Held while a library is loaded: a child of that moment would have half of it, and of what the loader knows.
_loading: Final = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _inherited.update(_loaded))
    os.register_at_fork(before=_loading.acquire, after_in_parent=_loading.release, after_in_child=_loading.release)


class InheritedError(ToolchainError):
    """A compiler was loaded in the process that this one was forked from: its locks may be held here for ever."""

    def __init__(self, reason: object = "") -> None:
        message = "a process that was forked after its parent had loaded a compiler needs another process to compile in"
        fix = 'start it by spawn instead, as by multiprocessing.get_context("spawn")'
        super().__init__(f"{message}, which was not to be had ({reason})" if reason else message, fix)


def use_compiler(library: str) -> None:
    """Note that this process has loaded a compiler's library. Raises InheritedError if it has inherited any."""
    if _inherited:
        raise InheritedError
    _loaded.add(library)


def load_library(path: str) -> None:
    """Load a library, so that who asks for its name later gets this file. Raises OSError.

    Python goes on meanwhile, as it would not with ctypes alone: NVRTC has 100 MB, and a first compile imports much.
    """
    if sys.platform != "win32":
        with _loading:
            ctypes.CDLL(None).dlopen(os.fsencode(path), os.RTLD_NOW | os.RTLD_GLOBAL)
    ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)  # it is there by now, or this says what is wrong


def spawn_if_forked(function: Callable[P, T]) -> Callable[P, T]:
    """Return a module's function that runs in a process of its own where compilers were inherited.

    It raises InheritedError if there can be no such process.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if not _inherited:
            with suppress(InheritedError):  # a handler of a signal has forked meanwhile
                return function(*args, **kwargs)
        from hatch_cuda_kernels.child_process import ChildDiedError, call_in_child  # few processes are forked

        try:
            return call_in_child(call, *args, **kwargs)
        except (ChildDiedError, OSError) as error:
            raise InheritedError(error) from error

    return call
