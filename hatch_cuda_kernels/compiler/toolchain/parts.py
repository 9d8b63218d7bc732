"""The parts of the toolkit whose headers a compile may use: where they are, their versions, and which files are theirs.

A wheel states its version and lists its files. Conda and the toolkit's own installer state only versions, and a plain
copy not even that; in these cases, a part's files are recognised by their names.
"""

from __future__ import annotations

import json
import re
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.compiler.toolchain.packages import distribution
from hatch_cuda_kernels.compiler.toolchain.wheels import listed_files, site_of, wheel_of, wheels_in
from hatch_cuda_kernels.digest import sha256

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["PARTS", "FoundPart", "Part", "PartFiles", "find_parts", "part_files"]


class Part(NamedTuple):
    """One part, and its name in each way to install a toolkit."""

    marker: str
    """A file whose presence shows that a folder holds the part."""
    component: str
    """Its name in a toolkit's version.json."""
    conda: str
    """Its conda package."""
    files: tuple[str, ...]
    """Patterns of its files, but for those of the runtime's that are known by name."""
    telling: tuple[str, ...]
    """Patterns of the files whose content serves as the version if nothing states one; likewise."""


class FoundPart(NamedTuple):
    """A part that was found, its version, and the files that the version was read from."""

    name: str
    version: str
    evidence: tuple[Path, ...]


_CCCL: Final = ("cccl/*", "cub/*", "cuda/*", "nv/*", "thrust/*")
_CCCL_VERSION: Final = ("cuda/std/version", "cuda/std/__cccl/version.h", "cub/version.cuh", "thrust/version.h")
#: The runtime's other headers are in no folder of their own.
_GROUPS: Final = ("cooperative_groups/*", "cooperative_groups/*/*")
PARTS: Final = {
    "cccl": Part("cuda/std/version", "cuda_cccl", "cuda-cccl", _CCCL, _CCCL_VERSION),
    "crt": Part("crt/host_config.h", "cuda_nvcc", "cuda-crt-dev", ("crt/*",), ("crt/*",)),
    "cudart": Part("cuda_runtime.h", "cuda_cudart", "cuda-cudart-dev", _GROUPS[:1], _GROUPS),
}


def part_files(name: str) -> tuple[str, ...]:
    """Return the patterns of a part's files, for folders whose files no wheel lists."""
    return (*PARTS[name].files, *_named(name))


def _named(name: str) -> tuple[str, ...]:
    """Return those of a part's files that only their names tell from those of others."""
    from hatch_cuda_kernels.libraries import runtime_headers  # where wheels list their files, nobody asks

    return runtime_headers() if name == "cudart" else ()


#: What brings the parts; a folder of wheels may have those of either CUDA major.
_DISTRIBUTIONS: Final = sorted({distribution(name, major) for name in PARTS for major in (12, 13)})
_VERSION_MACRO: Final = rb"#\s*define\s+(?:CCCL|CUDART)_VERSION\s+(\d+)"


def find_parts(folders: Iterable[str], major: int) -> Iterator[FoundPart]:
    """Yield each part that the folders hold."""
    paths = [Path(folder) for folder in folders]
    for name, part in PARTS.items():
        holder = next((folder for folder in paths if (folder / part.marker).is_file()), None)
        if holder is not None:
            yield FoundPart(name, *(_packaged(holder, name, major) or _copied(holder, name)))


class PartFiles:
    """Which files of an include folder are the parts' own, so that the parts' versions stand for them.

    If wheels list their files, these are the files with the listed digests; otherwise, those with known names.
    """

    def __init__(self, folder: str) -> None:
        site = site_of(Path(folder))
        wheels = wheels_in(site, _DISTRIBUTIONS) if site is not None else []
        self.records = tuple(wheel.record for wheel in wheels)
        self._listed = listed_files(wheels)
        self._prefix = f"{Path(folder).relative_to(site).as_posix()}/" if site is not None else ""

    def holds(self, name: str, digest: str) -> bool:
        """Return whether a file with this name, relative to the folder, and this digest is one of a part's."""
        if self._listed:
            return self._listed.get(f"{self._prefix}{name}") == digest
        return any(fnmatch(name, pattern) for part in PARTS for pattern in part_files(part))


def _packaged(folder: Path, name: str, major: int) -> tuple[str, tuple[Path, ...]] | None:
    """Return the version that a wheel, conda or the toolkit's installer states, and the file that states it."""
    part = PARTS[name]
    wheel = wheel_of(folder, distribution(name, major))
    if wheel is not None:
        return wheel.version, (wheel.record,)
    for parent in folder.parents:
        for listing in sorted(parent.glob(f"conda-meta/{part.conda}*.json")):
            return str(_json(listing).get("version")), (listing,)
        component = _json(parent / "version.json").get(part.component)
        if component:
            return str(component["version"]), (parent / "version.json",)
        if parent.name in {"site-packages", "dist-packages"}:
            break
    return None


def _copied(folder: Path, name: str) -> tuple[str, tuple[Path, ...]]:
    """Return a version made of the version macro, if the part has one, and a digest of the telling files; and these."""
    patterns = (*PARTS[name].telling, *_named(name))
    files = tuple(sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}))
    contents = [path.read_bytes() for path in files]
    macros = [match[1].decode() for content in contents if (match := re.search(_VERSION_MACRO, content))]
    digest = sha256(b"".join(sha256(content).digest() for content in contents)).hexdigest()[:16]
    return ".".join([*macros[:1], digest]), files


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
