"""The toolchain as the last process found it: a process that only needs a key must not load NVRTC for it."""

from __future__ import annotations

import itertools
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hatch_cuda_kernels.cache import Notes, file_state, unchanged
from hatch_cuda_kernels.compiler.toolchain.installed import Toolchain, find_toolchain
from hatch_cuda_kernels.compiler.toolchain.key_parts import keep_key_part, searched_environment
from hatch_cuda_kernels.compiler.toolchain.libraries import library_files
from hatch_cuda_kernels.compiler.toolchain.parts import PARTS, find_parts
from hatch_cuda_kernels.compiler.toolchain.wheels import find_header_folders
from hatch_cuda_kernels.errors import ToolchainError
from hatch_cuda_kernels.includes import Asked, OuterHeaders, packaged_standard_headers

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["current_toolchain", "installed_headers", "known_toolchains", "remember_key_part"]

_NOTES: Final = Notes("toolchain")


def known_toolchains() -> tuple[Toolchain, ...]:
    """Return the toolchains whose recorded images may serve here.

    Normally that is this process's one toolchain. A process without NVRTC may use what any remembered toolchain has
    recorded. Raises ToolchainError if there is neither.
    """
    try:
        return (current_toolchain(),)
    except ToolchainError:
        others = {toolchain for note in _NOTES.read_all() if (toolchain := _noted(note)) is not None}
        if others:
            return tuple(sorted(others))
        raise


def current_toolchain() -> Toolchain:
    """Return this process's toolchain, without loading NVRTC if it is remembered or an untouched wheel names its build.

    Raises ToolchainError if there is no NVRTC, or only one that is too old.
    """
    subject = _found_files()
    note = _NOTES.read(subject)
    noted = _noted(note)
    if noted is not None and unchanged(note["states"]):
        return noted
    toolchain = find_toolchain()
    _NOTES.write(subject, {**toolchain._asdict(), "states": _states(toolchain)})
    return toolchain


def installed_headers() -> OuterHeaders:
    """Return the headers outside a project that are here, of the toolchain that is here when they are first asked for.

    Where there is no toolchain, the toolkit's ask for nothing.
    """

    @cache
    def toolchain() -> Toolchain | None:
        try:
            return current_toolchain()
        except ToolchainError:
            return None

    def asks(names: tuple[str, ...]) -> Asked:
        found = toolchain()
        return Asked() if found is None else found.scan(names).asked

    return OuterHeaders(packaged_standard_headers(), asks)


def remember_key_part(
    outside: tuple[str, ...] | None, *, built: str, lto: bool, used: Callable[[Toolchain], Toolchain]
) -> None:
    """Let ``recall_key_part`` answer this question from now on, if the libraries come from wheels.

    ``used`` returns, of the toolchain that is here, the one that the compile uses.
    Besides the files themselves, the answer depends on the folders in which others could appear ahead of them.
    """
    nvrtc, nvjitlink = library_files("nvrtc"), library_files("nvJitLink") if lto else ()
    if not nvrtc or (lto and not nvjitlink):
        return
    try:
        toolchain = current_toolchain()
    except ToolchainError:  # the image was recorded by another one than is here
        return
    headers = [] if outside is None else [*map(Path, toolchain.include_dirs), *_evidence(toolchain)]
    found = [*nvrtc, *nvjitlink, *headers]
    # The folders from a library or header up to the site folder: a wheel that comes or goes changes one of them.
    site = next(parent.parent for parent in nvrtc[0].parents if parent.name == "nvidia")
    above = [parent for path in found for parent in path.parents if parent.is_relative_to(site)]
    bindings = str(sys.modules["cuda.bindings"].__file__)
    states = {str(path): file_state(path) for path in (*found, *above, Path(bindings))}
    compiles = used(toolchain)
    states |= dict(compiles.scan(outside).states)
    part = compiles.of_compile(outside, finisher="nvjitlink" if lto else "nvrtc").key_part
    if current_toolchain() == toolchain:  # otherwise, it has changed just now
        keep_key_part(outside, built=built, lto=lto, part=part, states=states)


def _found_files() -> str:
    """Return text that changes when another NVRTC, another nvJitLink or other headers would be found."""
    found = (*library_files("nvrtc"), *library_files("nvJitLink"), *itertools.chain(*_markers()))
    lines = [*map(str, find_header_folders()), *(f"{path} {file_state(path)}" for path in found)]
    if not library_files("nvrtc") or not all(_markers()):
        lines += ["system", sys.prefix, *searched_environment()]
    return "\n".join(lines)


def _markers() -> list[list[Path]]:
    """Return, for each part, the files in wheels that show where it is."""
    folders = find_header_folders()
    found = [[folder / part.marker for folder in folders] for part in PARTS.values()]
    return [[marker for marker in markers if marker.is_file()] for markers in found]


def _states(toolchain: Toolchain) -> dict[str, str]:
    """Return the states of the files that a toolchain's versions were read from."""
    nvrtc = [] if library_files("nvrtc") else [Path(path) for path in _loaded_nvrtc()]
    return {str(path): file_state(path) for path in (*nvrtc, *_evidence(toolchain))}


def _evidence(toolchain: Toolchain) -> list[Path]:
    parts = find_parts(toolchain.include_dirs, toolchain.release[0])
    return [path for part in parts for path in part.evidence]


def _loaded_nvrtc() -> list[str]:
    """Return the files of NVRTC mapped into this process, as the kernel lists them."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return sorted({line.split(maxsplit=5)[5] for line in maps.splitlines() if "libnvrtc.so" in line})


def _noted(note: dict[str, Any]) -> Toolchain | None:
    """Return the toolchain that a note describes; None if the note is damaged or missing."""
    try:
        return Toolchain(note["nvrtc"], note["headers"], tuple(note["include_dirs"]), note["nvjitlink"])
    except (KeyError, TypeError):
        return None
