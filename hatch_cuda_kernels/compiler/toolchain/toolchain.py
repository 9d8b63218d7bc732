"""Which NVRTC, nvJitLink, ptxas and toolkit headers compile here, by exact version.

They are found by looking for them, or recalled from the notes of an earlier process: a process that only needs a key
must not load NVRTC for it.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.arch import SmArch, cuda_release_for_arch, release_of, version_text
from hatch_cuda_kernels.cache import Notes, file_state
from hatch_cuda_kernels.compiler.toolchain.headers import PARTS, HeaderScan, find_parts, parts_of, scan_headers
from hatch_cuda_kernels.compiler.toolchain.key_parts import keep_key_part, searched_environment
from hatch_cuda_kernels.compiler.toolchain.libraries import (
    altered_library,
    ask_nvrtc,
    check_age,
    find_header_folders,
    find_ptxas,
    identity,
    library_files,
    library_version,
    nvjitlink_version,
    supported_numbers,
)
from hatch_cuda_kernels.compiler.toolchain.packages import (
    conda_install,
    is_conda,
    pinned,
    pip_install,
    release_requirements,
)
from hatch_cuda_kernels.errors import Problem, ToolchainError
from hatch_cuda_kernels.includes import STANDARD_FOLDER, Asked, OuterHeaders, packaged_standard_headers

if TYPE_CHECKING:
    from hatch_cuda_kernels.image import Finisher

_NOTES: Final = Notes("toolchain")


class Toolchain(NamedTuple):
    """The versions of NVRTC, the toolkit's headers, nvJitLink and ptxas; two equal toolchains give equal images."""

    nvrtc: str
    """Such as ``13.0.88``, followed by ``+`` and a digest where the library is not as its wheel lists it."""
    headers: str = ""
    """Such as ``cccl 13.0.85, crt 13.0.88, cudart 13.0.96``; empty where no toolkit headers are installed."""
    include_dirs: tuple[str, ...] = ()
    """Where the headers are on this machine; not part of the toolchain's identity."""
    nvjitlink: str = ""
    """nvJitLink's version, in the same form; empty where it is missing, or unknown until it is loaded."""
    ptxas: str = ""
    """The version of ptxas, in the same form, of a compile that it finishes; empty where it is missing."""
    cudadevrt: str = ""
    """The version of the device runtime, in the same form, that a module is linked with; its bytes enter the key."""
    standard: tuple[str, ...] | None = None
    """Names of this package's standard headers that the compile uses; None if it uses none of them."""

    @property
    def release(self) -> tuple[int, int]:
        """NVRTC's toolkit release, ``(13, 0)``."""
        return release_of(self.nvrtc)

    @property
    def key_part(self) -> dict[str, str]:
        """What enters a key, as ``cache_key`` takes it."""
        part = {"nvrtc": self.nvrtc, "toolkit_headers": self.headers, "nvjitlink": self.nvjitlink}
        return {**part, "ptxas": self.ptxas} if self.ptxas else part

    def of_compile(self, outside: tuple[str, ...] | None, *, finisher: Finisher) -> Toolchain:
        """Return the part of the toolchain that enters one compile's key and images.

        ``outside`` are the headers that the compile may take from the toolkit's folders; None if it searches none.
        Then ``headers`` is empty; else it ends with a digest of the headers that no version stands for, if any.
        """
        others = self.scan(outside, is_for_key=True).others
        headers = [self.headers, f"others {others}" if others else ""] if outside is not None else []
        nvjitlink = (self.nvjitlink or _loaded_nvjitlink()) if finisher == "nvjitlink" else ""
        ptxas = (self.ptxas or ptxas_version(self.nvrtc)) if finisher == "ptxas" else ""
        return Toolchain(self.nvrtc, ", ".join(filter(None, headers)), nvjitlink=nvjitlink, ptxas=ptxas)

    def takes_as(self, headers: str, outside: tuple[str, ...] | None) -> bool:
        """Return whether a compile takes from the toolkit's folders what a build did that recorded ``headers``."""
        return outside is None or self.of_compile(outside, finisher="nvrtc").headers == headers

    def with_standard(self, names: Iterable[str]) -> Toolchain:
        """Return the toolchain with this package's standard headers, ``names`` being those that sources ask for.

        They enter keys like any header that no version stands for.
        """
        return self._replace(standard=tuple(sorted(names)))

    def scan(self, outside: tuple[str, ...] | None, *, is_for_key: bool = False) -> HeaderScan:
        """Return what these headers lead to in the toolkit's folders: nothing, if a compile does not search them."""
        if outside is None:
            return HeaderScan()
        if self.standard is None:
            return scan_headers(outside, self.include_dirs, is_for_key=is_for_key)
        return scan_headers((*outside, *self.standard), (STANDARD_FOLDER, *self.include_dirs), is_for_key=is_for_key)

    def to_json(self) -> dict[str, str]:
        """Return what the index and cache entries record."""
        others = {"nvjitlink": self.nvjitlink, "ptxas": self.ptxas, "cudadevrt": self.cudadevrt}
        recorded = {"nvrtc": self.nvrtc, "headers": self.headers}
        return recorded | {name: version for name, version in others.items() if version}


