"""Paths in a manifest: relative to its folder, written with ``/``, never leaving the project."""

from __future__ import annotations

import difflib
import re
from glob import has_magic
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.includes import DEVICE_RUNTIME, LIBRARY_KINDS, normalize
from hatch_cuda_kernels.manifest.kinds import text
from hatch_cuda_kernels.manifest.project import project_folder
from hatch_cuda_kernels.manifest.spot import RefusedError, Spot, suggest

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FOLDER", "HEADER", "HEADERS_GLOB", "LIBRARY", "ONE_SOURCE", "SOURCE", "STUBS"]

#: Refuses what starts with / or a drive, and what contains a backslash; ``..`` is left to the reader.
_PATTERN: Final = r"(?!/|[A-Za-z]:)[^\\\x00-\x1f\x7f]+"


def _relative(written: str) -> str:
    if "\\" in written:
        raise RefusedError(f"{written!r} has a backslash; write / between folders")
    if re.match(r"/|[A-Za-z]:", written):
        raise RefusedError(f"{written!r} is absolute; write it relative to the manifest's folder")
    path = normalize("", written)
    if path is None:
        raise RefusedError(f"{written!r} leaves the project; keep the file inside the manifest's folder")
    return path or "."


def _kind_of(spot: Spot, path: str) -> str | None:
    """Return what a path is, None if it does not exist. Raises RefusedError if a link leads out of the project."""
    kind = spot.reading.files.kind("" if path == "." else path)
    if kind == "outside":
        raise RefusedError(f"{path!r} leaves the project through a symbolic link; copy the file into it")
    return kind


def _source(spot: Spot, written: str) -> str:
    """Return the path of a file, or a pattern with one ``*`` that at least one file matches."""
    path = _relative(written)
    if "*" in path:
        return _source_pattern(spot, path)
    kind = _kind_of(spot, path)
    if kind == "folder":
        raise RefusedError(f"{path!r} is a folder; name a file")
    if kind is None:
        raise RefusedError(f"there is no file {path!r}{_suggest_file(spot, path)}")
    return path


def _one_source(spot: Spot, written: str) -> str:
    """Return the path of a file."""
    if "*" in written:
        raise RefusedError(f"{written!r} is a pattern; name each file")
    return _source(spot, written)


def _library(spot: Spot, written: str) -> str:
    """Return the path of a file, or the name of CUDA's device runtime."""
    if written == DEVICE_RUNTIME:
        return written
    path = _relative(written)
    suffix = PurePosixPath(path).suffix
    if not suffix:
        advice = suggest(written, [DEVICE_RUNTIME], f"; write {DEVICE_RUNTIME}, or the path of a file")
        raise RefusedError(f"unknown library {written!r}{advice}")
    if suffix not in LIBRARY_KINDS:
        raise RefusedError(f"{path!r} is not a device library; these end in {', '.join(LIBRARY_KINDS)}")
    return _source(spot, path)


def _source_pattern(spot: Spot, path: str) -> str:
    if path.count("*") > 1 or set(path) & set("?["):
        raise RefusedError(f"{path!r} must have one *, which stands for the names of modules, and no ? or [")
    return _headers_glob(spot, path)


def _suggest_file(spot: Spot, path: str) -> str:
    """Suggest a file beside a missing one, compared by stem: folder and suffix would make all of them look alike."""
    folder, _, name = path.rpartition("/")
    beside = {PurePosixPath(found).stem: found for found in spot.reading.files.glob(f"{folder}/*".removeprefix("/"))}
    near = difflib.get_close_matches(PurePosixPath(name).stem, beside, n=1)
    return f" (did you mean {beside[near[0]]!r}?)" if near else ""


def _folder(spot: Spot, written: str) -> str:
    path = _relative(written)
    kind = _kind_of(spot, path)
    if kind != "folder" and (kind is not None or not _is_unpacked_sdist(spot.reading.files.root)):
        raise RefusedError(f"there is no folder {path!r}")
    return path


def _is_unpacked_sdist(folder: Path) -> bool:
    """Return whether a folder is in an unpacked sdist, which carries no empty folder, and no header nothing takes."""
    return (project_folder(folder) / "PKG-INFO").is_file()


def _header(spot: Spot, written: str) -> str:
    """Accept a missing file: the compile may find it in an include folder or in the toolkit."""
    path = _relative(written)
    _kind_of(spot, path)
    return path


def _headers_glob(spot: Spot, written: str) -> str:
    path = _relative(written)
    matches = list(spot.reading.files.glob(path))
    if not matches and not (has_magic(path) and _is_unpacked_sdist(spot.reading.files.root)):
        raise RefusedError(f"no file matches {path!r}")
    for match in matches:
        _kind_of(spot, match)
    return path


def _stubs(spot: Spot, written: str) -> str:
    path = _relative(written)
    if not path.endswith(".pyi") or not PurePosixPath(path).stem.isidentifier():
        raise RefusedError(f"{path!r} is not a stub; name a file beside a module, such as mylib/kernels.pyi")
    if _kind_of(spot, path) == "folder":
        raise RefusedError(f"{path!r} is a folder; name a file")
    return path


SOURCE: Final = text("the path of a source file", _source, pattern=_PATTERN)
ONE_SOURCE: Final = text("the path of a source file", _one_source, pattern=_PATTERN)
LIBRARY: Final = text(f"{DEVICE_RUNTIME} or the path of a library", _library, pattern=_PATTERN)
FOLDER: Final = text("the path of a folder", _folder, pattern=_PATTERN)
HEADER: Final = text("the path of a header", _header, pattern=_PATTERN)
HEADERS_GLOB: Final = text("a pattern for headers", _headers_glob, pattern=_PATTERN)
STUBS: Final = text("the path of a stub (.pyi)", _stubs, pattern=rf"{_PATTERN}\.pyi")
