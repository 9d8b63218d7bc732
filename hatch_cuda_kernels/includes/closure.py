"""The header closure: a source with every project file it can see, each under one virtual name that no disk has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from hatch_cuda_kernels import cpp  # a store reads no C++, and this loads no module of it
from hatch_cuda_kernels.names import VIRTUAL_ROOT

if TYPE_CHECKING:
    from hatch_cuda_kernels.cpp import Directive, Edit, MacroTable, SourceFile, TranslationUnit


def is_projects(name: str) -> bool:
    """Return whether a name in memory is of a file of the project."""
    return name.startswith(VIRTUAL_ROOT)


class Origin(NamedTuple):
    """The texts of a closure as they were read, by name in memory, and how the project's change."""

    files: Mapping[str, SourceFile]
    edits: dict[str, tuple[Edit, ...]]
    """What gives headers their names in memory."""
    targets: Mapping[str, Mapping[int, str]]
    """What directives include, by where they begin."""

    def after(self, texts: Mapping[str, str]) -> Origin:
        """Return the same with some texts as they are now, whose directives spell the names in memory."""
        files = {name: cpp.SourceFile(name, text) for name, text in texts.items()}
        targets = {name: found for name, found in self.targets.items() if name not in files}
        return self._replace(files={**self.files, **files}, targets=targets)

    def read(self, start: Iterable[str], macros: MacroTable, has_words: Callable[[str], bool]) -> TranslationUnit:
        """Read those of some files that are in memory, and all they include. Raises TextError, InclusionError.

        ``has_words`` is as for a unit.
        """

        def resolve(file: SourceFile, directive: Directive) -> Sequence[str]:
            name = self.target(file, directive)
            return [name] if name in self.files else []

        start = filter(self.files.__contains__, start)
        return cpp.TranslationUnit.read(self.files, start, resolve, macros, has_words=has_words)

    def target(self, file: SourceFile, directive: Directive) -> str:
        """Return the name in memory of what a directive includes; as it is spelled for what is not the project's."""
        return self.targets.get(file.name, {}).get(directive.start) or directive.header


@dataclass(frozen=True, slots=True)
class Closure:
    """A source with every project header it can see. Paths are project-relative and posix."""

    source: str
    """The source's rewritten text."""
    program_name: str
    """The source's virtual name."""
    headers: tuple[tuple[str, str], ...]
    """(in-memory name, text), by name. Another spelling of a project header only includes the real one."""
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
    standard: tuple[str, ...] = ()
    """Names in memory of standard headers."""
    named: tuple[str, ...] = ()
    """Those of the standard headers that project files name."""
    asked: tuple[str, ...] = ()
    """Names in memory, of project files or standard headers, that the toolkit's headers ask for."""
    clocks: tuple[str, ...] = ()
    """Uses of ``__DATE__`` and its kin; no such source is compiled."""
    origin: Origin | None = field(default=None, compare=False, repr=False)
    """What it was made of, where it has just been read."""
