"""The texts of a project, each read once: what they include and ask for, and the edits by which NVRTC finds it."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels import cpp
from hatch_cuda_kernels.cpp import Edit, Edited, SourceFile, is_identifier, lex_with_places, parse_definition
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.includes.project import ProjectFiles, beside, wandering
from hatch_cuda_kernels.integrity import sha256
from hatch_cuda_kernels.names import VIRTUAL_ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.cpp import Directive, Macro, Token

_ASKS: Final = cpp.HEADER_PROBES | {"__has_embed"}
_HEADER: Final = r"\"[^\"\n]+\"|<[^<>\n]+>"
_COMMENTS: Final = r"(?:\s++|/\*(?:[^*]++|\*(?!/)|(?!))*+\*/|(?!))*+"
_INCLUDED: Final = re.compile(rf"{_COMMENTS}(?:(?P<name>{_HEADER})|(?P<unclosed>[\"<])|(?P<nothing>//|\Z)|)")
_NAME: Final = re.compile(_HEADER)
_MARK: Final = re.compile(r"/\*|[\"']")
_TRIGRAPH: Final = re.compile(r"\?\?[/']")
_SPLICE: Final = re.compile(r"\\\r*\n")
#: nvcc takes it for the end of a line. What follows CR CR LF is the end anyway.
_LONE_RETURN: Final = re.compile(r"\r(?![\r\n]|\Z)")
_NOT_UTF8: Final = re.compile("[\udc80-\udcff]+")

_TWO_READINGS: Final = "compilers take this {} in two ways; write it differently"
_UNCLOSED: Final = "a header's name goes on one line, between two quotes or < and >"
_EMBED: Final = "NVRTC knows no #embed, and nobody would hash what it reads; write the data as a header"


class Include(NamedTuple):
    """One include or probe: where its spelling stands in the text, and the spelling with its delimiters."""

    start: int
    end: int
    spelling: str = ""
    """``"a.h"`` or ``<a.h>``; empty where a macro names the header, in an include or in a probe."""
    is_next: bool = False
    """``#include_next`` or ``__has_include_next``."""
    is_probe: bool = False
    """``__has_include``, which opens nothing."""
    problem: str = ""
    """Why the text cannot be used here; such a one has no spelling."""
    directive: int = -1
    """Where its directive begins."""


def find_includes(file: SourceFile) -> Iterator[Include]:
    """Yield the includes and probes of a file, none of those in comments and literals."""
    if "??" in file.joined and (trigraph := _TRIGRAPH.search(file.joined)):
        start, end = map(file.place, trigraph.span())
        yield Include(start, end, problem=_TWO_READINGS.format("trigraph"))
    if file.unclear is not None:
        yield Include(file.unclear, file.unclear + 1, problem=_TWO_READINGS.format("quote"))
    for directive in file.directives:
        if directive.is_include:
            found = _INCLUDED.match(directive.operand)
            is_next = directive.word == "include_next"
            here = Include(directive.start, directive.end, is_next=is_next, directive=directive.start)
            if found is not None and found.lastgroup == "name":
                yield _named(file, directive, here, *found.span("name"))
            elif found is not None and found.lastgroup != "nothing":
                yield here._replace(problem=_UNCLOSED if found.lastgroup == "unclosed" else "")
        elif directive.word == "embed":
            yield Include(directive.start, directive.end, problem=_EMBED)
        elif directive.word in {"if", "elif"} and any(mark in directive.operand for mark in ('"', "<", "__has_")):
            yield from _asked(file, directive, is_condition=True)
        elif directive.word == "define" and "__has_" in directive.operand:
            yield from _asked(file, directive, is_condition=False)


def _named(file: SourceFile, directive: Directive, here: Include, start: int, end: int) -> Include:
    """Return an include or probe with the name that stands in its directive's operand."""
    name = directive.operand[start:end]
    line_end = directive.operand.find("\n", end)
    rest = directive.operand[end : line_end if line_end >= 0 else None]
    if name.startswith('"'):
        is_unclear = name.endswith('\\"')
    else:  # to a compiler that skips it, a name may be another thing, and what follows on its line might be, too
        is_unclear = bool(_MARK.search(name)) or ("//" in name and bool(_MARK.search(rest)))
    if is_unclear:
        return here._replace(problem=_TWO_READINGS.format("name"))
    base = directive.joined_end - len(directive.operand)
    return here._replace(start=file.place(base + start), end=file.place(base + end - 1) + 1, spelling=name)


