"""Whose code would be run: nothing is read from, or written to, a place where another user could have put something.

``check`` says who owns a folder or file, and who else may write to it. It takes the state of an open descriptor, so the
answer holds for what is read through it. ``check_way`` says who could put another folder in place of the whole cache.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels import environment

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

__all__ = ["DistrustedError", "check", "check_way", "distrust", "trusted_owners"]

_OVERRULE: Final = f"set {environment.CACHE_TRUST}=1 to use it all the same"
_ROOT: Final = 0
_MOST_LINKS: Final = 40
#: Ways that nobody else can change. They are checked once; the others each time, because they may have been corrected.
_SAFE_WAYS: Final[set[tuple[str, bool, frozenset[int]]]] = set()


class DistrustedError(PermissionError):
    """Another user could have put this here, or could change it. The message says how, and what to do about it."""


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
    """Return the state of a name in a folder. Raises DistrustedError where anybody could have put it there."""
    mode = os.lstat(folder).st_mode
    everybody = mode & stat.S_IWOTH
    if everybody and not mode & stat.S_ISVTX:
        raise DistrustedError(f"everybody can write to {folder}, and so replace {step}; chmod o-w it, or {_OVERRULE}")
    found = os.lstat(step)
    if everybody and owners is not None and found.st_uid not in owners:
        raise DistrustedError(f"{step} belongs to another user (uid {found.st_uid}); {_OVERRULE}")
    return found
