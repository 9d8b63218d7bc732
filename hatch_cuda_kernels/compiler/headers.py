"""The header closure: every project file a source can see, each under one virtual name that no disk has.

NVRTC finds an in-memory header by the literal spelling of the directive, so the directives of project files are
rewritten to absolute virtual names. ``#pragma once``, ``..`` and ``__FILE__`` then mean the same in every checkout, and
what is not hashed cannot be seen. ``#if`` is not evaluated: the closure is a superset of what a compile opens.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.compiler.directives import find_directives
from hatch_cuda_kernels.compiler.project_files import ProjectFiles, normalize
from hatch_cuda_kernels.digest import sha256
from hatch_cuda_kernels.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["VIRTUAL_ROOT", "Closure", "read_closure"]

VIRTUAL_ROOT: Final = "/hatch-cuda-kernels/"


@dataclass(frozen=True, slots=True)
class Closure:
    """A source with every project header it can see. Paths are project-relative and posix."""

    source: str
    """The source's rewritten text."""
    program_name: str
    """The source's virtual name."""
    headers: tuple[tuple[str, str], ...]
    """(in-memory name, rewritten text), by name. Another spelling of a declared header only includes the real one."""
    files: tuple[tuple[str, str], ...]
    """(path, sha256 of the bytes on disk in hex), by path; the source is among them."""
    pre_include: tuple[str, ...]
    """Virtual names of project headers; other headers as they were spelled."""
    outside: tuple[str, ...]
    """Spellings no project file answers to: toolkit headers, or files that are missing."""
    computed: tuple[str, ...]
    """``path:line`` of each ``#include MACRO``; only declared headers can satisfy one."""


def read_closure(
    root: Path,
    source: str,
    *,
    text: str | None = None,
    include: Sequence[str] = (),
    headers: Sequence[str] = (),
    pre_include: Sequence[str] = (),
) -> Closure:
    """Read a source and all project headers it names, all paths relative to ``root``.

    With ``text``, the source is that text and ``source`` only the name it goes by. ``include`` are folders; ``headers``
    are globs for what computed includes need. Raises InputError, one line for each problem.
    """
    reader = _Reader(ProjectFiles(root), {} if text is None else {source: text.encode()})
    start = reader.source(source)
    reader.include = [found for folder in include if (found := reader.folder(folder)) is not None]
    declared = list(dict.fromkeys(path for pattern in headers for path in reader.declared(pattern)))
    forced = tuple(reader.forced(spelling) for spelling in pre_include)
    if not reader.problems:
        reader.follow()
    if reader.problems:
        raise InputError("\n".join(dict.fromkeys(reader.problems)))
    in_memory = {VIRTUAL_ROOT + path: text for path, text in reader.texts.items() if path in reader.wanted}
    for spelling, path in _spellings(declared, [posixpath.dirname(start), *reader.include, ""]).items():
        in_memory[spelling] = f'#include "{VIRTUAL_ROOT}{path}"\n'
    return Closure(
        source=reader.texts[start],
        program_name=VIRTUAL_ROOT + start,
        headers=tuple(sorted(in_memory.items())),
        files=tuple(sorted(reader.digests.items())),
        pre_include=forced,
        outside=tuple(sorted(reader.outside)),
        computed=tuple(sorted(reader.computed)),
    )


def _spellings(declared: Sequence[str], folders: Sequence[str]) -> dict[str, str]:
    """Return what a computed include may call each declared file; the first file in search order wins a spelling."""
    found: dict[str, str] = {}
    for folder in folders:
        prefix = f"{folder}/" if folder else ""
        for path in declared:
            if path.startswith(prefix):
                found.setdefault(path.removeprefix(prefix), path)
    return found


