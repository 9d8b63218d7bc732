"""Folders as the cache needs them: opened once, checked for their owners, and never left through a symbolic link.

What is in an open folder is reached from there by name, so renaming a folder meanwhile changes nothing. Where the
system cannot do that (Windows), the same methods join paths. On Windows, renames and reads fail for a moment with a
sharing violation while another process, such as a virus scanner, has a file open, and paths beyond 260 characters need
a prefix (Microsoft: "Naming Files, Paths, and Namespaces").
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeVar

from hatch_cuda_kernels.cache.trust import DistrustedError, check, check_way, trusted_owners

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

__all__ = [
    "BINARY",
    "NO_FOLLOW",
    "NO_WAIT",
    "Folder",
    "long_path",
    "open_folder",
    "open_unchecked",
    "patiently",
]

#: Constants, so that tests can be Windows for a moment.
IS_WINDOWS = sys.platform == "win32"
BY_DESCRIPTOR = {os.open, os.stat, os.mkdir, os.rename, os.unlink, os.utime} <= os.supports_dir_fd
NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
#: Opening a pipe in place of a file must not block.
NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0)
BINARY: Final = getattr(os, "O_BINARY", 0)
_LIST: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
#: It is enough that a folder may be entered; it need not be readable.
_ENTER: Final = _LIST | getattr(os, "O_PATH", 0)
_ATTEMPTS: Final = 8
_FIRST_PAUSE: Final = 0.005
_PREFIX: Final = "\\\\?\\"
#: Inside a cache, paths are up to 90 characters longer.
_LONGEST_PLAIN: Final = 150

T = TypeVar("T")


class Folder:
    """An open folder, to be used in a ``with`` statement. Methods take the bare names of what is in it.

    They raise OSError: DistrustedError for what another user could have put there or could change, for symbolic links,
    and for what is neither a file nor a folder.
    """

    def __init__(self, path: str, descriptor: int | None, owners: Collection[int] | None) -> None:
        """Take over a descriptor, or None to join names to the path. Raises OSError, after closing it."""
        self.path = path
        self.descriptor = descriptor
        self._owners = owners
        try:
            check(os.fstat(descriptor) if descriptor is not None else Path(path).stat(), path, owners)
        except OSError:
            self.__exit__()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)

    def folder(self, name: str) -> Folder:
        """Open a folder. Raises OSError, DistrustedError for a symbolic link."""
        descriptor = None
        try:
            if self.descriptor is not None:
                descriptor = os.open(name, _ENTER | NO_FOLLOW, dir_fd=self.descriptor)
            elif not stat.S_ISDIR(self.status(name).st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name)
        except OSError as error:
            self._refuse_link(name, error)
            raise
        return Folder(self._path(name), descriptor, self._owners)

    def at(self, name: str) -> str:
        """Return what functions of ``os`` take for a name, together with ``descriptor`` as their ``dir_fd``."""
        return name if self.descriptor is not None else self._path(name)

    def names(self) -> list[str]:
        """Return the names of all that is there."""
        if self.descriptor is None:
            return os.listdir(self.path)  # noqa: PTH208 - as below
        descriptor = os.open(".", _LIST, dir_fd=self.descriptor)
        try:
            return os.listdir(descriptor)  # noqa: PTH208 - Path knows no descriptors
        finally:
            os.close(descriptor)

    def status(self, name: str) -> os.stat_result:
        """Return the state of what has this name; for a symbolic link, of the link."""
        return os.stat(self.at(name), dir_fd=self.descriptor, follow_symlinks=False)

    def has(self, name: str) -> bool:
        """Return whether there is anything of that name; raises nothing."""
        try:
            self.status(name)
        except OSError:
            return False
        return True

    def read(self, name: str, most: int) -> bytes:
        """Return a file's bytes, but at most one more than ``most``, so that callers see that there are more."""
        descriptor = self.open(name, os.O_RDONLY)
        try:
            size = min(os.fstat(descriptor).st_size, most + 1)
            data = os.read(descriptor, size)
            while len(data) < size and (rest := os.read(descriptor, size - len(data))):  # some network file systems
                data += rest
        finally:
            os.close(descriptor)
        return data

    def touch(self, name: str) -> None:
        """Set the modification time to now."""
        os.utime(self.at(name), dir_fd=self.descriptor, follow_symlinks=IS_WINDOWS)  # Windows cannot but follow

    def open(self, name: str, flags: int) -> int:
        """Return the descriptor of a regular file. Raises OSError, DistrustedError for one that others may write to."""
        flags |= NO_FOLLOW | NO_WAIT | BINARY
        try:
            descriptor = patiently(lambda: os.open(self.at(name), flags, 0o600, dir_fd=self.descriptor))
        except OSError as error:
            self._refuse_link(name, error)
            raise
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise DistrustedError(f"{self._path(name)} is not a regular file")
            check(found, self._path(name), self._owners)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def _refuse_link(self, name: str, error: OSError) -> None:
        """Raise DistrustedError instead of the error that systems give for a symbolic link they must not follow."""
        if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.EMLINK} and stat.S_ISLNK(self.status(name).st_mode):
            raise DistrustedError(f"{self._path(name)} is a symbolic link") from error

    def _path(self, name: str) -> str:
        return f"{self.path}{os.sep}{name}"


def open_folder(path: Path, *, shared: bool = False) -> Folder:
    """Open a cache's folder. Symbolic links may lead to it.

    Raises DistrustedError if another user could have put something into it, or another folder in its place, and
    OSError. A ``shared`` folder may belong to anybody, and everything in it to the same user.
    """
    text = str(path)
    if not check_way(text, shared=shared):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), text)
    if not BY_DESCRIPTOR:
        found = path.stat()
        if not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), text)
        return Folder(text, None, trusted_owners(found if shared else None))
    descriptor = os.open(text, _ENTER)
    return Folder(text, descriptor, trusted_owners(os.fstat(descriptor) if shared else None))


def open_unchecked(path: Path) -> Folder:
    """Open a folder, whoever owns it, but not through a symbolic link in its place. Raises OSError."""
    text = str(path)
    return Folder(text, os.open(text, _ENTER | NO_FOLLOW) if BY_DESCRIPTOR else None, None)


def long_path(path: Path) -> Path:
    """Return a cache's folder with the prefix that lifts Windows' limit of 260 characters, if paths in it need that."""
    text = str(path)
    if not IS_WINDOWS or len(text) <= _LONGEST_PLAIN or text.startswith(_PREFIX):
        return path
    return Path(f"{_PREFIX}UNC\\{text[2:]}" if text.startswith("\\\\") else f"{_PREFIX}{text}")


def patiently(action: Callable[[], T]) -> T:
    """Run an action; on Windows, retry it for a little over half a second while another process has the file open."""
    pause = _FIRST_PAUSE
    for _ in range(_ATTEMPTS - 1 if IS_WINDOWS else 0):
        try:
            return action()
        except PermissionError:
            time.sleep(pause)
            pause *= 2
    return action()
