"""The three parts of the toolkit whose headers a compile may use: where they are, which version, which files are theirs.

A wheel names its version and lists its files. Conda and the toolkit's own installer name versions only, a plain copy
not even that; there, a part's files are told by their names.
"""

from __future__ import annotations

import json
import re
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.digest import sha256

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PARTS", "Part", "belongs", "distribution", "part_versions", "version_files"]


class Part(NamedTuple):
    """One part, and what the ways to install a toolkit call it."""

    marker: str
    """A file that shows that a folder holds the part."""
    wheels: tuple[str, str]
    """Distribution without ``nvidia_``: from CUDA 13 on, and for CUDA 12 (where ``_cu12`` follows)."""
    component: str
    """The name in a toolkit's version.json."""
    conda: str
    files: tuple[str, ...]
    """Patterns of its files, for a folder whose packages are not listed."""
    telling: tuple[str, ...]
    """Patterns of the files whose content stands for the version where nothing names it."""


_CUDART: Final = (
    *("builtin_types.h", "channel_descriptor.h", "common_functions.h", "cooperative_groups*", "cuComplex.h", "cuda*.h*"),
    *("device_*", "driver_*.h", "host_*.h", "library_types.h", "math_*.h", "mma.h", "sm_*", "surface_*", "texture_*"),
    "vector_*",
)
PARTS: Final = {
    "cccl": Part(
        "cuda/std/version", ("cuda_cccl", "cuda_cccl"), "cuda_cccl", "cuda-cccl",
        ("cccl/*", "cub/*", "cuda/*", "nv/*", "thrust/*"),
        ("cuda/std/version", "cuda/std/__cccl/version.h", "cub/version.cuh", "thrust/version.h"),
    ),
    "crt": Part("crt/host_config.h", ("cuda_crt", "cuda_nvcc"), "cuda_nvcc", "cuda-crt-dev", ("crt/*",), ("crt/*",)),
    "cudart": Part(
        "cuda_runtime.h", ("cuda_runtime", "cuda_runtime"), "cuda_cudart", "cuda-cudart-dev", _CUDART, _CUDART
    ),
}  # fmt: skip
_VERSION_MACRO: Final = re.compile(rb"#\s*define\s+(?:CCCL|CUDART)_VERSION\s+(\d+)")


def part_versions(folders: tuple[str, ...], major: int) -> Iterator[str]:
    """Yield each part that the folders hold, with its version: ``cccl 13.0.85``."""
    for name, part in PARTS.items():
        for folder in map(Path, folders):
            if (folder / part.marker).is_file():
                yield f"{name} {_wheel_version(folder, part, major) or _other_version(folder, part)}"
                break


def version_files(folders: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files that another version of a part would change."""
    for folder in map(Path, folders):
        for part in PARTS.values():
            if (folder / part.marker).is_file():
                yield from (path for name in part.telling if "*" not in name and (path := folder / name).is_file())
                yield folder / part.marker
        yield from (parent / "version.json" for parent in folder.parents if (parent / "version.json").is_file())


def belongs(folder: str, name: str, size: int) -> bool:
    """Return whether a file of an include folder is one of a part's, so that the part's version stands for it.

    Where wheels list their files, it must be listed with the size it has: an edited one stands for itself.
    """
    site = _site(Path(folder))
    records = _records(site) if site is not None else b""
    if site is None or not records:
        return any(fnmatch(name, pattern) for part in PARTS.values() for pattern in part.files)
    listed = f"\n{(Path(folder) / name).relative_to(site).as_posix()},".encode()
    start = records.find(listed)
    line = records[start + 1 : records.find(b"\n", start + 1)] if start >= 0 else b""
    return line.rpartition(b",")[2].strip() == b"%d" % size


@cache
def _records(site: Path) -> bytes:
    """Return the file lists of the parts' wheels in a site folder, joined."""
    stems = {f"nvidia_{wheel}" for part in PARTS.values() for wheel in part.wheels}
    infos = sorted(site.glob("nvidia_cuda_*.dist-info"))
    found = [info / "RECORD" for info in infos if info.name.partition("-")[0].removesuffix("_cu12") in stems]
    return b"\n" + b"\n".join(path.read_bytes() for path in found if path.is_file()) if found else b""


def distribution(path: Path, name: str) -> str:
    """Return the version of an installed wheel beside a file of it (or in it); empty where there is none."""
    site = _site(path)
    infos = sorted(site.glob(f"{name}-*.dist-info")) if site is not None else []
    return infos[0].name.removesuffix(".dist-info").rpartition("-")[2] if infos else ""


def _site(path: Path) -> Path | None:
    """Return the folder that wheels were unpacked into, for a path below its ``nvidia`` folder."""
    return next((parent.parent for parent in path.parents if parent.name == "nvidia"), None)


def _wheel_version(folder: Path, part: Part, major: int) -> str:
    return distribution(folder, f"nvidia_{part.wheels[0]}" if major >= 13 else f"nvidia_{part.wheels[1]}_cu{major}")


def _other_version(folder: Path, part: Part) -> str:
    """Return what conda or the toolkit's installer says, else a version macro with a digest of telling files."""
    for parent in folder.parents:
        for listing in sorted(parent.glob(f"conda-meta/{part.conda}*.json")):
            return str(_json(listing).get("version"))
        component = _json(parent / "version.json").get(part.component)
        if component:
            return str(component["version"])
    files = sorted({path for pattern in part.telling for path in folder.glob(pattern) if path.is_file()})
    contents = [path.read_bytes() for path in files]
    macro = next((match[1].decode() for text in contents if (match := _VERSION_MACRO.search(text))), "unknown")
    return f"{macro}.{sha256(b''.join(sha256(text).digest() for text in contents)).hexdigest()[:16]}"


def _json(path: Path) -> dict[str, dict[str, str]]:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