class _Reader:
    """Reads project files, each once, follows their directives, and gathers every problem."""

    def __init__(self, project: ProjectFiles, given: Mapping[str, bytes]) -> None:
        self.project = project
        self.given = given
        self.include: list[str] = []
        self.texts: dict[str, str] = {}
        self.digests: dict[str, str] = {}
        self.wanted: set[str] = set()  # what must be in memory: the source is not, unless something includes it
        self.outside: set[str] = set()
        self.computed: set[str] = set()
        self.problems: list[str] = []
        self._waiting: list[str] = []
        self._targets: dict[tuple[str | None, str], str | None] = {}

    def source(self, path: str) -> str:
        """Return the source's path, having checked that it is a project file."""
        found = normalize("", path)
        if found is None:
            self.problems.append(f"{path}: the source must be inside the project, given relative to it")
        elif found not in self.given and self.project.kind(found) not in {"file", "away"}:
            self.problems.append(f"{path}: no such source file in {self.project.root}")
        self._waiting.append(found or path)
        return found or path

    def folder(self, path: str) -> str | None:
        """Return an include folder's path; None, with a problem noted, when it is not a folder of the project."""
        found = normalize("", path)
        if found is None or self.project.kind(found) == "away":
            self.problems.append(f"{path}: an include folder must be inside the project, given relative to it")
        elif self.project.kind(found) != "folder":
            self.problems.append(f"{path}: no such include folder in {self.project.root}")
        else:
            return found
        return None

    def declared(self, pattern: str) -> list[str]:
        """Return the files of a declared glob, now wanted in memory."""
        found = normalize("", pattern)
        files = list(self.project.glob(found)) if found else []
        if not found:
            self.problems.append(f"{pattern}: headers must be inside the project, given relative to it")
        elif not files:
            self.problems.append(f"{pattern}: no header in {self.project.root} matches this pattern")
        for path in files:
            self._want(path)
        return files

    def forced(self, spelling: str) -> str:
        """Return the name NVRTC pre-includes. A project header is looked for from the root, then as ``<...>`` is."""
        found = self._search(["", *self.include], spelling)
        if found is not None:
            self._want(found)
            return VIRTUAL_ROOT + found
        if _wanders(spelling):
            self.problems.append(f"{spelling}: no such header to pre-include in {self.project.root}")
        self.outside.add(spelling)
        return spelling

    def follow(self) -> None:
        """Read all wanted files and all they lead to."""
        while self._waiting:
            path = self._waiting.pop()
            if path not in self.texts:
                self.texts[path] = self._rewrite(path, self._read(path))

    def _want(self, path: str) -> None:
        if path not in self.wanted:
            self.wanted.add(path)
            self._waiting.append(path)

    def _read(self, path: str) -> str:
        """Return a file's text without byte order mark; empty, with a problem noted, when it cannot be used."""
        if path in self.given:
            return self._decode(path, self.given[path])
        if self.project.kind(path) == "away":
            self.problems.append(f"{path}: a symbolic link leads out of the project; copy the file into it")
            return ""
        try:
            data = (self.project.root / path).read_bytes()
        except OSError as error:
            self.problems.append(f"{path}: cannot be read: {error.strerror}")
            return ""
        return self._decode(path, data)

    def _decode(self, path: str, data: bytes) -> str:
        self.digests[path] = sha256(data).hexdigest()
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            wrong = f"byte 0x{data[error.start]:02x} at offset {error.start}"
            self.problems.append(f"{path}:{line}: {wrong} is not UTF-8; save the file as UTF-8")
            return ""
        if "\0" in text:
            at = text.index("\0")
            self.problems.append(f"{_at(path, text, at)}: NUL byte; NVRTC would drop all text after it, so remove it")
        return text.removeprefix("\ufeff")

    def _rewrite(self, path: str, text: str) -> str:
        folder = posixpath.dirname(path)
        pieces: list[str] = []
        done = 0
        for start, end, spelling, is_next in find_directives(text):
            if not spelling:
                self.computed.add(_at(path, text, start))
            elif is_next:
                self._next(spelling, (path, text, start))
            elif (target := self._target(folder, spelling, (path, text, start))) is not None:
                pieces += (text[done:start], spelling[0], VIRTUAL_ROOT, target, spelling[-1])
                done = end
        return "".join((*pieces, text[done:])) if done else text

    def _target(self, folder: str, spelling: str, where: tuple[str, str, int]) -> str | None:
        """Return the path a directive must name, None to leave its spelling to the toolkit's folders.

        A missing file that is spelled with ``..`` gets the virtual name it would have: from a toolkit folder, ``..``
        could reach a file that nobody hashed.
        """
        quoted, name = spelling[0] == '"', spelling[1:-1]
        key = folder if quoted else None, name
        if key in self._targets:
            return self._targets[key]
        folders = [folder, *self.include] if quoted else self.include
        found = self._search(folders, name)
        if found is not None:
            self._want(found)
        else:
            self.outside.add(name)
            if _wanders(name):
                found = normalize(folders[0] if folders else "", name)
                if found is None:
                    self._leaves(spelling, where)
        self._targets[key] = found
        return found

    def _next(self, spelling: str, where: tuple[str, str, int]) -> None:
        """Note an ``#include_next``: from a project file it goes on to the toolkit's folders."""
        self.outside.add(spelling[1:-1])
        if _wanders(spelling[1:-1]):
            self._leaves(spelling, where)

    def _leaves(self, spelling: str, where: tuple[str, str, int]) -> None:
        self.problems.append(f"{_at(*where)}: {spelling} leaves the project; copy the header into it")

    def _search(self, folders: Sequence[str], spelling: str) -> str | None:
        for folder in folders:
            path = normalize(folder, spelling)
            if path is not None and self.project.kind(path) in {"file", "away"}:
                return path
        return None


def _wanders(spelling: str) -> bool:
    return spelling.startswith("/") or ".." in spelling.split("/")


def _at(path: str, text: str, position: int) -> str:
    return f"{path}:{text.count(chr(10), 0, position) + 1}"
