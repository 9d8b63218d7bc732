"""Finds every project file that a source can see, and gives each the one virtual name under which NVRTC is shown it.

NVRTC finds an in-memory header by the literal spelling of the directive, so the directives of project files are
rewritten to absolute virtual names. ``#pragma once``, ``..`` and ``__FILE__`` then mean the same in every checkout, and
what is not hashed cannot be seen. ``#if`` is not evaluated: the closure is a superset of what a compile opens.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from glob import has_magic
from itertools import islice
from typing import TYPE_CHECKING, Final, cast

from hatch_cuda_kernels import cpp, libraries  # of which few sources need more than this
from hatch_cuda_kernels.cpp import Edit, Edited, Macro, MacroTable, MacroToken, SourceFile, lex, parse_defines
from hatch_cuda_kernels.errors import InputError
from hatch_cuda_kernels.includes.closure import NO_OUTER_HEADERS, Closure, Origin, OuterHeaders, PlainNames
from hatch_cuda_kernels.includes.computed import MadeNames, named_by_macros
from hatch_cuda_kernels.includes.project import normalize, package_of, wandering
from hatch_cuda_kernels.includes.texts import Project, Renamed
from hatch_cuda_kernels.names import VIRTUAL_ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from hatch_cuda_kernels.cpp import Stream, StreamToken

#: ``__DATE__`` and its kin, which make each build another.
_CLOCKS: Final = frozenset({"__DATE__", "__TIME__", "__TIMESTAMP__"})
#: What a clock's name may begin with, where ``##`` puts it together.
_BEGINNING: Final = re.compile(r"__(?<!\w__)(?:D|DA|DAT|DATE|DATE_|T|TI|TIM|TIME|TIME_|TIMES\w*)?(?!\w)")
#: The macro by which NVRTC is told from others.
_NVRTC: Final = Macro("__CUDACC_RTC__", None, is_variadic=False, body=(MacroToken("1"),))
_DIFFERS: Final = "{} differs in each build, and images must not; give such a value through define: in the manifest"
_MADE: Final = "## makes {} here, which differs in each build"


def read_closure(
    root: Path,
    source: str,
    *,
    include: Sequence[str] = (),
    headers: Sequence[str] = (),
    pre_include: Sequence[str] = (),
    define: Sequence[tuple[str, str | None]] = (),
    project: Project | None = None,
    outer: OuterHeaders = NO_OUTER_HEADERS,
) -> Closure:
    """Read a source and all project headers it names, all paths relative to ``root``.

    ``include`` are folders; ``headers`` are paths of what computed includes need, and globs of what they may;
    ``define`` are the options' macros, which may name headers too. A ``project`` of that root, shared by many calls,
    lists each folder and reads each file once. ``outer`` are headers outside it. Raises InputError with all problems.
    """
    reader = _Reader(project or Project(root), source, include, define)
    start = reader.start
    names = reader.declared(headers, [posixpath.dirname(start), *reader.include, ""])
    forced = tuple(reader.forced(spelling) for spelling in pre_include)
    if not reader.problems:
        reader.follow()
    plain = PlainNames(outer, lambda name: reader.project.included(name, reader.include), names)
    reader.complete(plain, names)
    names = {name: path for name, path in names.items() if path in reader.wanted}
    if reader.problems:
        raise InputError("\n".join(dict.fromkeys(reader.problems)))
    program = VIRTUAL_ROOT + start
    standard = {name: outer.standard.text(name) for name in plain.standard}
    others = {name: f'#include "{VIRTUAL_ROOT}{path}"\n' for name, path in (plain.project | names).items()}
    origin = reader.origin(
        {name: SourceFile(name, text) for name, text in others.items()}
        | {name: header.file for name, header in standard.items()},
    )
    shown = {VIRTUAL_ROOT + path: one.text for path, one in reader.done.items()}
    if start in reader.wanted and (once := _once_in_source(origin.files[program])):
        origin.edits[program] += once
        shown[program] = Edited(origin.files[program], origin.edits[program]).text
    in_memory = {VIRTUAL_ROOT + path: shown[VIRTUAL_ROOT + path] for path in reader.wanted} | others
    in_memory |= {name: header.text for name, header in standard.items()}
    return Closure(
        source=shown[program],
        program_name=program,
        headers=tuple(sorted(in_memory.items())),
        files=tuple(sorted((path, reader.project.text(path).sha256) for path in reader.done)),
        pre_include=forced,
        outside=tuple(sorted(plain.outside)),
        computed=tuple(reader.named("computed")),
        probes=tuple(reader.named("probes")),
        standard=tuple(sorted(plain.standard)),
        named=tuple(sorted(plain.named)),
        asked=tuple(sorted(plain.asked)),
        clocks=tuple(find_clocks(origin, (*forced, program), define)),
        origin=origin,
    )


class _Reader:
    def __init__(
        self, project: Project, source: str, include: Sequence[str], define: Sequence[tuple[str, str | None]]
    ) -> None:
        self.project = project
        self.define = [macro for found in parse_defines(define).values() for macro in found if macro is not None]
        self.include: tuple[str, ...] = ()
        self.done: dict[str, Renamed] = {}
        self.wanted: set[str] = set()  # what must be in memory: the source is not, unless something includes it
        self.problems: list[str] = [found for name, value in define for found in _clocks_of_option(name, value or "")]
        self._forced: set[str] = set()
        self._by_macros = 0, MadeNames()
        found = normalize("", source)
        if found is None:
            self.problems.append(f"{source}: the source must be inside the project, given relative to it")
        elif project.files.kind(found) not in {"file", "outside"}:
            self.problems.append(f"{source}: no such source file in {project.files.root}")
        self.start = found or source
        self._waiting = [self.start]
        for path in include:
            folder = normalize("", path)
            kind = None if folder is None else project.files.kind(folder)
            if folder is None or kind == "outside":
                self.problems.append(f"{path}: an include folder must be inside the project, given relative to it")
            elif kind != "folder":
                self.problems.append(f"{path}: no such include folder in {project.files.root}")
            else:
                self.include += (folder,)

    def declared(self, patterns: Sequence[str], folders: Sequence[str]) -> dict[str, str]:
        """Return what computed includes may call the files of declared globs; the first in search order wins a name.

        Without wildcards, a file is wanted, whoever may ask for it.
        """
        declared: dict[str, None] = {}
        for pattern in patterns:
            found = normalize("", pattern)
            files = list(self.project.files.glob(found)) if found else []
            declared |= dict.fromkeys(files)
            if not found:
                self.problems.append(f"{pattern}: headers must be inside the project, given relative to it")
            elif not files and not has_magic(found):
                self.problems.append(f"{pattern}: no such header in {self.project.files.root}")
            elif not has_magic(found):
                self._want(files)
        names: dict[str, str] = {}
        for prefix in (f"{folder}/" if folder else "" for folder in folders):
            for path in (one for one in declared if one.startswith(prefix)):
                names.setdefault(path.removeprefix(prefix), path)
        return names

    def forced(self, spelling: str) -> str:
        """Return the name NVRTC pre-includes. A project header is looked for from the root, then as ``<...>`` is."""
        found = self.project.search(["", *self.include], spelling)
        if found is not None:
            self._want([found])
            return VIRTUAL_ROOT + found
        if wandering(spelling):
            self.problems.append(f"{spelling}: no such header to pre-include in {self.project.files.root}")
        self._forced.add(spelling)
        return spelling

    def follow(self) -> None:
        """Read all wanted files and all they lead to."""
        while self._waiting:
            path = self._waiting.pop()
            if path not in self.done:
                found = self.done[path] = self.project.renamed(path, self.include)
                self.problems += found.problems
                self._want(found.wanted)

    def complete(self, plain: PlainNames, spellings: dict[str, str]) -> None:
        """Read what headers outside the project, or macros, ask for of it: that leads to others in turn."""
        while (
            self._want(self._computed(spellings))
            or self._want(sorted(plain.answer(self.outside(spellings)) | {spellings[name] for name in plain.used}))
            or self._want(self._computed(spellings, at_last=True))
        ):
            self.follow()

    def _computed(self, spellings: dict[str, str], *, at_last: bool = False) -> list[str]:
        """Return the files that computed includes may name, at last all declared ones if a name is unknown."""
        found = self._named_by_macros()
        files = {name: self.project.included(name, self.include) for name in found.names - spellings.keys()}
        spellings |= {name: path for name, path in files.items() if path is not None}
        every = at_last and not found.is_whole
        return sorted({path for name, path in spellings.items() if every or name in found.names})

    def _named_by_macros(self) -> MadeNames:
        if self._by_macros[0] != len(self.done) and self.named("computed") + self.named("probes"):
            texts = [self.project.text(path) for path in self.done]
            found = named_by_macros(texts, self.define)
            # What a condition spells for a macro that probes is named like other probes.
            spelled = {one.spelling[1:-1] for text in texts for one in text.includes if one.is_probe}
            self._by_macros = len(self.done), found._replace(names=found.names - spelled)
            self.problems += found.problems
        return self._by_macros[1]

    def named(self, what: str) -> list[str]:
        """Return one kind of note about all files that were read, in order."""
        return sorted({note for found in self.done.values() for note in getattr(found, what)})

    def outside(self, spellings: Mapping[str, str]) -> set[str]:
        """Return what is not the project's: spelled in directives, and where a macro names headers, in macros too."""
        found = self._named_by_macros()
        return {*self._forced, *self.named("outside")} | (found.names | found.spelled) - spellings.keys()

    def origin(self, others: Mapping[str, SourceFile]) -> Origin:
        """Return the texts as they were, and how they change."""
        done = {path: one for path, one in self.done.items() if not self._is_toolkits(path)}
        return Origin(
            {**others, **{VIRTUAL_ROOT + path: self.project.text(path).file for path in done}},
            {VIRTUAL_ROOT + path: one.edits for path, one in done.items()},
            {VIRTUAL_ROOT + path: one.targets for path, one in done.items()},
        )

    def _is_toolkits(self, path: str) -> bool:
        """Return whether a file of a package is one of CCCL's, which NVRTC takes as it is, like the toolkit's own."""
        folders = (one for one in self.include if package_of(path) and path.startswith(f"{one}/"))
        return any(libraries.is_cccl_header(path[len(one) + 1 :]) for one in folders)

    def _want(self, paths: Iterable[str]) -> bool:
        """Want files in memory; return whether one of them is new."""
        fresh = [path for path in dict.fromkeys(paths) if path not in self.wanted]
        self.wanted.update(fresh)
        self._waiting += fresh
        return bool(fresh)


