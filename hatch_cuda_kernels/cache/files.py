"""Files as the cache needs them: never through a symbolic link, private, and patient where Windows is not.

On Windows another process (a virus scanner, too) that has a file open makes renames and reads fail for a moment with a
sharing violation, and paths beyond 260 characters need a prefix (Microsoft: "Naming Files, Paths, and Namespaces").
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from hatch_cuda_kernels.cache.entry import BadEntryError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["long_path", "read_file", "rename", "write_file"]

#: A constant, so that tests can be Windows for a moment.
IS_WINDOWS = sys.platform == "win32"
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_BINARY: Final = getattr(os, "O_BINARY", 0)
_ATTEMPTS: Final = 8
_FIRST_PAUSE: Final = 0.005
_LONGEST_PLAIN: Final = 240

T = TypeVar("T")


def read_file(path: Path) -> bytes:
    """Return a regular file's bytes. Raises BadEntryError for a symbolic link or anything else, else OSError."""
    try:
        descriptor = _patiently(lambda: os.open(long_path(path), os.O_RDONLY | _NO_FOLLOW | _BINARY))
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise BadEntryError(f"{path.name} is a symbolic link") from error
        raise
    with open(descriptor, "rb") as file:  # noqa: PTH123 - from a descriptor
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise BadEntryError(f"{path.name} is not a regular file")
        return file.read()


def write_file(path: Path, data: bytes) -> None:
    """Write a new file that only its owner may read."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | _BINARY
    with open(os.open(long_path(path), flags, 0o600), "wb") as file:  # noqa: PTH123 - from a descriptor
        file.write(data)


def rename(source: Path, target: Path) -> None:
    """Rename a folder to a place where nothing is."""
    _patiently(lambda: long_path(source).rename(long_path(target)))


def long_path(path: Path) -> Path:
    """Return the path with the prefix that lifts Windows' limit of 260 characters, where it is needed."""
    text = str(path)
    if not IS_WINDOWS or len(text) < _LONGEST_PLAIN or text.startswith("\\\\"):
        return path
    return Path(f"\\\\?\\{text}")


def _patiently(action: Callable[[], T]) -> T:
    """Do it; on Windows, again for a little over half a second while somebody else has the file open."""
    pause = _FIRST_PAUSE
    for _ in range(_ATTEMPTS - 1 if IS_WINDOWS else 0):
        try:
            return action()
        except PermissionError:
            time.sleep(pause)
            pause *= 2
    return action()