@cache
def load_toolchain() -> Toolchain:
    """Load NVRTC and return the toolchain. Raises ToolchainError, with what to install, without a usable NVRTC."""
    return _toolchain(ask_nvrtc())


def find_toolchain() -> Toolchain:
    """Return the same, without loading NVRTC if its wheel is untouched. Raises ToolchainError likewise."""
    version = library_version("nvrtc")
    untouched = version.count(".") == 2 and not altered_library("nvrtc")
    return _toolchain(version if untouched else ask_nvrtc())


def _toolchain(version: str) -> Toolchain:
    check_age(version)
    major = int(version.partition(".")[0])
    folders = tuple(str(folder) for folder in header_folders(major))
    headers = ", ".join(f"{part.name} {part.version}" for part in find_parts(folders, major))
    nvjitlink = identity(library_version("nvJitLink"), "nvJitLink")
    return Toolchain(identity(version, "nvrtc"), headers, folders, nvjitlink)


def header_folders(major: int) -> Iterator[Path]:
    """Yield the folders with the toolkit's headers, each once: those of wheels, or else those cuda.pathfinder finds.

    Of the latter, those of another NVRTC's toolkit are left out: of another major, or, where a wheel brings NVRTC, of
    another release. Wheels of a newer release than NVRTC's, somewhere else on ``sys.path``, come last.
    """
    for folder, is_used in _known_folders(major).items():
        if is_used:
            yield folder


def _known_folders(major: int) -> dict[Path, bool]:
    """Return every folder that is found, and whether its headers are for the NVRTC here."""
    own, nvrtc = list(find_header_folders()), library_version("nvrtc")
    release = release_of(nvrtc) if nvrtc.startswith(f"{major}.") else None
    system = [
        folder
        for name, part in PARTS.items()
        if not any((folder / part.marker).is_file() for folder in own)
        for folder in _system_folders(name)
    ]
    found = {folder: _release_in(folder) for folder in (*own, *system)}
    newest = release or (major + 1, 0)
    found = dict(sorted(found.items(), key=lambda one: (one[1] or newest) > newest))
    return {
        folder: stated is None or (stated[0] == major and (folder in own or release in {stated, None}))
        for folder, stated in found.items()
    }


def _release_in(folder: Path) -> tuple[int, int] | None:
    """Return the release of the toolkit that a folder belongs to; None if no header beside or above says so."""
    headers = (place / "cuda.h" for place in (folder, folder.parent))
    return next((release for header in headers if (release := _stated_release(header, file_state(header)))), None)


def _system_folders(part: str) -> list[Path]:
    from cuda.pathfinder import find_nvidia_header_directory  # only compiles need it

    found = find_nvidia_header_directory("nvcc" if part == "crt" else part)
    return [Path(found)] if found else []