def _once_in_source(file: SourceFile) -> tuple[Edit, ...]:
    """Return the edits by which a ``#pragma once`` of a source that its own headers include counts for NVRTC, too."""
    first = file.directives[:1]
    if not first or (first[0].word, first[0].texts) != ("pragma", ("once",)) or file.tokens(0):
        return ()
    end = len(file.text)
    return Edit(first[0].start, first[0].end, "#if !__INCLUDE_LEVEL__"), Edit(end, end, "\n#endif\n")


def find_clocks(origin: Origin, start: Iterable[str], define: Iterable[tuple[str, str | None]] = ()) -> list[str]:
    """Return the uses of what makes each build another, but where conditions keep it from NVRTC."""
    spells, makes, begins = map(any, zip(*map(_glance, origin.files.values()), strict=True))
    if not spells and not (makes and begins):
        return []
    macros = MacroTable({_NVRTC.name: (_NVRTC,), **parse_defines(define)}, libraries.is_toolkit_macro)
    found: set[str] = set()
    try:
        waiting = [*origin.read(start, macros, bool).roots]
        while waiting:
            visit = waiting.pop()
            for stream in cpp.Stream.readings(visit, frozenset()):
                tokens = cpp.Cursor(stream).tokens()
                found.update(one for token in tokens for one in _uses(token, stream, origin.files))
                waiting += (one.visit for one in stream.inclusions)
    except (cpp.InclusionError, cpp.TextError):  # what is wrong with it is for NVRTC to say
        return []
    return sorted(found)


