"""Where the caches are and how large they may grow, from the environment."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import Final

from hatch_cuda_kernels import environment
from hatch_cuda_kernels.cache.disk import DiskCache
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.warn import warn_user

__all__ = ["default_cache_path", "open_cache", "site_paths"]

_DEFAULT_MAX_BYTES: Final = 1 << 30
_MOST_DIGITS: Final = 18
_MOST_SHOWN: Final = 40


def default_cache_path() -> Path | None:
    """Return the folder that ``HATCH_CUDA_KERNELS_CACHE_DIR`` names, otherwise the platform's user cache folder.

    Returns None, with one warning in each process, for a user without a home folder.
    """
    stated = os.environ.get(environment.CACHE_DIR)
    path = os.path.expanduser(stated) if stated else _user_cache_path()  # noqa: PTH111 - expanduser() would raise
    if path.startswith("~"):  # no HOME, and no entry for this user: expanduser leaves it as it is
        _warn_homeless()
        return None
    return Path(path).absolute()


def site_paths() -> tuple[Path, ...]:
    """Return the read-only folders that ``HATCH_CUDA_KERNELS_PATH`` lists, in order."""
    return tuple(Path(part).absolute() for part in os.environ.get(environment.PATH, "").split(os.pathsep) if part)


def _max_cache_bytes() -> int:
    """Return the cap in bytes. Raises InputError if the variable is not a positive number of at most 18 digits."""
    stated = os.environ.get(environment.CACHE_MAX_BYTES)
    if not stated:
        return _DEFAULT_MAX_BYTES
    # The length comes first: int() refuses thousands of digits.
    if len(stated) > _MOST_DIGITS or not (stated.isascii() and stated.isdecimal()) or int(stated) == 0:
        shown = repr(stated if len(stated) <= _MOST_SHOWN else f"{stated[:_MOST_SHOWN]}...")
        raise InputError(
            f"{environment.CACHE_MAX_BYTES}={shown} is not a positive number of bytes; "
            f"write one of at most {_MOST_DIGITS} digits, such as {_DEFAULT_MAX_BYTES} for 1 GiB"
        )
    return int(stated)


def open_cache() -> DiskCache:
    """Return this process's cache for the environment as it is now; equal settings share one object.

    Raises InputError, as ``_max_cache_bytes`` does.
    """
    trust = os.environ.get(environment.CACHE_TRUST, "")
    return _cache_at(default_cache_path(), _max_cache_bytes(), site_paths(), trust)


@cache
def _cache_at(path: Path | None, max_bytes: int, sites: tuple[Path, ...], _trust: str) -> DiskCache:
    return DiskCache(path, max_bytes=max_bytes, sites=sites)


def _user_cache_path() -> str:
    home = os.environ.get("HOME", "")
    if sys.platform == "linux" and home.startswith("/") and not {"XDG_CACHE_HOME", "ANDROID_ROOT"} & os.environ.keys():
        return f"{home}/.cache/hatch-cuda-kernels"  # as platformdirs has it, whose import takes longer than a read
    from platformdirs import user_cache_dir  # not needed when the folder is stated

    try:
        return user_cache_dir("hatch-cuda-kernels", appauthor=False)
    except (RuntimeError, OSError):
        return "~"


@cache
def _warn_homeless() -> None:
    warn_user(f"there is no home folder, so no place for a kernel cache; set {environment.CACHE_DIR} to a folder")
