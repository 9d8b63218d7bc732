"""Folders as the cache needs them: opened once, checked for their owners, and never left through a symbolic link.

What is in an open folder is reached from there by name, so renaming a folder meanwhile changes nothing. If the system
cannot do that (Windows), the same methods join paths. On Windows, renames and reads fail for a moment with a sharing
violation while another process, such as a virus scanner, has a file open, and paths beyond 260 characters need a prefix
(Microsoft: "Naming Files, Paths, and Namespaces").

Nothing is read from, or written to, a place where another user could have put something, because what is in a cache
decides which code runs. ``check`` says who owns a folder or file, and who else may write to it. It takes the state of
an open descriptor, so the answer holds for what is read through it. ``check_way`` says who could replace the whole
cache by another folder. Files are always new and private to their owner; nothing is written into an existing file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final, Self, TypeVar

from hatch_cuda_kernels import environment

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
_OVERRULE: Final = f"set {environment.CACHE_TRUST}=1 to use it anyway"
_ROOT: Final = 0
_MOST_LINKS: Final = 40
#: Ways that nobody else can change. They are checked once; the others each time, because they may have been corrected.
_SAFE_WAYS: Final[set[tuple[str, bool, frozenset[int]]]] = set()


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

    Raises DistrustedError if another user could have put something into it, or another folder in its place,
    NotAFolderError, and OSError. A ``shared`` folder may belong to anybody, and everything in it to the same user.
    """
    text = str(path)
    try:
        if not check_way(text, shared=shared):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), text)
        if BY_DESCRIPTOR:
            descriptor = os.open(text, _ENTER)
            return Folder(text, descriptor, trusted_owners(os.fstat(descriptor) if shared else None))
        os.scandir(text).close()
    except NotADirectoryError as error:
        raise NotAFolderError(f"{text} is a file, not a folder, or is in a file") from error
    return Folder(text, None, trusted_owners(path.stat() if shared else None))


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


class NotAFolderError(OSError):
    """A file is where a cache's folder is stated to be."""


class DistrustedError(PermissionError):
    """Another user could have put this here, or could change it. The message says how, and what to do about it."""


def may_be_busy(error: PermissionError) -> bool:
    """Return whether an error may go away: on Windows, another process may have the file open."""
    return IS_WINDOWS and not isinstance(error, DistrustedError)


def trusted_owners(shared: os.stat_result | None = None) -> frozenset[int] | None:
    """Return whose files may be used: this user's, root's and, in a shared folder, those of its owner.

    Root may do anything already. None stands for everybody: with HATCH_CUDA_KERNELS_CACHE_TRUST=1, and on Windows,
    where the access list of the profile folder protects what is in it.
    """
    if os.environ.get(environment.CACHE_TRUST) == "1" or not hasattr(os, "geteuid"):
        return None
    own = os.geteuid()
    return frozenset((_ROOT, own, own if shared is None else shared.st_uid))


def check(found: os.stat_result, path: str, owners: Collection[int] | None) -> None:
    """Raise DistrustedError unless one of the owners has this file or folder, and nobody else may write to it.

    The sticky bit does not help: it keeps others from removing files, not from adding them. Where an access control
    list lets somebody else write, the group's bits say so.
    """
    if owners is None:
        return
    if found.st_uid not in owners:
        raise DistrustedError(f"{path} belongs to another user (uid {found.st_uid}); {_OVERRULE}")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = f"{stat.S_IMODE(found.st_mode):o}"
        fix = f"chmod go-w it if you trust what is in it, or {_OVERRULE}"
        raise DistrustedError(f"{path} can be written by other users (mode {mode}); {fix}")


def check_way(path: str, *, shared: bool) -> bool:
    """Check that no other user can put another folder in this one's place; return False if it does not exist yet.

    Others can if a name on the way to it, symbolic links included, is in a folder that everybody may write to, unless
    that folder has the sticky bit and the name belongs to this user or to root. (A ``shared`` folder may belong to
    anybody.) The owner and the group of each parent are trusted. Raises DistrustedError, and OSError for a way that
    cannot be followed.
    """
    owners = trusted_owners()
    way = path if path.startswith("/") else os.path.join(os.getcwd(), path)  # noqa: PTH109, PTH118 - not yet a Path
    if owners is None or (way, shared, owners) in _SAFE_WAYS:
        return True
    try:
        _follow(way, None if shared else owners)
    except FileNotFoundError:
        return False
    _SAFE_WAYS.add((way, shared, owners))
    return True


def distrust(path: Path, *, shared: bool = False) -> str | None:
    """Return why a folder must not be used, or None if it may be; a missing one may be made.

    A ``shared`` (read-only, stated) folder may belong to anybody. This is for messages only: between this answer and a
    use of the folder it may be exchanged. ``files.open_folder`` checks what it opens.
    """
    try:
        if check_way(str(path), shared=shared):
            found = path.stat()
            check(found, str(path), trusted_owners(found if shared else None))
    except DistrustedError as error:
        return str(error)
    except OSError:
        return None
    return None


def _follow(path: str, owners: Collection[int] | None) -> None:
    """Follow an absolute path name by name, as the system does, and check each folder in which a name is looked up."""
    here, names, links = "/", path.split("/")[::-1], 0
    while names:
        name = names.pop()
        if name == "..":
            here = os.path.dirname(here)  # noqa: PTH120 - no link is left in it
        if name in {"", ".", ".."}:
            continue
        step = os.path.join(here, name)  # noqa: PTH118 - Path would be slower, for the first hit
        found = _look_up(here, step, owners)
        if not stat.S_ISLNK(found.st_mode):
            here = step
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        target = os.readlink(step)  # noqa: PTH115 - as above
        here = "/" if target.startswith("/") else here
        names += target.split("/")[::-1]


def _look_up(folder: str, step: str, owners: Collection[int] | None) -> os.stat_result:
    mode = os.lstat(folder).st_mode
    everybody = mode & stat.S_IWOTH
    if everybody and not mode & stat.S_ISVTX:
        raise DistrustedError(f"everyone can write to {folder}, and so replace {step}; chmod o-w it, or {_OVERRULE}")
    found = os.lstat(step)
    if everybody and owners is not None and found.st_uid not in owners:
        raise DistrustedError(f"{step} belongs to another user (uid {found.st_uid}); {_OVERRULE}")
    return found


def make_folder(path: Path) -> None:
    """Make a cache's folder and missing parents, which only its owner may enter, whatever the umask.

    Raises DistrustedError if another user could put something else in its place, and OSError.
    """
    check_way(str(path), shared=False)
    try:
        path.mkdir(mode=0o700)
    except FileNotFoundError:
        make_folder(path.parent)
        check_way(str(path), shared=False)  # somebody else may have made the parent just before
        path.mkdir(mode=0o700, exist_ok=True)
    except FileExistsError as error:
        if not path.is_dir():
            raise NotAFolderError(f"{path} is a file, not a folder") from error


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
