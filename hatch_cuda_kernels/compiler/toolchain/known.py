"""The toolchains seen on this machine, remembered by their files: a cache hit must not load NVRTC for its key."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

from hatch_cuda_kernels.cache.location import default_cache_path
from hatch_cuda_kernels.cache.trust import distrust
from hatch_cuda_kernels.compiler.toolchain.installed import Toolchain, find_toolchain
from hatch_cuda_kernels.compiler.toolchain.parts import PARTS, find_parts
from hatch_cuda_kernels.compiler.toolchain.recall import remember, stamp
from hatch_cuda_kernels.compiler.toolchain.toolkit_headers import HeaderMemo
from hatch_cuda_kernels.compiler.toolchain.wheels import find_header_folders, find_library
from hatch_cuda_kernels.errors import ToolchainError

__all__ = ["current_toolchain", "known_toolchains", "remember_toolchain"]

_FILE: Final = "toolchains.json"
_HEADERS_FILE: Final = "toolkit_headers.json"
_FIELDS: Final = {"nvrtc", "headers", "nvjitlink", "include_dirs", "files"}
#: What decides which NVRTC and which headers a process finds, besides the wheels on its path.
_ENVIRONMENT: Final = ("CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH")


def known_toolchains() -> tuple[Toolchain, ...]:
    """Return the toolchains whose recorded images may serve here, without loading NVRTC where it was seen before.

    Normally that is the one toolchain of this process. A process without NVRTC may use what any toolchain recorded in
    this cache. Raises ToolchainError where there is neither.
    """
    try:
        return (current_toolchain(),)
    except ToolchainError:
        others = tuple(dict.fromkeys(map(_toolchain, _read().values())))
        if others:
            return others
        raise


def current_toolchain() -> Toolchain:
    """Return this process's toolchain, without loading NVRTC where it was seen before, or a wheel names its build.

    Raises ToolchainError where there is no NVRTC.
    """
    memory = _read()
    fingerprint = _fingerprint()
    remembered = memory.get(fingerprint)
    if remembered is not None and _unchanged(remembered):
        return _toolchain(remembered)
    toolchain = find_toolchain()
    _remember(memory, fingerprint, toolchain)
    return toolchain._replace(memo=_memo())


def remember_toolchain(outside: tuple[str, ...] | None, *, lto: bool) -> None:
    """Let ``recall`` answer for these headers, where everything comes from wheels; raises nothing.

    Besides the files themselves it depends on the folders that others could appear in before them.
    """
    nvrtc, nvjitlink = find_library("nvrtc"), find_library("nvJitLink")
    bindings = sys.modules["cuda.bindings"].__file__
    if nvrtc is None or (lto and nvjitlink is None) or "system" in _fingerprint().split("\n"):
        return
    toolchain, asked = current_toolchain(), set[str]()
    part = toolchain.of_compile(outside, lto=lto, asked=asked).key_part
    found = [path for path in (nvrtc, nvjitlink) if path is not None]
    found += [Path(folder) for folder in toolchain.include_dirs]
    found += [path for part in find_parts(toolchain.include_dirs, toolchain.release[0]) for path in part.evidence]
    # The folders from a library or header up to the site folder: a wheel that comes or goes changes one of them.
    above = [parent for path in found for parent in path.parents if parent.is_relative_to(_site(nvrtc))]
    remember(outside, lto=lto, part=part, files=[*asked, *map(str, (*found, *above, bindings))])


def _site(library: Path) -> Path:
    return next(parent.parent for parent in library.parents if parent.name == "nvidia")


def _fingerprint() -> str:
    """Return text that changes when another NVRTC or nvJitLink, or other headers, would be found."""
    markers = [[folder / part.marker for folder in find_header_folders()] for part in PARTS.values()]
    nvrtc, nvjitlink = find_library("nvrtc"), find_library("nvJitLink")
    found = [path for path in (nvrtc, nvjitlink, *itertools.chain(*markers)) if path is not None and path.is_file()]
    lines = [stamp(path) for path in found]
    if nvrtc is None or not all(any(marker in found for marker in group) for group in markers):
        lines += ["system", sys.prefix, *(f"{name}={os.environ.get(name, '')}" for name in _ENVIRONMENT)]
    return "\n".join(lines)


def _unchanged(remembered: dict[str, Any]) -> bool:
    """Return whether the library and what tells the headers' versions are still the same."""
    return all(stamp(line.rsplit(" ", 2)[0]) == line for line in remembered["files"])


def _remember(memory: dict[str, dict[str, Any]], fingerprint: str, toolchain: Toolchain) -> None:
    files = [] if find_library("nvrtc") else [Path(path) for path in _loaded_nvrtc()]
    files += [path for part in find_parts(toolchain.include_dirs, toolchain.release[0]) for path in part.evidence]
    record = {
        "nvrtc": toolchain.nvrtc,
        "headers": toolchain.headers,
        "nvjitlink": toolchain.nvjitlink,
        "include_dirs": toolchain.include_dirs,
        "files": [stamp(path) for path in files],
    }
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
        return {key: value for key, value in data.items() if value.keys() >= _FIELDS}
    except (OSError, ValueError, AttributeError):
        return {}


def _toolchain(remembered: dict[str, Any]) -> Toolchain:
    return Toolchain(
        remembered["nvrtc"],
        remembered["headers"],
        tuple(remembered["include_dirs"]),
        remembered["nvjitlink"],
        _memo(),
    )


def _memo() -> HeaderMemo | None:
    root = default_cache_path()
    return None if root is None or distrust(root) is not None else _memo_at(root / _HEADERS_FILE)


@cache
def _memo_at(file: Path) -> HeaderMemo:
    return HeaderMemo(file)
