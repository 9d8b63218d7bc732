"""What a compile could open in the toolkit's folders. The files that no part's version stands for enter its key.

What these files ask for is told too: NVRTC looks for it among the headers in memory before all folders.

Other wheels, such as cuRAND's, unpack into the same folders, and people add and edit files there. So the includes of
every header are followed, the parts' own headers among them, in every folder searched. For the key ``#if`` is not
evaluated. What is asked for in parts for other compilers is not told: it would be most of what a store ships.

The folder with the standard headers of this package can be among those searched. It holds no part's files.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.cache import file_state, unchanged
from hatch_cuda_kernels.compiler.toolchain.contents import contents_at, digest_of_all, record_digest
from hatch_cuda_kernels.compiler.toolchain.parts import PartFiles
from hatch_cuda_kernels.includes import STANDARD_FOLDER, Asked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    #: Names of headers, each with the folder of who asks where that is searched first.
    _Names = set[tuple[str, str]]

__all__ = ["HeaderScan", "include_graph", "scan_headers"]


class HeaderScan(NamedTuple):
    """What headers lead to in the toolkit's folders."""

    others: str
    """A digest of the files that no part's version stands for; empty if there are none."""
    states: Mapping[str, str]
    """The state of every file found and every folder searched; while they are unchanged, so is the rest."""
    asked: Asked = Asked()
    """What the files found ask for."""


#: Marks what a part for other compilers includes.
_HIDDEN: Final = "!"
#: How many scans are kept: a set of headers may lead to a thousand files, and is asked for again and again.
_MOST: Final = 64
_scans: dict[tuple[tuple[str, ...], tuple[str, ...]], HeaderScan] = {}


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
    """One pass through the includes of the files in some folders."""

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
        told = Asked(frozenset(name for name, _ in asked), answered)
        return HeaderScan(digest_of_all(self._others), self._states, told)

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
    """Return the files of the code that reads headers, each with its state: another version of it reads them anew."""
    package = Path(__file__).parents[2]
    folders = (package / "cpp", package / "includes", Path(__file__).parent)
    files = [path for folder in folders for path in folder.glob("*.py")]
    return [f"{path}: {file_state(path)}" for path in sorted(files)]


def _names(spellings: Iterable[str], folder: str) -> _Names:
    """Return names as a file in a folder spells them."""
    return {(spelling[1:-1], folder if spelling[0] == '"' else "") for spelling in spellings}


def _digest_and_includes(path: str) -> list[str]:
    """Return a header's digest, as RECORD spells it, and the spellings it includes; an empty digest for no file.

    Those of parts for other compilers are marked, where no other part includes the same.
    """
    from hatch_cuda_kernels.compiler.toolchain.other_compilers import parts_for_others  # only for a new file
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
