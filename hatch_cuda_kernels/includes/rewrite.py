"""Turns the directives of project files into virtual names, which NVRTC finds in memory and no disk has."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.includes.project import ProjectFiles, Readings, normalize, wandering
from hatch_cuda_kernels.includes.source_text import SourceText, parse_text
from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.source.lexer import SPLICE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hatch_cuda_kernels.source.directives import Directive

__all__ = ["Project", "Rewriter", "Rewritten"]


class Rewritten(NamedTuple):
    """A rewritten file and what its directives name."""

    text: str
    wanted: tuple[str, ...]
    """Project files, by path."""
    outside: tuple[str, ...]
    """Spellings no project file answers to."""
    computed: tuple[str, ...]
    """``path:line`` of each include whose header a macro names."""
    probes: tuple[str, ...]
    """``path:line`` of each probe whose header a macro names."""
    problems: tuple[str, ...]


class _Target(NamedTuple):
    """What a spelling stands for: the path its directive must name, and whether the project has it."""

    path: str | None
    found: bool
    leaves: bool


class Rewriter:
    """Rewrites texts for a project's files and one list of include folders; nothing else has a part in the outcome."""

    def __init__(self, files: ProjectFiles, include: tuple[str, ...]) -> None:
        self.files: Final = files
        self.include: Final = include
        self._targets: Final[dict[tuple[str | None, str], _Target]] = {}

    def rewrite(self, source: SourceText) -> Rewritten:
        """Return a text, rewritten as if it were the file its path names."""
        folder, done = posixpath.dirname(source.path), 0
        pieces: list[str] = []
        notes: dict[str, list[str]] = {field: [] for field in Rewritten._fields[1:]}
        notes["problems"] += source.problems
        for directive in source.directives:
            target = self._directive(folder, directive, source, notes)
            if target is not None:
                pieces += source.text[done : directive.start], directive.spelling[0], VIRTUAL_ROOT, target
                done = directive.end - 1
                pieces += SPLICE.findall(source.text, directive.start, done)  # the file keeps its lines
        text = "".join((*pieces, source.text[done:])) if done else source.text
        return Rewritten(text, **{field: tuple(dict.fromkeys(found)) for field, found in notes.items()})

    def search(self, folders: Sequence[str], spelling: str) -> str | None:
        """Return the first project file a spelling names, taken from these folders."""
        for folder in folders:
            path = normalize(folder, spelling)
            if path is not None and self.files.kind(path) in {"file", "outside"}:
                return path
        return None

    def _directive(
        self, folder: str, directive: Directive, source: SourceText, notes: dict[str, list[str]]
    ) -> str | None:
        """Note what a directive names and return the path it must name, None to leave its spelling as it is."""
        spelling = directive.spelling
        if not spelling:
            if directive.is_clock:  # all texts together tell whether it matters
                return None
            at = source.at(directive.start)
            kind = "problems" if directive.problem else "probes" if directive.is_probe else "computed"
            notes[kind].append(f"{at}: {directive.problem}" if directive.problem else at)
            return None
        name = spelling[1:-1]
        target = self._target(folder, spelling)
        if directive.is_next:  # from a project file, #include_next goes on to the toolkit's folders
            target = _Target(None, found=False, leaves=wandering(name))
        if target.leaves:
            at = source.at(directive.start)
            notes["problems"].append(f"{at}: {spelling} leaves the project; copy the header into it")
        if target.found and target.path is not None:
            notes["wanted"].append(target.path)
        else:
            notes["outside"].append(name)
        return target.path

    def _target(self, folder: str, spelling: str) -> _Target:
        """Return what a spelling in a file of that folder stands for.

        A missing file that is spelled with ``..`` gets the virtual name it would have: from a toolkit folder, ``..``
        could reach a file that nobody hashed.
        """
        quoted, name = spelling[0] == '"', spelling[1:-1].replace("\\", "/")
        key = folder if quoted else None, name
        known = self._targets.get(key)
        if known is None:
            folders = (folder, *self.include) if quoted else self.include
            path = self.search(folders, name)
            found = path is not None
            if not found and wandering(name):
                path = normalize(folders[0] if folders else "", name)
            known = self._targets[key] = _Target(path, found, leaves=path is None and wandering(name))
        return known


class Project:
    """A project as it was when each of its folders and files was first asked for. Paths are relative and posix.

    ``given`` texts, by path, stand in for files. ``readings`` are of any project, as of one with other given texts.
    """

    def __init__(
        self,
        root: Path | ProjectFiles,
        given: Mapping[str, str] | None = None,
        *,
        only: Mapping[str, str] | None = None,
        readings: Readings | None = None,
    ) -> None:
        self.files: Final = root if isinstance(root, ProjectFiles) else ProjectFiles(root, given, only=only)
        self.readings: Final = readings or Readings()
        self._texts: Final[dict[str, SourceText]] = {}
        self._rewriters: Final[dict[tuple[str, ...], Rewriter]] = {}
        self._rewritten: Final[dict[tuple[str, tuple[str, ...]], Rewritten]] = {}

    def text(self, path: str) -> SourceText:
        """Return a file; where it cannot be read, that is a problem of the text."""
        found = self._texts.get(path)
        if found is None:
            try:
                found = self.readings.of(parse_text, path, self.files.read(path))
            except InputError as error:
                found = SourceText(path, problems=(str(error),))
            self._texts[path] = found
        return found

    def included(self, name: str, include: Sequence[str]) -> str | None:
        """Return the file of some folders that an include of a header outside the project names; None without one."""
        found = None if wandering(name) else self.rewriter(include).search(include, name)
        return found if found is not None and self.files.kind(found) == "file" else None

    def rewriter(self, include: Sequence[str]) -> Rewriter:
        """Return what rewrites texts for these include folders."""
        key = tuple(include)
        if key not in self._rewriters:
            self._rewriters[key] = Rewriter(self.files, key)
        return self._rewriters[key]

    def rewritten(self, path: str, rewriter: Rewriter) -> Rewritten:
        """Return a file, rewritten by one of the project's rewriters."""
        key = path, rewriter.include
        if key not in self._rewritten:
            self._rewritten[key] = rewriter.rewrite(self.text(path))
        return self._rewritten[key]
