"""The parts of the toolkit whose headers a compile may use, and what a compile could open in the toolkit's folders.

A wheel states its version and lists its files. Conda and the toolkit's own installer state only versions, and a plain
copy not even that; in these cases, a part's files are recognised by their names.

Other wheels, such as cuRAND's, unpack into the same folders, and people add and edit files there. So the includes of
every header are followed in every folder searched, and files that no part's version stands for enter the key. For the
key, ``#if`` is not evaluated. What these files ask for is recorded, too, because NVRTC looks among the headers in
memory before all folders; parts for other compilers are left out, which would be most of what a store ships. The folder
with this package's standard headers can be among those searched. It holds no part's files.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from fnmatch import fnmatch
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hatch_cuda_kernels.cache import file_state, unchanged
from hatch_cuda_kernels.compiler.toolchain.libraries import (
    contents_at,
    digest_of_all,
    listed_files,
    record_digest,
    site_of,
    wheel_of,
    wheels_in,
)
from hatch_cuda_kernels.compiler.toolchain.packages import distribution
from hatch_cuda_kernels.includes import STANDARD_FOLDER, Asked
from hatch_cuda_kernels.integrity import sha256
from hatch_cuda_kernels.libraries import words_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hatch_cuda_kernels.cpp import Macro, SourceFile

    #: Names of headers, each with the folder of who asks where that is searched first.
    _Names = set[tuple[str, str]]

_CCCL: Final = ("cccl/*", "cub/*", "cuda/*", "nv/*", "thrust/*")
_CCCL_VERSION: Final = ("cuda/std/version", "cuda/std/__cccl/version.h", "cub/version.cuh", "thrust/version.h")
#: The runtime's other headers share a folder with those of other parts.
_GROUPS: Final = ("cooperative_groups/*", "cooperative_groups/*/*")
_VERSION_MACRO: Final = rb"#\s*define\s+(?:CCCL|CUDART)_VERSION\s+(\d+)"
#: Marks what a part for other compilers includes.
_HIDDEN: Final = "!"
#: How many scans are kept: a set of headers may lead to a thousand files, and is asked for again and again.
_MOST: Final = 64
_scans: dict[tuple[tuple[str, ...], tuple[str, ...]], HeaderScan] = {}
#: What names of compilers become, only one of which CCCL's headers find to be true.
_COMPILER: Final = "hatch_cuda_kernels_compiler_"
_OTHERS: Final = frozenset({"hatch_cuda_kernels_cuda_compiler_CLANG", "hatch_cuda_kernels_cuda_compiler_NVHPC"})


class Part(NamedTuple):
    """One part, and its name in each way to install a toolkit."""

    marker: str
    """A file whose presence shows that a folder holds the part."""
    component: str
    conda: str
    files: tuple[str, ...]
    """Patterns of its files, but for those of the runtime's that are known by name."""
    telling: tuple[str, ...]
    """Patterns of the files whose content serves as the version if nothing states one; likewise."""


class FoundPart(NamedTuple):
    """A part that was found, its version, and the files that the version was read from."""

    name: str
    version: str
    evidence: tuple[Path, ...]


PARTS: Final = {
    "cccl": Part("cuda/std/version", "cuda_cccl", "cuda-cccl", _CCCL, _CCCL_VERSION),
    "crt": Part("crt/host_config.h", "cuda_nvcc", "cuda-crt-dev", ("crt/*",), ("crt/*",)),
    "cudart": Part("cuda_runtime.h", "cuda_cudart", "cuda-cudart-dev", _GROUPS[:1], _GROUPS),
}
#: What brings the parts; a folder of wheels may have those of either CUDA major.
_DISTRIBUTIONS: Final = sorted({distribution(name, major) for name in PARTS for major in (12, 13)})


def part_files(name: str, *, telling: bool = False) -> tuple[str, ...]:
    """Return the patterns of a part's files, for folders whose files no wheel lists; or of the ``telling`` ones."""
    named = sorted(words_in("cuda", "files", "cudart")) if name == "cudart" else ()
    return (*(PARTS[name].telling if telling else PARTS[name].files), *named)


