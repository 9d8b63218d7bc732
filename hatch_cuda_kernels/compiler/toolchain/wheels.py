"""CUDA libraries and headers installed as wheels, wherever ``sys.path`` finds them.

cuda.pathfinder looks into the interpreter's own site-packages. pip builds in an environment only ``sys.path`` knows,
so a library found there is loaded before the bindings ask for it: they take what is loaded already.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.toolchain.parts import distribution, is_listed
from hatch_cuda_kernels.errors import ToolchainError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["bindings_major", "find_header_folders", "find_library", "library_version", "listed_version", "preload"]

#: Folder of a library below ``nvidia/`` in wheels of CUDA 12; from CUDA 13 on, all are in ``cu13``.
_CUDA_12_FOLDERS: Final = {"nvrtc": "cuda_nvrtc", "nvJitLink": "nvjitlink"}
_CUDA_12_HEADERS: Final = ("cuda_runtime", "cuda_cccl", "cuda_nvcc", "curand")
_WHEELS: Final = {"nvrtc": "nvidia-cuda-nvrtc", "nvJitLink": "nvidia-nvjitlink"}
#: Offset, entry size and number of the section headers, in a 64-bit little-endian ELF file.
_ELF_HEADER: Final = struct.Struct("<40xQ10xHH2x")


def bindings_major() -> int:
    """Return the CUDA major whose libraries the installed cuda.bindings load."""
    from cuda.bindings import __version__  # off the prebuilt path

    return int(__version__.split(".")[0])


def find_library(stem: str) -> Path | None:
    """Return the first shared library of that stem (``nvrtc``, ``nvJitLink``) in a wheel on ``sys.path``, or None."""
    major = bindings_major()
    folder = f"cu{major}" if major >= 13 else _CUDA_12_FOLDERS[stem]
    found = (root / folder / "lib" / f"lib{stem}.so.{major}" for root in _nvidia_folders())
    return next((path for path in found if path.is_file()), None)


def find_header_folders() -> tuple[Path, ...]:
    """Return the folders of toolkit headers in wheels on ``sys.path``, first found first."""
    major = bindings_major()
    names = (f"cu{major}",) if major >= 13 else _CUDA_12_HEADERS
    folders = [root / name / "include" for root in _nvidia_folders() for name in names]
    folders = [folder for folder in folders if folder.is_dir()]
    return tuple(folders + [folder / "cccl" for folder in folders if (folder / "cccl").is_dir()])


@cache
def preload(stem: str) -> None:
    """Load a wheel's library into the process, if there is one, so that the bindings use this very file.

    Raises ToolchainError, naming the file, when it cannot be loaded.
    """
    path = find_library(stem)
    if path is None:
        return
    for file in (*sorted(path.parent.glob(f"lib{stem}-builtins.so.*")), path):
        try:
            _refuse_cut(file)
            ctypes.CDLL(str(file), mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            version = library_version(stem)
            pinned = f"{_wheel(stem)}=={version}" if version else _wheel(stem)
            fix = f"python3 -m pip install --force-reinstall --no-deps {pinned}"
            raise ToolchainError(f"{file} cannot be loaded ({error})", fix) from error


def _refuse_cut(file: Path) -> None:
    """Raise OSError for an ELF file that ends before its section headers do: the loader would crash the process."""
    with file.open("rb") as opened:
        head = opened.read(_ELF_HEADER.size)
    if len(head) == _ELF_HEADER.size and head.startswith(b"\x7fELF"):
        start, size, count = _ELF_HEADER.unpack(head)
        needed, found = start + size * count, file.stat().st_size
        if found < needed:
            message = f"it has {found} of at least {needed} bytes"
            raise OSError(message)


def library_version(stem: str) -> str:
    """Return the version of the wheel that brings a library, without loading it; empty when no wheel does."""
    path = find_library(stem)
    info = distribution(path, _wheel(stem).replace("-", "_")) if path is not None else None
    return info.name.removesuffix(".dist-info").rpartition("-")[2] if info is not None else ""


def listed_version(stem: str) -> str:
    """Return the same where the wheel's file list has the library with the size it has, so that it is the wheel's own.

    Empty otherwise.
    """
    path = find_library(stem)
    info = distribution(path, _wheel(stem).replace("-", "_")) if path is not None else None
    if path is None or info is None or not is_listed(info, path):
        return ""
    return info.name.removesuffix(".dist-info").rpartition("-")[2]


def _wheel(stem: str) -> str:
    major = bindings_major()
    return _WHEELS[stem] if major >= 13 else f"{_WHEELS[stem]}-cu{major}"


def _nvidia_folders() -> Iterator[Path]:
    for entry in sys.path:
        folder = Path(entry or ".", "nvidia")
        if entry and folder.is_dir():
            yield folder