def _asked(file: SourceFile, directive: Directive, *, is_condition: bool) -> Iterator[Include]:
    """Yield the headers that a condition or a macro asks for, by itself or by a macro.

    Among the arguments of a macro, macros are replaced also in what looks like a header's name: with an empty ``E``,
    ``IF(__has_include(<E/a.h>))`` looks for ``/a.h``. Elsewhere in a condition, compilers read it as it stands.
    """
    tokens = lex_with_places(directive.operand)
    texts = [token.text for token in tokens]
    base = directive.joined_end - len(directive.operand)
    calls = [False]
    """For each parenthesis that is open, whether it or one around it is a macro's."""
    at = 0
    while at < len(tokens):
        text, before = texts[at], texts[at - 1] if at else ""
        place = file.place(base + tokens[at].start)
        here = Include(place, place + 1, is_probe=True)
        name = None
        is_tested = texts[max(at - 1, 0) : at] == ["defined"] or texts[max(at - 2, 0) : at] == ["defined", "("]
        if text in _ASKS and not is_tested:
            if text not in cpp.HEADER_PROBES:
                yield here._replace(problem=_EMBED)
            name = _header(directive, tokens, at + 2) if texts[at + 1 : at + 2] == ["("] else None
            here = here._replace(is_next=text.endswith("next"))
            if name is None or not is_condition or calls[-1]:
                yield here
        elif text in {"(", ","}:
            name = _header(directive, tokens, at + 1) if is_condition else None
            here = here._replace(is_next=before.lower().endswith("next"))
            if text == "(":
                calls.append(calls[-1] or (is_identifier(before) and before != "defined"))
        elif text == ")" and len(calls) > 1:
            calls.pop()
        at += 1
        if name is not None:
            yield _named(file, directive, here, *name.span())
            at = bisect_left(tokens, name.end(), key=lambda token: token.start)
            at += text != "(" and texts[at : at + 1] == [")"]


def _header(directive: Directive, tokens: Sequence[Token], at: int) -> re.Match[str] | None:
    return _NAME.match(directive.operand, tokens[at].start) if at < len(tokens) else None


@dataclass(eq=False)
class SourceText:
    """A file's text without byte order mark; empty, with a problem, where it cannot be used."""

    path: str
    text: str = ""
    sha256: str = ""
    """Digest of the bytes on disk in hex; empty where they cannot be read."""
    problems: tuple[str, ...] = ()
    root: str = VIRTUAL_ROOT
    """What its name in memory begins with."""

    @cached_property
    def file(self) -> SourceFile:
        """The text taken apart, under its name in memory."""
        return SourceFile(self.root + self.path, self.text)

    def at(self, place: int) -> str:
        """Return ``path:line``."""
        return f"{self.path}:{self.file.line(place)}"

    @cached_property
    def includes(self) -> tuple[Include, ...]:
        """The includes and probes, in order."""
        return tuple(sorted(find_includes(self.file)))

    @cached_property
    def definitions(self) -> tuple[Macro, ...]:
        """The macros that it defines."""
        found = (parse_definition(one, self.file) for one in self.file.directives if one.word == "define")
        return tuple(macro for macro in found if macro is not None)


def parse_text(path: str, data: bytes, root: str = VIRTUAL_ROOT) -> SourceText:
    """Return a file's text from its bytes; in comments, bytes that are not UTF-8 become question marks."""
    digest = sha256(data).hexdigest()
    text = data.decode(errors="surrogateescape")
    if not text.isascii() and _NOT_UTF8.search(text):
        wrong = _outside_comments(text)
        if wrong is not None:
            offset = len(text[:wrong].encode(errors="surrogateescape"))
            problem = f"byte 0x{data[offset]:02x} at offset {offset} is not UTF-8; save the file as UTF-8"
            line = text.count("\n", 0, wrong) + 1
            return SourceText(path, "", digest, (f"{path}:{line}: {problem}",), root)
        text = _NOT_UTF8.sub(lambda found: "?" * len(found[0]), text)
    found = SourceText(path, text.removeprefix("\ufeff"), digest, root=root)
    if "\0" in text:
        at = found.at(found.text.index("\0"))
        found.problems = (f"{at}: NUL byte; NVRTC would drop all text after it, so remove it",)
    elif lone := _LONE_RETURN.search(found.text):
        at = found.at(lone.start())
        found.problems = (f"{at}: a line ends in CR alone, which NVRTC does not see; save the file with LF",)
    return found


def _outside_comments(text: str) -> int | None:
    """Return where a text is not UTF-8 outside comments; None where it is."""
    file = SourceFile("", text)
    spans = ((file.place(token.start), token.text) for token in lex_with_places(file.joined))
    found = (_NOT_UTF8.search(text, start, file.place_behind(start, token)) for start, token in spans)
    return next((one.start() for one in found if one is not None), None)