def find_parts(folders: Iterable[str], major: int) -> Iterator[FoundPart]:
    """Yield each part that the folders hold, with the version that a wheel, conda or the toolkit's installer states."""
    paths = [Path(folder) for folder in folders]
    for name, part in PARTS.items():
        holder = next((folder for folder in paths if (folder / part.marker).is_file()), None)
        if holder is None:
            continue
        wheel = wheel_of(holder, distribution(name, major))
        version, evidence = ("", ()) if wheel is None else (wheel.version, (wheel.record,))
        for parent in holder.parents if wheel is None else ():
            listing = next(iter(sorted(parent.glob(f"conda-meta/{part.conda}*.json"))), None)
            component = _json(parent / "version.json").get(part.component)
            if listing is not None:
                version, evidence = str(_json(listing).get("version")), (listing,)
            elif component:
                version, evidence = str(component["version"]), (parent / "version.json",)
            if version or parent.name in {"site-packages", "dist-packages"}:
                break
        yield FoundPart(name, *((version, evidence) if version else _copied(holder, name)))


class PartFiles:
    """Which files of an include folder are a part's own: by the digests that wheels list, or else by their names."""

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


def _copied(folder: Path, name: str) -> tuple[str, tuple[Path, ...]]:
    """Return a version made of the version macro, if the part has one, and a digest of the telling files; and these."""
    patterns = part_files(name, telling=True)
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


class HeaderScan(NamedTuple):
    """What headers lead to in the toolkit's folders."""

    others: str
    """A digest of the files that no part's version stands for; empty if there are none."""
    states: Mapping[str, str]
    """The state of every file found and every folder searched; while they are unchanged, so is the rest."""
    asked: Asked = Asked()
    """What the files found ask for."""


def scan_headers(names: tuple[str, ...], folders: tuple[str, ...]) -> HeaderScan:
    """Return what headers, given as an include spells them, lead to in the toolkit's folders."""
    known = _scans.get((names, folders))
    if known is not None and unchanged(known.states):
        return known
    found = _scans[names, folders] = _Scan(folders).follow(names)
    for oldest in [*_scans][:-_MOST]:
        _scans.pop(oldest, None)
    return found


def include_graph(names: tuple[str, ...], folders: tuple[str, ...]) -> dict[str, list[str]]:
    """Return the files that headers lead to, each with those that it may include."""
    scan = _Scan(folders)
    found = scan.follow(names)
    return {path: scan.included(path, state, found.states) for path, state in found.states.items()}


class _Scan:
    def __init__(self, folders: tuple[str, ...]) -> None:
        toolkit = [folder for folder in folders if folder != STANDARD_FOLDER]
        self._folders = folders
        self._parts = {folder: PartFiles(folder) for folder in toolkit}
        self._contents = contents_at("\n".join((*toolkit, *_readers())), _digest_and_includes)
        self._asked: set[str] = set()
        self._others: list[tuple[str, str]] = []
        self._states = {str(record): file_state(record) for part in self._parts.values() for record in part.records}

    def follow(self, names: tuple[str, ...]) -> HeaderScan:
        """Return what these headers lead to."""
        asked, hidden = self._reach({(name, "") for name in names})
        while hidden:
            _, hidden = self._reach(hidden)
        self._contents.save()
        answered = frozenset(name for name, folder in asked if folder and self._path(name, folder) in self._states)
        names_asked = Asked(frozenset(name for name, _ in asked), answered)
        return HeaderScan(digest_of_all(self._others), self._states, names_asked)

    def included(self, path: str, state: str, known: Mapping[str, str]) -> list[str]:
        """Return which of the files known a file may include; none for a folder."""
        _, *includes = self._contents.of(path, state) if os.path.isfile(path) else [""]  # noqa: PTH113
        folder = os.path.dirname(path)  # noqa: PTH120
        spelled = _names([one.removeprefix(_HIDDEN) for one in includes], folder)
        places = {self._path(name, other) for name, beside in spelled for other in (beside or folder, *self._folders)}
        return [place for place in places if known.get(place)]

    def _reach(self, waiting: _Names) -> tuple[_Names, _Names]:
        """Return the names that names lead to, and those that parts for other compilers lead to from there."""
        asked: _Names = set()
        hidden: _Names = set()
        while waiting:
            name, beside = waiting.pop()
            for path, state in self._new_files(name, beside):
                digest, *includes = self._contents.of(path, state)
                owner, below = self._place(path)
                if digest and not (owner in self._parts and self._parts[owner].holds(below, digest)):
                    self._others.append((below, digest))
                folder = os.path.dirname(path)  # noqa: PTH120 - Path takes several times as long, a thousand times
                hidden |= _names([one[len(_HIDDEN) :] for one in includes if one.startswith(_HIDDEN)], folder)
                found = _names([one for one in includes if not one.startswith(_HIDDEN)], folder)
                waiting |= found - asked
                asked |= found
        return asked, hidden

    def _path(self, name: str, folder: str) -> str:
        return os.path.normpath(name if name.startswith("/") else f"{folder}/{name}")

    def _new_files(self, name: str, beside: str) -> Iterator[tuple[str, str]]:
        """Yield each file that a name could mean and that was not seen before, with its state."""
        for searched in (beside, *self._folders) if beside else self._folders:
            path = self._path(name, searched)
            if path in self._asked:
                continue
            self._asked.add(path)
            folder = os.path.dirname(path)  # noqa: PTH120
            if folder not in self._states:
                self._states[folder] = file_state(folder)  # it changes when a file appears in the folder
            state = file_state(path) if self._states[folder] else ""
            if state:
                self._states[path] = state
                yield path, state

    def _place(self, path: str) -> tuple[str, str]:
        """Return the innermost folder that holds a file, and the path from there; without one, the bare name."""
        inside = [folder for folder in self._folders if path.startswith(f"{folder}/")]
        if not inside:
            return "", path.rpartition("/")[2]
        owner = max(inside, key=len)
        return owner, path[len(owner) + 1 :]


