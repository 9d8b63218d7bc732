"""The header closure: every project file a source can see, each under one virtual name that no disk has.

NVRTC finds an in-memory header by the literal spelling of the directive, so the directives of project files are
rewritten to absolute virtual names. ``#pragma once``, ``..`` and ``__FILE__`` then mean the same in every checkout, and
what is not hashed cannot be seen. ``#if`` is not evaluated: the closure is a superset of what a compile opens.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hatch_cuda_kernels.compiler.source.project_files import ProjectFiles, normalize
from hatch_cuda_kernels.compiler.source.rewrite import Rewritten, rewriter_of, wandering
from hatch_cuda_kernels.compiler.source.source_text import SourceText, parse_text, read_text
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.names import VIRTUAL_ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = ["Closure", "read_closure"]


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
    """Spellings no project file answers to: toolkit headers, files that are missing, names that only macros spell."""
    computed: tuple[str, ...]
    """``path:line`` of each ``#include MACRO``; only declared headers and the toolkit's can satisfy one."""
    probes: tuple[str, ...] = ()
    """``path:line`` of each ``__has_include(MACRO)``; it is true for declared headers and the toolkit's."""


def read_closure(
    root: Path,
    source: str,
    *,
    text: str | None = None,
    include: Sequence[str] = (),
    headers: Sequence[str] = (),
    pre_include: Sequence[str] = (),
    project: ProjectFiles | None = None,
) -> Closure:
    """Read a source and all project headers it names, all paths relative to ``root``.

    With ``text``, the source is that text and ``source`` only the name it goes by. ``include`` are folders; ``headers``
    are globs for what computed includes need. A ``project`` of that root, shared by many calls, lists each folder and
    reads each file once. Raises InputError, one line for each problem.
    """
    project = project or ProjectFiles(root)
    reader = _Reader(project, {} if text is None else {source: text.encode()})
    start = reader.source(source)
    reader.rewriter = rewriter_of(project, [found for path in include if (found := reader.folder(path)) is not None])
    declared = list(dict.fromkeys(path for pattern in headers for path in reader.declared(pattern)))
    forced = tuple(reader.forced(spelling) for spelling in pre_include)
    if not reader.problems:
        reader.follow()
    names = _spellings(declared, [posixpath.dirname(start), *reader.rewriter.include, ""])
    outside = reader.outside(names)
    if reader.problems:
        raise InputError("\n".join(dict.fromkeys(reader.problems)))
    in_memory = {VIRTUAL_ROOT + path: reader.done[path].text for path in reader.wanted}
    in_memory |= {name: f'#include "{VIRTUAL_ROOT}{path}"\n' for name, path in names.items()}
    return Closure(
        source=reader.done[start].text,
        program_name=VIRTUAL_ROOT + start,
        headers=tuple(sorted(in_memory.items())),
        files=tuple(sorted((path, reader.text(path).sha256) for path in reader.done)),
        pre_include=forced,
        outside=tuple(sorted(outside)),
        computed=tuple(sorted(reader.named("computed"))),
        probes=tuple(sorted(reader.named("probes"))),
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
    """Reads project files, follows their directives, and gathers every problem."""

    def __init__(self, project: ProjectFiles, given: Mapping[str, bytes]) -> None:
        self.project = project
        self.given = {path: parse_text(path, data) for path, data in given.items()}
        self.rewriter = rewriter_of(project, ())
        self.done: dict[str, Rewritten] = {}
        self.wanted: set[str] = set()  # what must be in memory: the source is not, unless something includes it
        self.problems: list[str] = []
        self._forced: set[str] = set()
        self._waiting: list[str] = []

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
        self._want(files)
        return files

    def forced(self, spelling: str) -> str:
        """Return the name NVRTC pre-includes. A project header is looked for from the root, then as ``<...>`` is."""
        found = self.rewriter.search(["", *self.rewriter.include], spelling)
        if found is not None:
            self._want([found])
            return VIRTUAL_ROOT + found
        if wandering(spelling):
            self.problems.append(f"{spelling}: no such header to pre-include in {self.project.root}")
        self._forced.add(spelling)
        return spelling

    def follow(self) -> None:
        """Read all wanted files and all they lead to."""
        while self._waiting:
            path = self._waiting.pop()
            if path not in self.done:
                given = self.given.get(path)
                found = self.done[path] = self.rewriter.file(path) if given is None else self.rewriter.rewrite(given)
                self.problems += found.problems
                self._want(found.wanted)

    def text(self, path: str) -> SourceText:
        """Return a file as it is on disk, or was given."""
        return self.given.get(path) or read_text(self.project, path)

    def named(self, what: str) -> set[str]:
        """Return one kind of note about all files that were read."""
        return {note for found in self.done.values() for note in getattr(found, what)}

    def outside(self, spellings: Mapping[str, str]) -> set[str]:
        """Return what is not the project's: spelled in directives, and where a macro names headers, in macros too."""
        outside = self._forced | self.named("outside")
        if not self.named("computed") and not self.named("probes"):
            return outside
        texts = [self.text(path) for path in self.done]
        if self.named("computed"):
            self.problems += [problem for text in texts for problem in text.macro_problems]
        return outside | {name for text in texts for name in text.macro_names if name not in spellings}

    def _want(self, paths: Iterable[str]) -> None:
        for path in paths:
            if path not in self.wanted:
                self.wanted.add(path)
                self._waiting.append(path)
