"""The toolchains seen on this machine, remembered by their files: a cache hit must not load NVRTC for its key."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any, Final

from hatch_cuda_kernels.cache.location import default_cache_path
from hatch_cuda_kernels.cache.trust import distrust
from hatch_cuda_kernels.compiler.cuda_wheels import find_header_folders, find_library
from hatch_cuda_kernels.compiler.toolchain import HEADER_MARKERS, Toolchain, load_toolchain
from hatch_cuda_kernels.errors import ToolchainError

__all__ = ["known_toolchains"]

_FILE: Final = "toolchains.json"
#: What decides which NVRTC a process finds, besides the wheels on its path.
_ENVIRONMENT: Final = ("CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH")


def known_toolchains() -> tuple[Toolchain, ...]:
    """Return the toolchains whose recorded images may serve here, without loading NVRTC where it was seen before.

    Normally that is the one toolchain of this process. A process without NVRTC may use what any toolchain recorded in
    this cache. Raises ToolchainError where there is neither.
    """
    memory = _read()
    fingerprint = _fingerprint()
    remembered = memory.get(fingerprint)
    if remembered is not None and _unchanged(remembered):
        return (_toolchain(remembered),)
    try:
        toolchain = load_toolchain()
    except ToolchainError:
        if memory:
            return tuple(dict.fromkeys(map(_toolchain, memory.values())))
        raise
    _remember(memory, fingerprint, toolchain)
    return (toolchain,)


def _fingerprint() -> str:
    """Return text that changes when another NVRTC, or other headers, would be found."""
    library = find_library("nvrtc")
    if library is None:
        return "\n".join(["system", sys.prefix, *(f"{name}={os.environ.get(name, '')}" for name in _ENVIRONMENT)])
    markers = [folder / marker for folder in find_header_folders() for marker in HEADER_MARKERS]
    return "\n".join(filter(None, map(_stamp, [library, *markers])))


def _stamp(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return ""
    return f"{path} {found.st_size} {found.st_mtime_ns}"


def _unchanged(remembered: dict[str, Any]) -> bool:
    """Return whether the library file a system toolchain was loaded from is still the same."""
    return all(_stamp(Path(stamp.rsplit(" ", 2)[0])) == stamp for stamp in remembered["files"])


def _remember(memory: dict[str, dict[str, Any]], fingerprint: str, toolchain: Toolchain) -> None:
    files = [] if find_library("nvrtc") else [_stamp(Path(path)) for path in _loaded_nvrtc()]
    record = {"nvrtc": toolchain.nvrtc, "headers": toolchain.headers, "files": files}
    root = default_cache_path()
    if root is None:
        return
    path = root / _FILE
    with contextlib.suppress(OSError):  # a cache that cannot be written only costs the next process a load
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        staged = path.with_suffix(f".{os.getpid()}")
        staged.write_text(json.dumps({**memory, fingerprint: record}, indent=1), encoding="utf-8")
        staged.replace(path)


def _loaded_nvrtc() -> list[str]:
    """Return the files of NVRTC mapped into this process, as the kernel lists them."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return sorted({line.split(maxsplit=5)[5] for line in maps.splitlines() if "libnvrtc.so" in line})


def _read() -> dict[str, dict[str, Any]]:
    """Return what is remembered; nothing where the file is missing or damaged."""
    root = default_cache_path()
    if root is None or distrust(root) is not None:
        return {}
    try:
        data = json.loads((root / _FILE).read_bytes())
        return {key: value for key, value in data.items() if {"nvrtc", "headers", "files"} <= value.keys()}
    except (OSError, ValueError, AttributeError):
        return {}


def _toolchain(remembered: dict[str, Any]) -> Toolchain:
    return Toolchain(remembered["nvrtc"], remembered["headers"])
