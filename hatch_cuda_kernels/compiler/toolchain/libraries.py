"""NVRTC, nvJitLink, ptxas and the device runtime (``cudadevrt``) as files: where they are, and which versions.

Wheels are found through ``sys.path``. A file in one is read once, and again by any process when its state has changed.
cuda.pathfinder looks into the interpreter's own site-packages only, and pip builds in an environment that only
``sys.path`` knows. So this module loads a library before the bindings ask for it: they use what is loaded already.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import sys
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from hatch_cuda_kernels.arch import OLDEST_RELEASE, release_of, version_text
from hatch_cuda_kernels.cache import Notes, default_cache_path, file_state, is_older, last_change
from hatch_cuda_kernels.compiler.toolchain.packages import (
    bindings,
    distribution,
    exactly,
    first_release,
    pinned,
    pip_install,
    release_requirements,
)
from hatch_cuda_kernels.device_library import DEVICE_RUNTIME, DeviceLibrary
from hatch_cuda_kernels.errors import ToolchainError, is_absent
from hatch_cuda_kernels.forks import load_library, spawn_if_forked, use_compiler
from hatch_cuda_kernels.integrity import sha256
from hatch_cuda_kernels.threads import Ahead, keep_sigint_handler

#: Folder of a tool below ``nvidia/`` in wheels of CUDA 12; from CUDA 13 on, all are in ``cu13``.
_CUDA_12_FOLDERS: Final = {
    "nvrtc": "cuda_nvrtc",
    "nvJitLink": "nvjitlink",
    "ptxas": "cuda_nvcc",
    "cudadevrt": "cuda_runtime",
}
#: Files below the tool's folder: on Linux, and on Windows in wheels of CUDA 13 and of CUDA 12.
_FILES: Final = {
    "nvrtc": ("lib/libnvrtc.so.{major}", "bin/x86_64/nvrtc64_{major}0_0.dll", "bin/nvrtc64_{major}0_0.dll"),
    "nvJitLink": ("lib/libnvJitLink.so.{major}", "bin/x86_64/nvJitLink_{major}0_0.dll", "bin/nvJitLink_{major}0_0.dll"),
    "ptxas": ("bin/ptxas", "bin/ptxas.exe", "bin/ptxas.exe"),
    "cudadevrt": ("lib/libcudadevrt.a", "lib/x64/cudadevrt.lib", "lib/x64/cudadevrt.lib"),
}
_NOTES: Final = Notes("includes")
#: Of times of files: older kernels count them in steps of up to 10 ms.
_TICKS_NS: Final = 100_000_000


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
    """Return the first library, ``ptxas`` or ``cudadevrt`` of that name in a wheel on ``sys.path``, or None."""
    major = bindings_major()
    folder = f"cu{major}" if major >= 13 else _CUDA_12_FOLDERS[stem]
    elsewhere, windows, windows_12 = _FILES[stem]
    file = elsewhere if sys.platform != "win32" else windows if major >= 13 else windows_12
    found = (root / folder / file.format(major=major) for root in _nvidia_folders())
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
    names = (f"cu{major}",) if major >= 13 else ("cuda_runtime", "cuda_cccl", "cuda_nvcc", "curand")
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
    return _listed(tuple((wheel.record, file_state(wheel.record)) for wheel in wheels))


@lru_cache(maxsize=16)
def _listed(records: tuple[tuple[Path, str], ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for record, _ in records:
        with suppress(OSError):
            lines = record.read_text(encoding="utf-8", errors="replace").splitlines()
            fields = (line.partition(",sha256=") for line in lines)
            found |= {path: rest.partition(",")[0] for path, _, rest in fields if rest}
    return found


def _nvidia_folders() -> Iterator[Path]:
    for entry in filter(None, sys.path):
        folder = os.path.join(entry, "nvidia")  # noqa: PTH118 - Path takes several times as long, for each entry
        if os.path.isdir(folder):  # noqa: PTH112
            yield Path(folder)


class Contents:
    """Facts that a reader finds in files, remembered with the state of each, here and in a note about their place.

    What changed just now is not remembered: another change could give it the same state.
    """

    def __init__(self, place: str, read: Callable[[str], list[str]]) -> None:
        self._place = place
        self._read = read
        self._changed = False

    @cached_property
    def _known(self) -> dict[str, Any]:
        return _NOTES.read(self._place)

    def of(self, path: str, state: str) -> list[str]:
        """Return the facts about a file that is in this state."""
        facts = self._known_of(path, state)
        if facts is None:
            start = settling_time()
            facts = self._read(path)
            if last_change([state]) < start:
                self._known[path] = [state, *facts]
                self._changed = True
        return facts

    def of_large(self, states: Mapping[str, str]) -> dict[str, list[str]]:
        """Return the facts about files in these states; of many processes that start at once, one reads them."""
        if any(self._known_of(path, state) is None for path, state in states.items()):
            with _NOTES.turn(self._place):
                self.__dict__.pop("_known", None)  # another process may have written it
                found = {path: self.of(path, state) for path, state in states.items()}
                self.save()
                return found
        return {path: self.of(path, state) for path, state in states.items()}

    def _known_of(self, path: str, state: str) -> list[str] | None:
        known = self._known.get(path)
        return known[1:] if isinstance(known, list) and known[:1] == [state] else None

    def save(self) -> None:
        """Write the note if a file was read; without it, the next process reads that file again."""
        if self._changed:
            self._changed = False
            _NOTES.write(self._place, dict(self._known))


def settling_time() -> int:
    """Return the time, in nanoseconds since 1970, before which a file must have changed last to be remembered now."""
    return time.time_ns() - _TICKS_NS


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


_PROBE: Final = b"// asks NVRTC which build it is: the PTX it writes says so in its head"
#: Offset, entry size and number of the section headers, in a 64-bit little-endian ELF file.
_ELF_HEADER: Final = struct.Struct("<40xQ10xHH2x")
_VERSION: Final = re.compile(rb"release \d+\.\d+, V([0-9.]+)")
_RUNTIME_FILES: Final = ("libcudadevrt.a", "cudadevrt.lib")
#: Of the digest that stands for the version of a file that no wheel brought.
_DIGITS: Final = 16
#: Where toolkits are, by variables of the environment, and where they keep static libraries.
_RUNTIME_FOLDERS: Final = ("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX")
_FOLDERS: Final = ("lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "lib/x64")


def library_files(stem: str) -> tuple[Path, ...]:
    """Return the files of a library (``nvrtc``, ``nvJitLink``) that a wheel brings, in the order to load them."""
    path = find_library(stem)
    builtins = f"{stem}-builtins64_*.dll" if sys.platform == "win32" else f"lib{stem}-builtins.so.*"
    return () if path is None else (*sorted(path.parent.glob(builtins)), path)


def altered_library(stem: str) -> str:
    """Return a digest of a library's files that differ from its wheel's list; empty for none, or without a wheel.

    A library has 100 MB: it is hashed only if it is newer than the list, which installers write last, once a state.
    """
    if stem in _hashing:
        _hashing[stem].wait()
    return _altered(stem)


def _altered(stem: str) -> str:
    files, wheel = library_files(stem), library_wheel(stem)
    site = site_of(files[-1]) if files else None
    if site is None:
        return ""
    listed = listed_files([wheel] if wheel is not None else [])
    names = {str(file): file.relative_to(site).as_posix() for file in files}
    unclear = {
        path: file_state(path)
        for path, name in names.items()
        if wheel is None or name not in listed or not is_older(Path(path), wheel.record)
    }
    digests = contents_at(str(files[-1]), _file_digest).of_large(unclear)
    found = ((names[path], facts[0]) for path, facts in digests.items())
    return digest_of_all((name, digest) for name, digest in found if listed.get(name) != digest)


_hashing: Final = {stem: Ahead(partial(_altered, stem)) for stem in ("nvrtc", "nvJitLink")}


def hash_ahead() -> None:
    """Begin to hash the libraries that need it, in threads: it takes as long as all that Python does meanwhile."""
    for hashing in _hashing.values():
        hashing.begin()


def _file_digest(path: str) -> list[str]:
    import hashlib  # loads OpenSSL, and most libraries are as they were

    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return [record_digest(hashlib.file_digest(file, "sha256").digest())]
    except OSError:
        return [""]


def identity(version: str, stem: str) -> str:
    """Return a library's version, followed by ``+`` and a digest if its files are not as its wheel lists them."""
    altered = altered_library(stem) if version else ""
    return f"{version}+{altered}" if altered else version