@lru_cache(maxsize=16)
def _stated_release(header: Path, _state: str) -> tuple[int, int] | None:
    try:
        text = header.read_bytes()  # a megabyte
    except OSError:
        return None
    match = re.search(rb"#define CUDA_VERSION (\d+)", text)
    return _of_macro(int(match[1])) if match else None


def _of_macro(version: int) -> tuple[int, int]:
    return version // 1000, version % 1000 // 10


def disagreement(
    found: Toolchain,
    outside: tuple[str, ...] | None,
    *,
    finisher: Finisher,
    opened: Callable[[], Iterable[str]] = tuple,
) -> Problem | None:
    """Return why the parts of a toolchain cannot make an image together, and what mends it; None if they can.

    ``outside`` are the headers that the compile may take from the toolkit's folders, None for none, and ``opened``
    returns those that it opens whatever macros say. Older headers compile with a newer NVRTC, and so do a newer CCCL
    and newer headers of the compiler's own; newer ones of the runtime do so in part, with errors of the assembler.
    """
    if finisher == "nvjitlink":
        version = found.nvjitlink or _loaded_nvjitlink()
        if not version:
            return Problem("nvJitLink is not installed", _mend(found, ["nvjitlink"]))
        if release_of(version) < found.release:
            older = f"nvJitLink {version}{_place('nvJitLink')} is older than {_nvrtc(found)}"
            return Problem(f"{older}, and links nothing that it compiles", _mend(found, ["nvjitlink"]))
    if outside is None:
        return None
    versions = dict(part.split(" ", 1) for part in found.headers.split(", ") if " " in part)
    runtime = _stated(versions.get("cudart", ""))
    if runtime is not None and runtime > found.release:
        folders = (folder for folder in found.include_dirs if _is_in([folder], PARTS["cudart"].marker))
        newer = f"the toolkit's headers (cudart {versions['cudart']}, in {next(folders, '')}) are newer"
        return Problem(f"{newer} than {_nvrtc(found)}, which cannot compile all of them", _mend(found, ["cudart"]))
    return _absence(found, opened()) if len(versions) < len(PARTS) else None


def _absence(found: Toolchain, opened: Iterable[str]) -> Problem | None:
    lacking = {name: parts for name in opened if (parts := parts_of(name)) and not _is_in(found.include_dirs, name)}
    if not lacking:
        return None
    unused = [folder for folder, is_used in _known_folders(found.release[0]).items() if not is_used]
    others = [
        f"; those in {folder} are of CUDA {version_text(release)}"
        for folder in unused
        if folder.parent not in unused and (release := _release_in(folder)) is not None
    ]
    what = f"no headers for {_nvrtc(found)} are installed that have {', '.join(sorted(lacking))}{''.join(others)}"
    return Problem(what, _mend(found, sorted({part for parts in lacking.values() for part in parts})))


def _stated(version: str) -> tuple[int, int] | None:
    """Return the release in a part's version, which is a macro's if nothing states it; None if it says nothing."""
    try:
        first = int(version.partition(".")[0])
        return _of_macro(first) if first >= 1000 else release_of(version)
    except ValueError:
        return None


def _is_in(folders: Iterable[str], name: str) -> bool:
    return any((Path(folder) / name).is_file() for folder in folders)


def _nvrtc(found: Toolchain) -> str:
    return f"NVRTC {found.nvrtc}{_place('nvrtc')}"


def _place(stem: str) -> str:
    """Return where a library is, in brackets; empty if no wheel brings it and this process has not loaded it."""
    files = library_files(stem)
    path = str(files[-1]) if files else next(iter(loaded_files(f"lib{stem}.so")), "")
    return f" ({path})" if path else ""


def _mend(found: Toolchain, parts: list[str]) -> str:
    """Return the command that brings these parts for the NVRTC here, and that NVRTC as well if no wheel brought it."""
    if library_files("nvrtc"):
        return pip_install(*(pinned(part, found.release) for part in parts))
    if is_conda():
        return conda_install(*("nvrtc", *parts), release=found.release)
    return pip_install(*release_requirements(found.release, finishers=("nvjitlink",)))