class Renamed(NamedTuple):
    """A file's text with the edits that give what it includes and probes its virtual names, and what that is."""

    text: str
    edits: tuple[Edit, ...]
    targets: Mapping[int, str]
    """The virtual names of what is included, by where the directive begins."""
    wanted: tuple[str, ...]
    """Project files, by path."""
    outside: tuple[str, ...]
    """Spellings no project file answers to."""
    computed: tuple[str, ...]
    """``path:line`` of each include whose header a macro names."""
    probes: tuple[str, ...]
    """``path:line`` of each probe whose header a macro names."""
    problems: tuple[str, ...]


class Project:
    """A project as it was when each folder and file was first asked for."""

    def __init__(self, root: Path | ProjectFiles) -> None:
        self.files: Final = root if isinstance(root, ProjectFiles) else ProjectFiles(root)
        self._texts: Final[dict[str, SourceText]] = {}
        self._renamed: Final[dict[tuple[str, tuple[str, ...]], Renamed]] = {}

    def text(self, path: str) -> SourceText:
        """Return a file; where it cannot be read, that is a problem of the text."""
        if path not in self._texts:
            try:
                self._texts[path] = parse_text(path, self.files.read(path))
            except InputError as error:
                self._texts[path] = SourceText(path, problems=(str(error),))
        return self._texts[path]

    def search(self, folders: Sequence[str], spelling: str) -> str | None:
        """Return the first project file a spelling names, taken from these folders."""
        for folder in folders:
            path = beside(folder, spelling)
            if path is not None and self.files.kind(path) in {"file", "outside"}:
                return path
        return None

    def included(self, name: str, include: Sequence[str]) -> str | None:
        """Return the file of some folders that an include of a header outside the project names; None without one."""
        found = None if wandering(name) else self.search(include, name)
        return found if found is not None and self.files.kind(found) == "file" else None

    def renamed(self, path: str, include: tuple[str, ...]) -> Renamed:
        """Return what is named in a file, with these include folders; nothing else has a part in the outcome."""
        if (path, include) not in self._renamed:
            self._renamed[path, include] = self._rename(self.text(path), include)
        return self._renamed[path, include]

    def _rename(self, source: SourceText, include: tuple[str, ...]) -> Renamed:
        edits: list[Edit] = []
        targets: dict[int, str] = {}
        notes: dict[str, list[str]] = {field: [] for field in Renamed._fields[3:]}
        notes["problems"] += source.problems
        for one in source.includes:
            target = self._include(one, source, include, notes)
            if target is not None:
                splices = "".join(_SPLICE.findall(source.text, one.start, one.end))  # the file keeps its lines
                name = f"{one.spelling[0]}{VIRTUAL_ROOT}{target}{splices}{one.spelling[-1]}"
                edits.append(Edit(one.start, one.end, name))
                targets[one.directive] = VIRTUAL_ROOT + target
        text = Edited(source.file, edits).text if edits else source.text
        named = {field: tuple(dict.fromkeys(found)) for field, found in notes.items()}
        return Renamed(text, tuple(edits), targets, **named)

    def _include(
        self, one: Include, source: SourceText, include: tuple[str, ...], notes: dict[str, list[str]]
    ) -> str | None:
        """Note what is named and return the path it must name, None to leave its spelling as it is."""
        spelling = one.spelling
        if not spelling:
            at = source.at(one.start)
            kind = "problems" if one.problem else "probes" if one.is_probe else "computed"
            notes[kind].append(f"{at}: {one.problem}" if one.problem else at)
            return None
        name = spelling[1:-1]
        # From a project file, #include_next goes on to the toolkit's folders.
        path, is_there = (None, False) if one.is_next else self._target(source.path, spelling, include)
        if path is None and wandering(name):
            at = source.at(one.start)
            notes["problems"].append(f"{at}: {spelling} leaves the project; copy the header into it")
        notes["wanted" if is_there else "outside"].append(path if is_there and path is not None else name)
        return path

    def _target(self, path: str, spelling: str, include: tuple[str, ...]) -> tuple[str | None, bool]:
        """Return the path that a spelling in a file stands for, and whether the project has it.

        A missing file that is spelled with ``..`` gets the name it would have: elsewhere, nobody may have hashed one.
        """
        name = spelling[1:-1].replace("\\", "/")
        folders = (posixpath.dirname(path), *include) if spelling[0] == '"' else include
        found = self.search(folders, name)
        missing = beside(folders[0] if folders else "", name) if wandering(name) else None
        return (missing, False) if found is None else (found, True)