def _glance(file: SourceFile) -> tuple[bool, bool, bool]:
    """Return whether a text has a clock's name, ``##``, and what may be made one by that."""
    if _glance not in file.memory:
        text = file.joined
        spells = "__DATE__" in text or "__TIME" in text
        file.memory[_glance] = spells, "##" in text, "__" in text and _BEGINNING.search(text) is not None
    return cast("tuple[bool, bool, bool]", file.memory[_glance])


def _uses(token: StreamToken, stream: Stream, files: Mapping[str, SourceFile]) -> Iterator[str]:
    """Yield the places of the clocks that a token is, or a macro's token may be."""
    use = token.use
    first, last = (token.at, token.at + 1) if use is None else (use.first, use.last)
    for clock in _CLOCKS.intersection((token.text,) if use is None else (token.text, *use.others)):
        places = [stream.place(at)[:2] for at in range(first, last) if stream.texts[at] == clock]
        known = stream.reached(first, last).values() if not places else ()
        reached = [macro for found in known for macro in found if macro is not None]
        for macro in (one for one in reached if one.file and clock in one.words):
            file = files[macro.file]
            defined = file.directive_at(macro.offset).tokens()
            places += ((file, file.place(part.start)) for part in defined if part.text == clock)
        yield from (f"{file.at(at).removeprefix(VIRTUAL_ROOT)}: {_DIFFERS.format(clock)}" for file, at in places)
        making = (one for one in reached if not places and any(part.text == "##" for part in one.body))
        for macro in islice(making, 1):
            place = files[macro.file].at(macro.offset) if macro.file else f"the option define {macro.name}"
            yield f"{place.removeprefix(VIRTUAL_ROOT)}: {_MADE.format(clock)}"


def _clocks_of_option(name: str, value: str) -> Iterator[str]:
    """Yield what makes an option's macro differ in each build."""
    for clock in dict.fromkeys(token for token in lex(value) if token in _CLOCKS):
        yield f"the option define {name}={value}: {_DIFFERS.format(clock)}"