@cache
def _readers() -> list[str]:
    """Return the state of each file of the code that reads headers: another version of it reads them anew."""
    package = Path(__file__).parents[2]
    folders = (package / "cpp", package / "includes", package / "libraries", Path(__file__).parent)
    files = sorted(path for folder in folders for path in folder.glob("*") if path.is_file())
    return [f"{path}: {file_state(path)}" for path in files]


def _names(spellings: Iterable[str], folder: str) -> _Names:
    return {(spelling[1:-1], folder if spelling[0] == '"' else "") for spelling in spellings}


def _digest_and_includes(path: str) -> list[str]:
    """Return a header's digest (empty for no file) and includes, marked if only parts for other compilers have them."""
    from hatch_cuda_kernels.cpp import SourceFile
    from hatch_cuda_kernels.includes import find_includes

    try:
        data = Path(path).read_bytes() if os.path.isfile(path) else None  # noqa: PTH113
    except OSError:
        data = None
    if data is None:  # NVRTC cannot read it, either
        return [""]
    text = data.decode(errors="replace")
    file = SourceFile(path, text)
    hidden = parts_for_others(file)
    directives = [one for one in find_includes(file) if one.spelling]
    seen = {one.spelling for one in directives if not any(start <= one.start < end for start, end in hidden)}
    others = {one.spelling for one in directives} - seen
    return [record_digest(hashlib.sha256(data).digest()), *sorted(seen), *(_HIDDEN + name for name in sorted(others))]


def parts_for_others(file: SourceFile) -> list[tuple[int, int]]:
    """Return the ranges of a toolkit header that are for other compilers; none in a text with unbalanced conditions."""
    if not any(word in file.text for word in ("RTC", "_CCCL_", "_LIBCUDACXX_")):
        return []
    from hatch_cuda_kernels.cpp import UnbalancedError  # a rebuild reads no header

    try:
        conditions = [one for one in file.directives if one.is_conditional and file.groups is not None]
    except UnbalancedError:
        return []
    parts: list[tuple[int, int]] = []
    is_hidden, is_settled = [False], [False]
    """For each group that is open, whether its branch is for others, and whether all that come are."""
    start = 0
    for one in conditions:
        if is_hidden[-1]:
            parts.append((start, one.start))
        start = one.end
        if one.word in {"endif", "else", "elif", "elifdef", "elifndef"}:
            is_hidden.pop()
            settled = is_settled.pop()
            if one.word == "endif":
                continue
        else:
            settled = is_hidden[-1]
        holds = False if settled else one.word == "else" or _holds(one.word, one.operand)
        is_hidden.append(holds is False)
        is_settled.append(settled or holds is True)
    return parts


@lru_cache(maxsize=1 << 12)
def _holds(word: str, operand: str) -> bool | None:
    """Return whether a condition holds for NVRTC; headers ask the same again and again."""
    from hatch_cuda_kernels.cpp import Directive, evaluate  # as above

    return evaluate(Directive(word, operand, 0, 0, 0, 0), _look_up)


def _look_up(name: str) -> tuple[Macro | None, ...]:
    from hatch_cuda_kernels.libraries import macros_of_cccl  # as above

    is_other = name in _OTHERS or (name.startswith(_COMPILER) and name not in macros_of_cccl())
    return (None,) if is_other else macros_of_cccl().get(name, ())
