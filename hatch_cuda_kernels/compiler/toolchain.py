"""Which NVRTC and which toolkit headers compile here, by exact version."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.cuda_wheels import find_header_folders, preload
from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.errors import ToolchainError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["HEADER_MARKERS", "Toolchain", "load_toolchain", "missing_nvrtc", "supported_numbers"]

_INSTALL: Final = 'python3 -m pip install "hatch-cuda-kernels[jit]"'
_PROBE: Final = b"// asks NVRTC which build it is: the PTX it writes says so in its head"
_BUILD_LINE: Final = re.compile(rb"release (\d+)\.(\d+), V([0-9.]+)")

#: Header packages whose version is part of the toolchain, by the file that shows that a folder holds them.
_HEADER_PARTS: Final = {
    "cccl": ("cuda/std/version", "cuda_cccl", "cuda_cccl"),
    "crt": ("crt/host_config.h", "cuda_crt", "cuda_nvcc"),
    "cudart": ("cuda_runtime.h", "cuda_runtime", "cuda_cudart"),
}
#: Files that show that a folder holds toolkit headers.
HEADER_MARKERS: Final = tuple(marker for marker, *_ in _HEADER_PARTS.values())


@dataclass(frozen=True, slots=True)
class Toolchain:
    """NVRTC's major.minor.build and the toolkit headers' versions; two equal ones give equal images."""

    nvrtc: str
    headers: str = ""
    """Such as ``cccl 13.0.85, crt 13.0.88, cudart 13.0.96``; empty when no toolkit headers are installed."""
    include_dirs: tuple[str, ...] = field(default=(), compare=False)
    """Where the headers are on this machine; not part of the toolchain's identity."""

    @property
    def release(self) -> tuple[int, int]:
        """NVRTC's toolkit release, ``(13, 0)``."""
        major, minor, *_ = self.nvrtc.split(".")
        return int(major), int(minor)

    def to_json(self) -> dict[str, str]:
        """Return what the index and cache entries record."""
        return {"nvrtc": self.nvrtc, "headers": self.headers}


@cache
def load_toolchain() -> Toolchain:
    """Load NVRTC and return the toolchain of this process.

    Raises ToolchainError, naming the package to install, when there is no NVRTC.
    """
    version = _nvrtc_version()
    major = int(version.split(".")[0])
    folders = tuple(str(folder) for folder in _header_folders(major))
    return Toolchain(version, ", ".join(sorted(_header_versions(folders, major))), folders)


def missing_nvrtc(cause: object) -> ToolchainError:
    """Return the error for a process that needs NVRTC and has none."""
    return ToolchainError(f"NVRTC is not installed ({cause})", _INSTALL)


def _nvrtc_version() -> str:
    """Read NVRTC's build from the head of an empty program's PTX; ``nvrtcVersion`` leaves the build number out."""
    from cuda.bindings import nvrtc  # noqa: PLC0415 - loads the library

    preload("nvrtc")
    try:
        _, program = nvrtc.nvrtcCreateProgram(_PROBE, b"probe.cu", 0, [], [])
    except Exception as error:  # pathfinder and the bindings raise several types for a missing library
        raise missing_nvrtc(type(error).__name__) from error
    nvrtc.nvrtcCompileProgram(program, 0, [])
    ptx = b"\0" * nvrtc.nvrtcGetPTXSize(program)[1]
    nvrtc.nvrtcGetPTX(program, ptx)
    nvrtc.nvrtcDestroyProgram(program)
    match = _BUILD_LINE.search(ptx)
    if match is None:
        raise ToolchainError("NVRTC does not say which build it is", _INSTALL)
    return match[3].decode()


def _header_folders(major: int) -> Iterator[Path]:
    """Yield the folders with the toolkit's headers, each once: from wheels, else as cuda.pathfinder finds them."""
    folders = list(find_header_folders())
    for part, (marker, *_) in _HEADER_PARTS.items():
        if not any((folder / marker).is_file() for folder in folders):
            folders += _system_folders(part)
    # A toolkit of another major beside this NVRTC (a system CUDA 12 with the CUDA 13 wheels) would not compile.
    yield from dict.fromkeys(folder for folder in folders if _major_of(folder) in {major, None})


def _system_folders(part: str) -> list[Path]:
    from cuda.pathfinder import find_nvidia_header_directory  # noqa: PLC0415 - only compiles need it

    found = find_nvidia_header_directory("nvcc" if part == "crt" else part)
    return [Path(found)] if found else []


def _major_of(folder: Path) -> int | None:
    try:
        text = (folder / "cuda.h").read_text(errors="replace")
    except OSError:
        return None
    match = re.search(r"#define CUDA_VERSION (\d+)", text)
    return int(match[1]) // 1000 if match else None


def _header_versions(folders: tuple[str, ...], major: int) -> Iterator[str]:
    for part, (marker, wheel, component) in _HEADER_PARTS.items():
        for folder in folders:
            if (Path(folder) / marker).is_file():
                package = f"nvidia_{wheel}" if major >= 13 else f"nvidia_{wheel}_cu{major}"
                yield f"{part} {_version_of(Path(folder), marker, package, component)}"
                break


def _version_of(folder: Path, marker: str, package: str, component: str) -> str:
    """Return a header package's version: the wheel's, else the toolkit's version.json, else a digest of the marker."""
    for parent in folder.parents:
        for info in sorted(parent.glob(f"{package}-*.dist-info")):
            return info.name.removesuffix(".dist-info").rsplit("-", 1)[1]
        listing = parent / "version.json"
        if listing.is_file():
            data = json.loads(listing.read_text())
            if component in data:
                return str(data[component]["version"])
        if parent.name in {"site-packages", "dist-packages"}:
            break
    return sha256((folder / marker).read_bytes()).hexdigest()[:16]


@cache
def supported_numbers() -> frozenset[int]:
    """Return the base numbers (75, 80, ...) this NVRTC compiles; suffixed forms are not listed by it."""
    load_toolchain()
    from cuda.bindings import nvrtc  # noqa: PLC0415 - loads the library

    _, count = nvrtc.nvrtcGetNumSupportedArchs()
    return frozenset(int(number) for number in nvrtc.nvrtcGetSupportedArchs()[1][:count])