@cache
def preload(stem: str) -> None:
    """Load the library of a wheel, so that the bindings use that file. Raises ToolchainError if it cannot be loaded.

    Raises InheritedError in a process that was forked after its parent had loaded one.
    """
    use_compiler(stem)
    for file in library_files(stem):
        try:
            _refuse_cut(file)
            load_library(str(file))
        except OSError as error:
            wheel = exactly(stem.lower(), bindings_major(), library_version(stem))
            fix = pip_install(wheel, options="--force-reinstall --no-deps")
            raise ToolchainError(f"{file} cannot be loaded ({error})", fix) from error


def _refuse_cut(file: Path) -> None:
    """Raise OSError for an ELF file that ends before its section headers do: the loader would crash the process."""
    with file.open("rb") as opened:
        head = opened.read(_ELF_HEADER.size)
    if len(head) == _ELF_HEADER.size and head.startswith(b"\x7fELF"):
        start, size, count = _ELF_HEADER.unpack(head)
        if (found := file.stat().st_size) < (needed := start + size * count):
            raise OSError(f"it has {found} of at least {needed} bytes")


@contextmanager
def _required(name: str) -> Iterator[None]:
    """Raise ToolchainError in place of what pathfinder and the bindings raise for a library that cannot be loaded."""
    try:
        yield
    except Exception as error:  # of several types
        if is_absent(error):
            raise ToolchainError(f"{name} is not installed", install_compiler()) from None
        cause = next((f" ({line})" for line in str(error).splitlines()), "")
        raise ToolchainError(f"{name} is not installed{cause}", install_compiler()) from error


