"""Kinds of values: paths, which never leave the project, and architectures, with nvcc's words for sets of them."""

from __future__ import annotations

import difflib
import re
from glob import has_magic
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from hatch_cuda_kernels.arch import SmArch, cuda_release_for_arch, known_archs
from hatch_cuda_kernels.device_library import DEVICE_RUNTIME, LIBRARY_KINDS
from hatch_cuda_kernels.includes import normalize
from hatch_cuda_kernels.manifest.kinds import Item, Kind, RefusedError, Spot, items_of, suggest, text, wrong_type
from hatch_cuda_kernels.manifest.project import project_folder
from hatch_cuda_kernels.manifest.yaml_text import Scalar, Sequence, shorten
from hatch_cuda_kernels.versions import version_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from collections.abc import Sequence as SequenceOf
    from pathlib import Path


#: Refuses paths that start with / or a drive, or contain a backslash. The reader resolves ``..``.
_PATH: Final = r"(?!/|[A-Za-z]:)[^\\\x00-\x1f\x7f]+"


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
    """Return whether a folder is in an unpacked sdist, which lacks empty folders and headers that nothing includes."""
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


SOURCE: Final = text("the path of a source file", _source, pattern=_PATH)
ONE_SOURCE: Final = text("the path of a source file", _one_source, pattern=_PATH)
LIBRARY: Final = text(f"{DEVICE_RUNTIME} or the path of a library", _library, pattern=_PATH)
FOLDER: Final = text("the path of a folder", _folder, pattern=_PATH)
HEADER: Final = text("the path of a header", _header, pattern=_PATH)
HEADERS_GLOB: Final = text("a pattern for headers", _headers_glob, pattern=_PATH)
STUBS: Final = text("the path of a stub (.pyi)", _stubs, pattern=rf"{_PATH}\.pyi")


Native: TypeAlias = "Callable[[], SequenceOf[SmArch] | None]"
_Release: TypeAlias = tuple[int, int]

_WORDS: Final = ("all", "all-major", "native")
_LAST_12: Final = (12, 9)
_FIRST_13: Final = (13, 0)
_NEWEST: Final = (13, 99)
_ARCH_TEXT: Final = r"(?:sm|compute)_[1-9][0-9]+[af]?|all|all-major|native"


def _first_release(arch: SmArch) -> _Release | None:
    return cuda_release_for_arch(arch, major=12) or cuda_release_for_arch(arch, major=13)


def _every_arch() -> list[str]:
    plain = {arch for release in (_LAST_12, _NEWEST) for arch in known_archs(release)}
    archs = (SmArch(arch.major, arch.minor, suffix) for arch in sorted(plain) for suffix in ("", "a", "f"))
    return [str(spelled) for arch in archs if _first_release(arch) for spelled in (arch, arch.as_virtual)]


def _arch(_: Spot, written: str) -> SmArch | str:
    if written in _WORDS:
        return written
    try:
        arch = SmArch.parse(written)
    except ValueError:
        arch = None
    if arch is None or _first_release(arch) is None:
        advice = suggest(
            written, (*_every_arch(), *_WORDS), "; write it like sm_90, compute_90, all, all-major or native"
        )
        raise RefusedError(f"unknown architecture {shorten(written)}{advice}")
    return arch


_ARCH: Final = text("an architecture such as sm_90", _arch, pattern=_ARCH_TEXT)
_LIST: Final = items_of(_ARCH, least=1)


def _read_arches(spot: Spot) -> tuple[Item, ...]:
    if isinstance(spot.node, Scalar) and spot.node.tag == "str" and spot.node.text in _WORDS:
        return (Item(spot.node.text, spot),)
    if not isinstance(spot.node, Sequence):
        raise wrong_type(f"a list of architectures or one of {', '.join(_WORDS)}", spot)
    items: tuple[Item, ...] = _LIST.read(spot)
    return items


ARCHES: Final = Kind(_read_arches, {"anyOf": [{"enum": list(_WORDS)}, _LIST.schema]})


class Scope(NamedTuple):
    """What the words for sets of architectures mean: they depend on the toolkit release and this machine's devices."""

    release: _Release
    native: tuple[SmArch, ...] = ()

    def expand(self, items: Iterable[Item]) -> tuple[SmArch, ...]:
        """Return the architectures of a list, sorted and without repeats."""
        return tuple(sorted({arch for item in items for arch in self._meaning(item.value)}))

    def check(self, items: Iterable[Item], *, stated: bool) -> None:
        """Note a problem for each architecture the release does not know; ``stated`` is whether the user chose that."""
        for item in items:
            for arch in self._meaning(item.value):
                first = cuda_release_for_arch(arch, major=self.release[0])
                if first is None or first > self.release:
                    item.spot.report(_release_refusal(arch, self.release if stated else None))

    def _meaning(self, value: SmArch | str) -> tuple[SmArch, ...]:
        if isinstance(value, SmArch):
            return (value,)
        if value == "native":
            return self.native
        archs = known_archs(self.release)
        if value == "all-major":
            archs = tuple({arch.major: arch for arch in reversed(archs)}.values())
        return (*archs, max(archs).as_virtual)


def make_scope(items: SequenceOf[Item], release: _Release | None, native: Native) -> Scope:
    """Return the scope that all lists of a manifest share. The default release is the oldest 13.x that knows them all.

    Calls ``native`` only if an item is that word, and notes a problem if it finds no GPU.
    """
    asking = [item for item in items if item.value == "native"]
    machine = tuple((native() if asking else None) or ())
    for item in asking if not machine else ():
        item.spot.report("this machine has no GPU; list architectures instead")
    listed = (*machine, *(item.value for item in items if isinstance(item.value, SmArch)))
    oldest = max((cuda_release_for_arch(arch, major=13) or _FIRST_13 for arch in listed), default=_FIRST_13)
    return Scope(release or oldest, machine)


def _release_refusal(arch: SmArch, stated: _Release | None) -> str:
    name = f"CUDA {version_text(stated)}" if stated else "CUDA 13"
    first = cuda_release_for_arch(arch, major=stated[0] if stated else 13) or _first_release(arch)
    if first is None:
        return f"no known CUDA release compiles '{arch}'; list architectures instead"
    if cuda_release_for_arch(arch, major=13):
        return f"{name} does not know '{arch}'; the first release that does is {version_text(first)}"
    return f"{name} does not know '{arch}'; {version_text(_LAST_12)} does, so write cuda: \"{version_text(_LAST_12)}\""
