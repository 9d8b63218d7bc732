"""Folders for what is not finished yet. A process that is killed leaves its own, and the next one removes it."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.cache.files import open_unchecked
from hatch_cuda_kernels.cache.locks import held
from hatch_cuda_kernels.cache.writing import remove

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

__all__ = ["sweep", "temporary_workspace", "workspace"]

_LOCK: Final = "lock"
_LOCK_SECONDS: Final = 2.0
#: No other temporary folder's name begins so: those of workers and of ptxas have no lock, and are empty at first.
_TEMPORARY: Final = "hatch-cuda-kernels.build-"


@contextmanager
def workspace(parent: Path, prefix: str) -> Iterator[Path]:
    """Yield a new folder in ``parent``, which is removed at the end, and remove those that dead processes left.

    A living process holds a lock in its folder; the system releases it however the process ends.
    """
    sweep(parent, prefix)
    with ExitStack() as stack:
        yield _claim(parent, prefix, stack)


def temporary_workspace() -> AbstractContextManager[Path]:
    """Return such a folder among the system's temporary ones."""
    return workspace(Path(tempfile.gettempdir()), _TEMPORARY)


def sweep(parent: Path, prefix: str, *, rescue: Callable[[Path], None] = lambda _: None) -> None:
    """Remove the folders of that prefix that dead processes left, each after it was given to ``rescue``."""
    for folder in parent.glob(f"{escape(prefix)}*"):
        if not _is_ours(folder):
            continue
        if not (folder / _LOCK).is_file():
            with suppress(OSError):  # with anything in it, it is not ours; empty, its process was killed at once
                folder.rmdir()
            continue
        try:
            opened = open_unchecked(folder)
        except OSError:  # removed meanwhile
            continue
        with opened, held(opened, _LOCK, 0.0) as dead:
            if dead:
                rescue(folder)
                _remove(folder)
        if dead:  # Windows keeps the lock's file until it is released
            _remove(folder)


def _claim(parent: Path, prefix: str, stack: ExitStack) -> Path:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        stack.callback(_remove, folder)
        with suppress(FileNotFoundError), open_unchecked(folder) as opened:
            stack.enter_context(held(opened, _LOCK, _LOCK_SECONDS))
        if folder.is_dir():  # else another process took it for a dead one's, before it was locked
            return folder


def _remove(folder: Path) -> None:
    """Remove a folder, its lock last, so that the next process removes what is left if this one is killed meanwhile."""
    with suppress(OSError), open_unchecked(folder) as opened:
        for name in opened.names():
            if name != _LOCK:
                remove(opened, name)
    shutil.rmtree(folder, ignore_errors=True)


def _is_ours(folder: Path) -> bool:
    """Tell our own folders from what others put into a shared temporary folder."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return folder.is_dir() and not folder.is_symlink() and (not hasattr(os, "getuid") or found.st_uid == os.getuid())
