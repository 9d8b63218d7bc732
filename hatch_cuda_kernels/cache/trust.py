"""Whose code would be run: a cache folder must be this user's own, or root's, and writable by nobody else."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels import environment

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["distrust"]

_ROOT: Final = 0


def distrust(path: Path, *, shared: bool = False) -> str | None:
    """Return why the images below a folder must not be loaded, or None when they may; a missing folder may be made.

    Root may do anything already, so its folders (of a container image, say) are as good as one's own. A ``shared``
    (read-only, stated) folder may belong to anybody, but not be writable by others. Always None on Windows, where the
    profile folder's access list does this, and with HATCH_CUDA_KERNELS_CACHE_TRUST=1.
    """
    if os.environ.get(environment.CACHE_TRUST) == "1" or not hasattr(os, "geteuid"):
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    overrule = f"set {environment.CACHE_TRUST}=1 to use it all the same"
    if not shared and found.st_uid not in {_ROOT, os.geteuid()}:
        return f"{path} belongs to another user (uid {found.st_uid}); {overrule}"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return (
            f"{path} can be written by other users (mode {stat.S_IMODE(found.st_mode):o}); chmod go-w it, or {overrule}"
        )
    return None
