"""The CUDA driver's own JIT cache, which only PTX hits use, configured by environment variables.

CUDA C++ Programming Guide, "CUDA environment variables": CUDA_CACHE_PATH, CUDA_CACHE_MAXSIZE, CUDA_CACHE_DISABLE.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Final

from hatch_cuda_kernels.errors import InputError, LaunchError
from hatch_cuda_kernels.records import NamedTuple

_PATH: Final = "CUDA_CACHE_PATH"
_SIZE: Final = "CUDA_CACHE_MAXSIZE"
_DISABLE: Final = "CUDA_CACHE_DISABLE"
_NOT_INITIALIZED: Final = 3  # CUDA_ERROR_NOT_INITIALIZED
#: The driver reads the size as a signed 32-bit number of bytes and takes at most 4 GiB (CUDA environment variables).
_MOST_BYTES: Final = (1 << 32) - 1


class DriverCacheSettings(NamedTuple):
    """What the driver will read: folder (None: the driver's default), size in bytes, and whether the cache is on."""

    path: str | None
    max_bytes: int
    enabled: bool


def configure_driver_cache(path: str | os.PathLike[str] | None = None, max_bytes: int = 1 << 30) -> DriverCacheSettings:
    """Configure the driver's JIT cache before the driver is initialised, and return the settings in effect.

    Variables that are already set are kept. Raises LaunchError if this process has initialised the driver, which then
    no longer reads the settings, and InputError for an empty or unwritable path, and for a size that is out of range
    or, in the environment, not a number or smaller than requested.
    """
    if not 0 < max_bytes <= _MOST_BYTES:
        raise InputError(f"max_bytes must be 1 to {_MOST_BYTES}, not {max_bytes}")
    if _driver_is_initialised():
        raise LaunchError(
            "the CUDA driver is already initialised: call configure_driver_cache before the first CUDA call"
        )
    folder = _folder(path)
    size = _size(max_bytes)
    if folder is not None:
        os.environ[_PATH] = folder
    os.environ[_SIZE] = str(size)
    os.environ.setdefault(_DISABLE, "0")
    return DriverCacheSettings(folder, size, os.environ[_DISABLE] == "0")


def _folder(path: str | os.PathLike[str] | None) -> str | None:
    stated = os.environ.get(_PATH)
    name, source = (stated, f"{_PATH} in the environment") if stated is not None else (path, "path")
    if name is None:
        return None
    if not os.fspath(name).strip():
        raise InputError(f"{source} is empty: name a folder, or omit it for the driver's default")
    folder = Path(name).expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{source} {folder} cannot be created: {error.strerror}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{source} {folder} cannot be written to")
    return str(folder)


def _size(wanted: int) -> int:
    stated = os.environ.get(_SIZE)
    if stated is None:
        return wanted
    if not stated.strip().isdecimal():
        raise InputError(f"{_SIZE}={stated!r} in the environment is not a number of bytes")
    if int(stated) < wanted:
        raise InputError(f"{_SIZE}={stated} in the environment is smaller than the {wanted} bytes requested")
    return int(stated)


def _driver_is_initialised() -> bool:
    """Return whether cuInit was called. Before it, every call returns NOT_INITIALIZED."""
    if sys.platform == "win32":
        name, flags = "nvcuda.dll", 0
    else:
        name, flags = "libcuda.so.1", os.RTLD_NOLOAD | os.RTLD_NOW
    try:
        library = ctypes.CDLL(name, mode=flags)
    except OSError:
        return False
    return int(library.cuDeviceGetCount(ctypes.byref(ctypes.c_int()))) != _NOT_INITIALIZED
