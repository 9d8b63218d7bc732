"""Files as the cache needs them: never through a symbolic link, private, and patient where Windows is not.

On Windows another process (a virus scanner, too) that has a file open makes renames and reads fail for a moment with a
sharing violation, and paths beyond 260 characters need a prefix (Microsoft: "Naming Files, Paths, and Namespaces").
"""

from __future__ import annotations

import contextlib
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

__all__ = [
    "list_folder",
    "long_path",
    "make_folder",
    "read_file",
    "remove_tree",
    "rename",
    "replace_file",
    "unique_name",
    "write_file",
]

#: A constant, so that tests can be Windows for a moment.
IS_WINDOWS = sys.platform == "win32"
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
#: A pipe in a file's place must not hold the reader up.
_NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0)
_BINARY: Final = getattr(os, "O_BINARY", 0)
_ATTEMPTS: Final = 8
_FIRST_PAUSE: Final = 0.005
_PREFIX: Final = "\\\\?\\"
#: Inside a cache, paths are up to 90 characters longer.
_LONGEST_PLAIN: Final = 150

T = TypeVar("T")


def read_file(path: Path) -> bytes:
    """Return a regular file's bytes. Raises BadEntryError for a symbolic link or anything else, else OSError."""
    try:
        descriptor = _patiently(lambda: os.open(path, os.O_RDONLY | _NO_FOLLOW | _NO_WAIT | _BINARY))
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise BadEntryError(f"{path.name} is a symbolic link") from error
        raise
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise BadEntryError(f"{path.name} is not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def write_file(path: Path, data: bytes) -> None:
    """Write a new file that only its owner may read."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | _BINARY
    with open(os.open(path, flags, 0o600), "wb") as file:  # noqa: PTH123 - from a descriptor
        file.write(data)


def replace_file(path: Path, data: bytes, staging: Path) -> None:
    """Write a file of a name that may be taken: beside, in the folder ``staging``, and renamed over it."""
    make_folder(staging)
    staged = staging / unique_name(path.name)
    try:
        write_file(staged, data)
        _patiently(lambda: staged.replace(path))
    except OSError:
        remove_tree(staged)
        raise


def make_folder(path: Path) -> None:
    """Make a folder that only its owner may enter, whatever the umask, and missing parents alike."""
    try:
        path.mkdir(mode=0o700)
    except FileNotFoundError:
        make_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
    except FileExistsError:
        if not path.is_dir():
            raise


def rename(source: Path, target: Path) -> None:
    """Rename a folder to a place where nothing is."""
    _patiently(lambda: source.rename(target))


def remove_tree(path: Path) -> None:
    """Remove a file, a symbolic link or a folder with all that is in it, as far as that is possible."""
    if path.is_dir() and not path.is_symlink():
        import shutil  # a read needs none of it

        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def list_folder(path: str | Path) -> list[os.DirEntry[str]]:
    """Return what is in a folder; nothing where it is gone, no folder, or not for us to read."""
    try:
        with os.scandir(path) as found:
            return list(found)
    except OSError:
        return []


def unique_name(stem: str) -> str:
    """Return a name that no other process, on this host or another, takes."""
    return f"{stem}.{os.getpid()}.{os.urandom(6).hex()}"


def long_path(path: Path) -> Path:
    """Return a cache's folder so that what is in it is not beyond Windows' limit of 260 characters: with a prefix."""
    text = str(path)
    if not IS_WINDOWS or len(text) <= _LONGEST_PLAIN or text.startswith(_PREFIX):
        return path
    return Path(f"{_PREFIX}UNC\\{text[2:]}" if text.startswith("\\\\") else f"{_PREFIX}{text}")


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
