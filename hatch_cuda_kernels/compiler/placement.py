"""Compiles whose image shows where they ran, run at the same place everywhere: equal jobs must give equal images.

NVRTC writes its working directory into LTO-IR and into debug information, whatever the program is called, and into line
numbers where ``#line`` names a file. So ``/`` is the working directory. A process that does nothing but compile goes
there for the compile. On Linux a thread can have its own directory (unshare(2), CLONE_FS), which disturbs nobody;
elsewhere another process has to do.

The folders of the toolkit's headers are written, too. On Linux they have the names of open descriptors, which are the
same in every process. What assembles looks for the named files (see ``output.line_tables``): only NVRTC itself finds
them.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from hatch_cuda_kernels.child_process import call_in_child, is_child
from hatch_cuda_kernels.threads import wait_for_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


T = TypeVar("T")

_CLONE_FS: Final = 0x200


#: The first folder's descriptor; few processes have so many, and fewer processes may have no more.
_FIRST: Final = 200
_DESCRIPTORS: Final = "/proc/self/fd"
_FOLDER: Final = "-I"
_SHOWING: Final = frozenset({"-G", "-dlto", "-lineinfo"})

#: Held while folders have descriptors, and by those that must not find any.
without_descriptors: Final = threading.Lock()


def shows_place(flags: Sequence[str]) -> bool:
    """Return whether the working directory, and the folders of headers, can be in what NVRTC makes with these flags."""
    return not _SHOWING.isdisjoint(flags)


def call_at_root(function: Callable[[Any], T], argument: object, flags: Sequence[str] = ()) -> T:
    """Return what a module's function returns, called with ``/`` as its working directory; raise what it raises.

    There, the folders of NVRTC's flags can have descriptors.
    """
    if is_child():
        return _in_process(function, argument)
    if _threads_can_move() and _numbers_are_free(len(_folders(flags))):
        return _in_thread(function, argument)
    made: T = call_in_child(_in_process, function, argument)
    return made


class Placed(NamedTuple):
    """NVRTC's flags with names of folders that are the same everywhere."""

    flags: tuple[str, ...]
    folders: dict[str, str]
    """What the names stand for."""

    def as_installed(self, text: str) -> str:
        """Return a text in which folders have their own names again."""
        for name, folder in self.folders.items():
            text = text.replace(f"{name}/", f"{folder}/")
        return text


@contextmanager
def with_descriptors(flags: Sequence[str]) -> Iterator[Placed]:
    """Yield flags in which folders have descriptors, as far as that is possible; they are last, as they were."""
    folders = _folders(flags)
    names: dict[str, str] = {}
    with ExitStack() as stack:
        if folders:
            stack.enter_context(without_descriptors)
        for number, folder in enumerate(folders, _FIRST):
            names[_opened(folder, number, stack) or folder] = folder
        rest = [flag for flag in flags if not flag.startswith(_FOLDER)]
        yield Placed((*rest, *(f"{_FOLDER}{name}" for name in names)), names)


def _folders(flags: Sequence[str]) -> list[str]:
    return [flag.removeprefix(_FOLDER) for flag in flags if flag.startswith(_FOLDER)]


def _numbers_are_free(count: int) -> bool:
    if not count or not os.path.isdir(_DESCRIPTORS):  # noqa: PTH112 - a string
        return True
    if not without_descriptors.acquire(blocking=False):
        return True  # they are used for the same, and will be closed
    try:
        return not any(os.path.exists(f"{_DESCRIPTORS}/{_FIRST + number}") for number in range(count))  # noqa: PTH110
    finally:
        without_descriptors.release()


def _opened(folder: str, number: int, stack: ExitStack) -> str | None:
    """Open a folder under a number and return the name of the descriptor, which the stack closes; None for failure."""
    with suppress(OSError):
        if fcntl is not None and os.path.isdir(_DESCRIPTORS):  # noqa: PTH112
            opened = os.open(folder, os.O_RDONLY)
            try:
                found = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, number)
            finally:
                os.close(opened)
            stack.callback(os.close, found)
            return f"{_DESCRIPTORS}/{number}" if found == number else None  # or somebody else was faster
    return None


@cache
def _threads_can_move() -> bool:
    """Return whether a thread may have its own working directory here; a sandbox may forbid it."""
    return wait_for_thread(_move)


def _move() -> bool:
    """Give the calling thread its own working directory, ``/``."""
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
