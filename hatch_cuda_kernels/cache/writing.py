"""What changes a folder: new files and folders, renames and removals, by bare names in an open ``Folder``.

Files are always created anew, private to their owner; nothing is written into a file that was there before.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

from hatch_cuda_kernels.cache.files import BINARY, NO_FOLLOW, patiently
from hatch_cuda_kernels.cache.trust import check_way

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.cache.files import Folder

__all__ = ["made", "make_folder", "move", "remove", "replace", "unique_name", "write"]


def make_folder(path: Path) -> None:
    """Make a cache's folder, and missing parents, so that only its owner may enter them, whatever the umask.

    Raises DistrustedError if another user could put something else in its place, and OSError.
    """
    check_way(str(path), shared=False)
    try:
        path.mkdir(mode=0o700)
    except FileNotFoundError:
        make_folder(path.parent)
        check_way(str(path), shared=False)  # somebody else may have made the parent just before
        path.mkdir(mode=0o700, exist_ok=True)
    except FileExistsError:
        if not path.is_dir():
            raise


def made(folder: Folder, name: str) -> Folder:
    """Open a folder in another, after making it if it is missing. Raises OSError, as ``Folder.folder`` does."""
    with contextlib.suppress(FileNotFoundError):
        return folder.folder(name)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder.at(name), 0o700, dir_fd=folder.descriptor)
    return folder.folder(name)


def write(folder: Folder, name: str, data: bytes) -> None:
    """Write a new file. Raises FileExistsError if there is anything of that name, and OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW | BINARY
    descriptor = os.open(folder.at(name), flags, 0o600, dir_fd=folder.descriptor)
    with open(descriptor, "wb") as file:  # noqa: PTH123 - from a descriptor
        file.write(data)


def replace(folder: Folder, name: str, data: bytes, staging: Folder) -> None:
    """Write a file that may exist: in the folder ``staging``, and renamed over the other. Raises OSError."""
    staged = unique_name(name)
    try:
        write(staging, staged, data)
        move(staging, staged, folder, name, over=True)
    except OSError:
        remove(staging, staged)
        raise


def move(source: Folder, name: str, target: Folder, new: str, *, over: bool = False) -> None:
    """Rename to a place where nothing is, or ``over`` a file. Raises OSError."""
    rename = os.replace if over else os.rename  # they differ on Windows only
    patiently(
        lambda: rename(source.at(name), target.at(new), src_dir_fd=source.descriptor, dst_dir_fd=target.descriptor)
    )


def remove(folder: Folder, name: str) -> None:
    """Remove a file, a symbolic link or a folder with all that is in it, as far as possible; raises nothing."""
    with contextlib.suppress(OSError):
        if not stat.S_ISDIR(folder.status(name).st_mode):
            os.unlink(folder.at(name), dir_fd=folder.descriptor)
            return
        import shutil  # only removals need it

        shutil.rmtree(folder.at(name), ignore_errors=True, dir_fd=folder.descriptor)


def unique_name(stem: str) -> str:
    """Return a name that nobody can predict, and that no other process uses, on this host or another."""
    return f"{stem}.{os.getpid()}.{os.urandom(6).hex()}"
