"""The header closure: a source with every project file it can see, and what it needs of the headers outside these.

Each project file is under one virtual name that no disk has. The other headers are the standard ones, and what the
toolkit's ask for: those that are installed, or those that a store was built with. NVRTC looks in memory for what a
directive spells, in any file: a toolkit header finds the project's headers so, in the order of the include folders, and
a standard header where the project has none of that name; sources find the standard ones. Declared ones come first.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from hatch_cuda_kernels import cpp  # a store reads no C++, and this loads no module of it
from hatch_cuda_kernels.errors import InputError

if TYPE_CHECKING:
    from hatch_cuda_kernels.cpp import Directive, Edit, MacroTable, SourceFile, TranslationUnit
    from hatch_cuda_kernels.includes.texts import SourceText

AnyClosure = TypeVar("AnyClosure", bound="Closure")
#: Where the standard headers of this package are, as the toolkit's folders are written.
STANDARD_FOLDER: Final = str(Path(__file__).resolve().with_name("standard"))


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
        """Read those of some files that are in memory, and all they include, as a unit is read, with its errors."""

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


class StandardHeaders:
    """Headers called as they are included. ``read`` returns the bytes of one; each is read once."""

    def __init__(self, names: Iterable[str], read: Callable[[str], bytes]) -> None:
        self.names = frozenset(names)
        self._read = read
        self._texts: dict[str, SourceText] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def text(self, name: str) -> SourceText:
        """Return one of the headers. Raises InputError where it cannot be read."""
        if name not in self._texts:
            from hatch_cuda_kernels.includes.texts import parse_text  # what was read before needs none of it

            try:
                self._texts[name] = parse_text(name, self._read(name), "")
            except OSError as error:
                raise InputError(f"the standard header {name} cannot be read: {error.strerror}") from error
        return self._texts[name]


class Asked(NamedTuple):
    """Headers that the toolkit's headers ask for, as they spell them."""

    names: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()
    """Those of them that a file beside the one that asks answers to."""


class OuterHeaders(NamedTuple):
    """The headers outside a project."""

    standard: StandardHeaders
    """What answers where the project does not."""
    asks: Callable[[tuple[str, ...]], Asked]
    """Returns what headers outside the project, called by these names, ask for in turn."""

    @classmethod
    def as_built(cls, standard: StandardHeaders, asked: Iterable[str]) -> OuterHeaders:
        """Return those of a build that recorded what the toolkit's headers asked for."""
        found = Asked(frozenset(asked))
        return cls(standard, lambda _: found)

    def without_standard(self) -> OuterHeaders:
        """Return the same without standard headers."""
        return self._replace(standard=NO_OUTER_HEADERS.standard)


NO_OUTER_HEADERS: Final = OuterHeaders.as_built(StandardHeaders((), str.encode), ())


@cache
def packaged_standard_headers() -> StandardHeaders:
    """Return the standard headers of this package."""
    folder = Path(STANDARD_FOLDER)
    # Path.rglob takes ten times as long for the three hundred of them, at the start of every build.
    places = ((place[len(STANDARD_FOLDER) + 1 :], names) for place, _, names in os.walk(STANDARD_FOLDER))
    files = (posixpath.join(place.replace(os.sep, "/"), name) for place, names in places for name in names)
    headers = (name for name in files if not name.endswith((".md", ".pyc")))
    return StandardHeaders(headers, lambda name: (folder / name).read_bytes())


@dataclass
class PlainNames:
    """Which headers have to be in memory under plain names. The outcome is the same whatever comes first."""

    _outer: OuterHeaders
    _find: Callable[[str], str | None]
    _declared: Container[str]
    _answered: frozenset[str] = frozenset()
    """Names that no longer count as asked for: a build that was recorded does not tell by whom."""
    _asked_for: set[str] = field(default_factory=set)
    _own: dict[str, str] = field(default_factory=dict)
    _beside: set[str] = field(default_factory=set)
    _roots: set[str] = field(default_factory=set)  # what the project asks for, outside of all that is in memory
    _below_roots: set[str] = field(default_factory=set)
    _brought: set[str] = field(default_factory=set)  # what standard headers ask for, likewise
    _followed: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    """Names of declared headers that are asked for."""
    standard: set[str] = field(default_factory=set)
    """Names of standard headers."""
    named: set[str] = field(default_factory=set)
    """Those of them that project files ask for."""

    @property
    def project(self) -> dict[str, str]:
        """Project files by the name that toolkit headers have for them."""
        taken = self.standard | self._beside
        return {name: path for name, path in self._own.items() if name not in taken}

    @property
    def asked(self) -> frozenset[str]:
        """Those names that the toolkit's headers ask for and that matter: without them, the outcome would differ."""
        return frozenset(self._below_roots & self._brought | self._asked_for & (self.standard | self.project.keys()))

    @property
    def outside(self) -> frozenset[str]:
        """Names that nothing in memory answers to, but for those that others of them lead to in the toolkit."""
        return frozenset(self._roots | self._brought - self._below_roots)

    def answer(self, names: Iterable[str]) -> set[str]:
        """Take in headers that are not where the project looks, and all they lead to; return its files among these."""
        for name in names:
            if name in self._declared:
                self.used.add(name)
            if name in self._declared or name not in self._outer.standard:
                self._roots.add(name)
            else:
                self.named.add(name)
                self._enter_standard(name)
        while fresh := (self._roots - self._followed or self._brought - self._followed):
            self._followed |= fresh
            found = self._outer.asks(tuple(sorted(fresh)))
            names = found.names - self._answered
            self._beside |= found.beside
            self._below_roots |= names if fresh <= self._roots else frozenset()
            self._asked_for |= {name for name in names if self._is_answered(name)}
        return set(self.project.values())

    def _is_answered(self, name: str) -> bool:
        """Return whether something in memory answers to what a header outside the project asks for."""
        if name in self._declared:
            self.used.add(name)
            return False
        path = self._find(name)
        if path is not None:
            self._own[name] = path
        elif name in self._outer.standard:
            self._enter_standard(name)
        return path is not None or name in self.standard

    def _enter_standard(self, name: str) -> None:
        if name in self.standard:
            return
        self.standard.add(name)
        for found in self._outer.standard.text(name).includes:
            included = found.spelling[1:-1]
            if included and not self._is_answered(included):
                self._brought.add(included)


def with_headers(closure: AnyClosure, names: tuple[str, ...], outer: OuterHeaders) -> AnyClosure:
    """Return a closure with some headers before its source."""
    if not names:
        return closure
    declared = {name for name, _ in closure.headers} - outer.standard.names
    plain = PlainNames(outer, lambda _: None, declared, frozenset(closure.asked))
    plain.answer(names)
    in_memory = dict(closure.headers) | {name: outer.standard.text(name).text for name in plain.standard}
    return replace(
        closure,
        headers=tuple(sorted(in_memory.items())),
        pre_include=(*names, *closure.pre_include),
        outside=_union(closure.outside, plain.outside),
        standard=_union(closure.standard, plain.standard),
        named=_union(closure.named, names),
        asked=_union(closure.asked, plain.asked),
    )


def _union(some: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*some, *others}))