@spawn_if_forked
def _ask_nvrtc() -> str:
    """Load NVRTC and return its build, such as ``13.0.88``, from PTX: ``nvrtcVersion`` lacks the last number."""
    preload("nvrtc")
    with _required("NVRTC"):
        from cuda.bindings import nvrtc  # loads the library

        _, program = nvrtc.nvrtcCreateProgram(_PROBE, b"probe.cu", 0, [], [])
    # Without the option NVRTC looks for the driver, which may be broken; before 12.9 there is no such option.
    with keep_sigint_handler():
        if nvrtc.nvrtcCompileProgram(program, 1, [b"-no-cache"])[0] != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            nvrtc.nvrtcCompileProgram(program, 0, [])
    ptx = b"\0" * nvrtc.nvrtcGetPTXSize(program)[1]
    nvrtc.nvrtcGetPTX(program, ptx)
    nvrtc.nvrtcDestroyProgram(program)
    match = _VERSION.search(ptx)
    if match is None:
        raise ToolchainError("NVRTC does not say which build it is", install_compiler())
    return match[1].decode()


_asking: Final = Ahead(_ask_nvrtc)


@cache
def ask_nvrtc() -> str:
    """Return what ``_ask_nvrtc`` returns, which is asked once."""
    return _asking.get()


def ask_ahead() -> None:
    """Begin to load NVRTC: its start takes as long as the smallest compile, and most of it runs without the GIL."""
    _asking.begin()


def install_compiler() -> str:
    """Return the command that installs a compiler of NVRTC's release, or of the first: builds may refuse the newest."""
    try:
        found = library_version("nvrtc")
        release = release_of(found) if found else first_release(bindings_major())
    except (ImportError, ValueError):
        release = first_release()
    return pip_install(*release_requirements(release, finishers=("nvjitlink",)))


def check_age(version: str) -> None:
    """Raise ToolchainError for an NVRTC that is too old to compile with, which other packages may have installed."""
    major, minor = (int(number) for number in version.split(".")[:2])
    if (major, minor) < OLDEST_RELEASE:
        message = f"NVRTC {version} is too old; {version_text(OLDEST_RELEASE)} or newer is needed"
        raise ToolchainError(message, pip_install(pinned("nvrtc", OLDEST_RELEASE)))


@cache
def supported_numbers() -> frozenset[int]:
    """Return the numbers (75, 80, ...) of the architectures that NVRTC knows. Raises ToolchainError without one."""
    check_age(ask_nvrtc())
    return _supported_numbers()


@spawn_if_forked
def _supported_numbers() -> frozenset[int]:
    preload("nvrtc")
    from cuda.bindings import nvrtc  # loaded by now

    _, count = nvrtc.nvrtcGetNumSupportedArchs()
    return frozenset(int(number) for number in nvrtc.nvrtcGetSupportedArchs()[1][:count])


