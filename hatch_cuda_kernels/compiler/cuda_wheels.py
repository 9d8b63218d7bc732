"""CUDA libraries and headers installed as wheels, wherever ``sys.path`` finds them.

cuda.pathfinder looks into the interpreter's own site-packages. pip builds in an environment only ``sys.path`` knows,
so a library found there is loaded before the bindings ask for it: they take what is loaded already.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["bindings_major", "find_header_folders", "find_library", "preload"]

#: Folder of a library below ``nvidia/`` in wheels of CUDA 12; from CUDA 13 on, all are in ``cu13``.
_CUDA_12_FOLDERS: Final = {"nvrtc": "cuda_nvrtc", "nvJitLink": "nvjitlink"}
_CUDA_12_HEADERS: Final = ("cuda_runtime", "cuda_cccl", "cuda_nvcc")


def bindings_major() -> int:
    """Return the CUDA major whose libraries the installed cuda.bindings load."""
    from cuda.bindings import __version__  # noqa: PLC0415 - off the prebuilt path

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
    """Load a wheel's library into the process, if there is one, so that the bindings use this very file."""
    path = find_library(stem)
    if path is None:
        return
    for builtins in sorted(path.parent.glob(f"lib{stem}-builtins.so.*")):
        ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)


def _nvidia_folders() -> Iterator[Path]:
    for entry in sys.path:
        folder = Path(entry or ".", "nvidia")
        if entry and folder.is_dir():
            yield folder