def ptxas_version(nvrtc: str) -> str:
    """Return the version of the ptxas that goes with a build of NVRTC; empty if there is none."""
    found = find_ptxas(nvrtc)
    return "" if found is None else found.version


def supports_arch(arch: SmArch, release: tuple[int, int]) -> bool:
    """Return whether the NVRTC of a release knows an architecture; it is loaded only if the table says no."""
    since = cuda_release_for_arch(arch, major=release[0])
    return (since is not None and since <= release) or arch.number in supported_numbers()


def known_toolchains() -> tuple[Toolchain, ...]:
    """Return the toolchains whose recorded images may serve here: this process's, or else any that is remembered.

    Raises ToolchainError if there is neither.
    """
    try:
        return (current_toolchain(),)
    except ToolchainError:
        others = set(filter(None, map(_noted, _NOTES.read_all())))
        if others:
            return tuple(sorted(others))
        raise


def current_toolchain() -> Toolchain:
    """Return this process's toolchain, without loading NVRTC if it is remembered or an untouched wheel names its build.

    Raises ToolchainError if there is no NVRTC, or only one that is too old.
    """
    subject = _found_files()
    if noted := _noted(_NOTES.read_current(subject)):
        return noted
    with _NOTES.turn(subject):  # of many processes that start at once, one hashes 100 MB
        if noted := _noted(_NOTES.read_current(subject)):
            return noted
        toolchain = find_toolchain()
        # Without a wheel, the kernel lists the files of NVRTC that are mapped into this process.
        nvrtc: list[str] = [] if library_files("nvrtc") else loaded_files("libnvrtc.so")
        states = {str(path): file_state(path) for path in [*map(Path, nvrtc), *_evidence(toolchain)]}
        _NOTES.write(subject, {**toolchain._asdict(), "states": states})
    return toolchain


def installed_headers() -> OuterHeaders:
    """Return the headers outside a project that are here, of the toolchain that is here when they are first asked for.

    Without a toolchain, the toolkit's headers ask for nothing.
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
    scan = compiles.scan(outside, is_for_key=True)
    states |= scan.states
    part = compiles.of_compile(outside, finisher="nvjitlink" if lto else "nvrtc").key_part
    if scan.is_settled and current_toolchain() == toolchain:  # otherwise, something has changed just now
        keep_key_part(outside, built=built, lto=lto, part=part, states=states)


@cache
def _loaded_nvjitlink() -> str:
    try:
        return identity(".".join(map(str, nvjitlink_version())), "nvJitLink")
    except ToolchainError:
        return ""


def _noted(note: dict[str, Any]) -> Toolchain | None:
    try:
        return Toolchain(note["nvrtc"], note["headers"], tuple(note["include_dirs"]), note["nvjitlink"])
    except (KeyError, TypeError):
        return None


def _found_files() -> str:
    """Return text that changes when another NVRTC, another nvJitLink or other headers would be found."""
    folders, nvrtc = find_header_folders(), library_files("nvrtc")
    markers = [[path for folder in folders if (path := folder / part.marker).is_file()] for part in PARTS.values()]
    found = (*nvrtc, *library_files("nvJitLink"), *itertools.chain(*markers))
    lines = [*map(str, folders), *(f"{path} {file_state(path)}" for path in found)]
    if not nvrtc or not all(markers):
        lines += ["system", sys.prefix, *searched_environment()]
    return "\n".join(lines)


def _evidence(toolchain: Toolchain) -> list[Path]:
    return [path for part in find_parts(toolchain.include_dirs, toolchain.release[0]) for path in part.evidence]


def loaded_files(name: str) -> list[str]:
    """Return the files with a text in their paths that this process has mapped, as far as the kernel lists them."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return sorted({line.split(maxsplit=5)[5] for line in maps.splitlines() if name in line})