def known_numbers() -> str:
    """Return in words which architectures this NVRTC compiles for. Raises ToolchainError as ``supported_numbers``."""
    names = ", ".join(f"sm_{number}" for number in sorted(supported_numbers()))
    return f"NVRTC {ask_nvrtc()} knows {names}; from sm_90 on with a, from sm_100 on with f, too"


def load_nvjitlink() -> Any:  # a module
    """Load nvJitLink and return its bindings. Raises ToolchainError when it is missing."""
    preload("nvJitLink")
    with _required("nvJitLink"):
        from cuda.bindings import nvjitlink  # loads the library

        nvjitlink.version()
    return nvjitlink


@spawn_if_forked
def nvjitlink_version() -> tuple[int, int]:
    """Return nvJitLink's release; it reads PTX and LTO-IR of no newer one. Raises ToolchainError when it is missing."""
    major, minor = load_nvjitlink().version()
    return int(major), int(minor)


class Ptxas(NamedTuple):
    """One ptxas."""

    path: Path
    version: str
    """Such as ``13.0.88``, followed by ``+`` and a digest where the file is not as its wheel lists it."""
    packaged: bool


def require_ptxas(nvrtc: str) -> Ptxas:
    """Return the ptxas that goes with a build of NVRTC. Raises ToolchainError, naming the package, without one."""
    found = find_ptxas(nvrtc)
    if found is None:
        release = release_of(nvrtc)
        message = f"ptxas of CUDA {version_text(release)} is not installed, which assembles what this NVRTC compiles"
        raise ToolchainError(message, pip_install(pinned("ptxas", release)))
    return found


def find_ptxas(nvrtc: str) -> Ptxas | None:
    """Return the ptxas for a build of NVRTC, or None: from a wheel of its release, or a toolkit of that very build."""
    build = nvrtc.partition("+")[0]
    for ptxas in installed_ptxas():
        if ptxas.version == build or (ptxas.packaged and release_of(ptxas.version) == release_of(build)):
            return ptxas
    return None


def installed_ptxas() -> Iterator[Ptxas]:
    """Yield every ptxas that is looked for: of a wheel, of the toolkits that the environment names, and on PATH."""
    path, version = find_library("ptxas"), library_version("ptxas")
    if path is not None and version:
        yield Ptxas(path, identity(version, "ptxas"), packaged=True)
    homes = [os.path.join(home, "bin") for name in ("CUDA_HOME", "CUDA_PATH") if (home := os.environ.get(name))]  # noqa: PTH118 - a path
    for folder in (*homes, None):
        found = shutil.which("ptxas", path=folder)
        if found is not None and (version := _asked(found, file_state(found))):
            yield Ptxas(Path(found), version, packaged=False)


@cache
def _asked(path: str, _state: str) -> str:
    """Return the version that a ptxas states; empty if it does not run."""
    import subprocess  # who has no ptxas, or that of a wheel, needs none of it

    try:
        done = subprocess.run([path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603 - of the toolkit
    except OSError:
        return ""
    match = _VERSION.search(done.stdout)
    return match[1].decode() if match else ""


def load_device_runtime() -> DeviceLibrary:
    """Return the device runtime. Raises ToolchainError, naming the package to install, where there is none."""
    path, version = find_library(DEVICE_RUNTIME), library_version(DEVICE_RUNTIME)
    if path is not None:
        return _read(str(path), file_state(path), identity(version, DEVICE_RUNTIME))
    homes = filter(None, map(os.environ.get, _RUNTIME_FOLDERS))
    places = (Path(home, folder, name) for home in homes for folder in _FOLDERS for name in _RUNTIME_FILES)
    for found in filter(Path.is_file, places):
        return _read(str(found), file_state(found), "")
    nvrtc = library_version("nvrtc")
    wheel = pinned(DEVICE_RUNTIME, release_of(nvrtc)) if nvrtc else exactly(DEVICE_RUNTIME, bindings_major(), "")
    raise ToolchainError(f"{DEVICE_RUNTIME} is not installed, with which a module is linked", pip_install(wheel))


@cache
def _read(path: str, _state: str, version: str) -> DeviceLibrary:
    try:
        found = DeviceLibrary(DEVICE_RUNTIME, Path(path).read_bytes())
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise ToolchainError(message, "install CUDA's runtime again, or make the file readable") from error
    return found._replace(version=version or f"unknown+{found.sha256[:_DIGITS]}")
