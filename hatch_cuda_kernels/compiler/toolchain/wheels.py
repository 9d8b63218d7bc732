"""CUDA libraries, ptxas and headers installed as wheels: where ``sys.path`` finds them, their versions and contents.

A file is read once, and again when its state has changed, by whichever process.
"""

from __future__ import annotations

import json
import os
import sys
from base64 import urlsafe_b64encode
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.cache import Notes, default_cache_path, file_state
from hatch_cuda_kernels.compiler.toolchain.packages import bindings, distribution
from hatch_cuda_kernels.digest import sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

#: Folder of a tool below ``nvidia/`` in wheels of CUDA 12; from CUDA 13 on, all are in ``cu13``.
_CUDA_12_FOLDERS: Final = {
    "nvrtc": "cuda_nvrtc",
    "nvJitLink": "nvjitlink",
    "ptxas": "cuda_nvcc",
    "cudadevrt": "cuda_runtime",
}
#: Files below the tool's folder that are not shared libraries.
_FILES: Final = {"ptxas": "bin/ptxas", "cudadevrt": "lib/libcudadevrt.a"}
_CUDA_12_HEADERS: Final = ("cuda_runtime", "cuda_cccl", "cuda_nvcc", "curand")
_NOTES: Final = Notes("includes")


class Wheel(NamedTuple):
    """An installed wheel, by the dist-info folder beside the files that it brought."""

    info: Path

    @property
    def version(self) -> str:
        """The version of the distribution."""
        return self.info.name.removesuffix(".dist-info").rpartition("-")[2]

    @property
    def record(self) -> Path:
        """The file that lists the wheel's files with their digests."""
        return self.info / "RECORD"


def bindings_major() -> int:
    """Return the CUDA major whose libraries the installed cuda.bindings load."""
    from cuda.bindings import __version__  # off the prebuilt path

    return int(__version__.split(".")[0])


def missing_bindings(major: int) -> list[str]:
    """Return the requirements that make a process load the libraries of a CUDA major; none if it does already."""
    return [] if bindings_major() == major else [bindings(major)]


def find_library(stem: str) -> Path | None:
    """Return the first library (``nvrtc``, ``nvJitLink``) of that name in a wheel on ``sys.path``, or None.

    ``ptxas``, which is a program, and ``cudadevrt``, which is an archive, are found likewise, here and in what else
    takes such a name.
    """
    major = bindings_major()
    folder = f"cu{major}" if major >= 13 else _CUDA_12_FOLDERS[stem]
    file = _FILES.get(stem) or f"lib/lib{stem}.so.{major}"
    found = (root / folder / file for root in _nvidia_folders())
    return next((path for path in found if path.is_file()), None)


def library_version(stem: str) -> str:
    """Return the version of the wheel that brings a library, without loading it; empty if no wheel does."""
    wheel = library_wheel(stem)
    return wheel.version if wheel is not None else ""


def library_wheel(stem: str) -> Wheel | None:
    """Return the wheel that brings a library, or None."""
    path = find_library(stem)
    return wheel_of(path, distribution(stem.lower(), bindings_major())) if path is not None else None


def find_header_folders() -> tuple[Path, ...]:
    """Return the folders with toolkit headers of wheels on ``sys.path``, in the order in which they are searched."""
    major = bindings_major()
    names = (f"cu{major}",) if major >= 13 else _CUDA_12_HEADERS
    folders = [root / name / "include" for root in _nvidia_folders() for name in names]
    folders = [folder for folder in folders if folder.is_dir()]
    return tuple(folders + [folder / "cccl" for folder in folders if (folder / "cccl").is_dir()])


def site_of(path: Path) -> Path | None:
    """Return the folder that a wheel was unpacked into, for a path below its ``nvidia`` folder, or None."""
    return next((parent.parent for parent in path.parents if parent.name == "nvidia"), None)


def wheels_in(site: Path, names: Iterable[str]) -> list[Wheel]:
    """Return the installed wheels of these distributions in a site folder."""
    infos = _infos(site, file_state(site))
    patterns = (f"{name.replace('-', '_')}-*.dist-info" for name in names)
    return [Wheel(site / info) for pattern in patterns for info in infos if fnmatchcase(info, pattern)]


@lru_cache(maxsize=16)
def _infos(site: Path, _state: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(site) if name.endswith(".dist-info"))  # noqa: PTH208 - a name is enough
    except OSError:
        return []


def wheel_of(path: Path, name: str) -> Wheel | None:
    """Return the installed wheel of a distribution that may have brought a file below ``nvidia``, or None."""
    site = site_of(path)
    return next(iter(wheels_in(site, [name])), None) if site is not None else None


def listed_files(wheels: Iterable[Wheel]) -> Mapping[str, str]:
    """Return the sha256 of each file that wheels list, as RECORD spells it, by its path in the site folder."""
    return _all_listed(tuple((wheel.record, file_state(wheel.record)) for wheel in wheels))


@lru_cache(maxsize=16)
def _all_listed(records: tuple[tuple[Path, str], ...]) -> dict[str, str]:
    return {path: digest for record, state in records for path, digest in _listed(record, state).items()}


@lru_cache(maxsize=16)
def _listed(record: Path, _state: str) -> dict[str, str]:
    try:
        lines = record.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    fields = (line.partition(",sha256=") for line in lines)
    return {path: rest.partition(",")[0] for path, _, rest in fields if rest}


def _nvidia_folders() -> Iterator[Path]:
    for entry in filter(None, sys.path):
        folder = os.path.join(entry, "nvidia")  # noqa: PTH118 - Path takes several times as long, for each entry
        if os.path.isdir(folder):  # noqa: PTH112
            yield Path(folder)


class Contents:
    """Facts that a reader finds in files, remembered with the state of each, here and in a note about their place."""

    def __init__(self, place: str, read: Callable[[str], list[str]]) -> None:
        self._place = place
        self._read = read
        self._known: dict[str, Any] | None = None
        self._changed = False

    def of(self, path: str, state: str) -> list[str]:
        """Return the facts about a file that is in this state."""
        if self._known is None:
            self._known = _NOTES.read(self._place)
        known = self._known.get(path)
        if not isinstance(known, list) or known[:1] != [state]:
            known = self._known[path] = [state, *self._read(path)]
            self._changed = True
        return known[1:]

    def save(self) -> None:
        """Write the note if a file was read; without it, the next process reads that file again."""
        if self._changed and self._known is not None:
            self._changed = False
            _NOTES.write(self._place, dict(self._known))


def contents_at(place: str, read: Callable[[str], list[str]]) -> Contents:
    """Return what is known of the files at a place. ``read`` returns the facts in a file, and must not raise."""
    return _contents_at(place, read, default_cache_path())


@cache
def _contents_at(place: str, read: Callable[[str], list[str]], _cache: Path | None) -> Contents:
    return Contents(place, read)


def record_digest(digest: bytes) -> str:
    """Return a sha256 as a wheel's RECORD spells it."""
    return urlsafe_b64encode(digest).rstrip(b"=").decode()


def digest_of_all(files: Iterable[tuple[str, str]]) -> str:
    """Return 16 hex digits for files given by name and digest, in any order; empty for no file."""
    listed = sorted(map(list, files))
    return sha256(json.dumps(listed).encode()).hexdigest()[:16] if listed else ""
