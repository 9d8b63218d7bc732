"""A source with its headers in the order of inclusion: what of each text may be compiled, and which macros hold there.

Only directives are read for it. A condition whose value is unknown lets all of its branches count.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from hatch_cuda_kernels.cpp.conditions import evaluate
from hatch_cuda_kernels.cpp.lexer import Directive, SourceFile
from hatch_cuda_kernels.cpp.macros import leading_to, parse_definition, unknown_macro

if TYPE_CHECKING:
    from hatch_cuda_kernels.cpp.macros import MacroChanges, MacroTable, Mark, State

#: Returns the names of the files that a directive may include; none for a header that is not read.
Resolve: TypeAlias = Callable[[SourceFile, Directive], Sequence[str]]
Item: TypeAlias = "Run | Inclusion | Branches"
#: Yields files that are to be read next, takes what may count of them, and returns what may count here.
Steps: TypeAlias = "Generator[SourceFile, Visit | None, Sequence[Item]]"

_DEEPEST: Final = 1 << 12
#: More inclusions than one source makes in code that people write.
_MOST_VISITS: Final = 1 << 16
#: How many ways to read a file are remembered.
_MOST_TRACES: Final = 8
#: How much of that a unit remembers: a file counts again for each that includes it.
_MOST_REMEMBERED: Final = 1 << 21


class Run(NamedTuple):
    """Tokens between two directives."""

    number: int
    """Which run of the file it is."""
    time: int
    """The time of the macros that hold there, in the table of the reading."""


class Inclusion(NamedTuple):
    """A file that is read here, and all that is read of it."""

    visit: Visit
    file: SourceFile
    """The file that includes it."""
    directive: int
    """The index of the directive there."""


class Branches(NamedTuple):
    """The branches of a group of which it is unknown which one counts."""

    conditions: tuple[int, ...]
    """The index of the directive that begins each branch."""
    branches: tuple[tuple[Item, ...], ...]


@dataclass(frozen=True, eq=False)
class Visit:
    """One reading of a file, maybe for another unit."""

    file: SourceFile
    macros: MacroChanges
    """What was asked of macros, and what changed."""
    items: tuple[Item, ...] = ()
    memory: dict[Hashable, Any] = field(default_factory=dict)
    """What others remember of it, each under a key of its own."""

    @cached_property
    def whole(self) -> list[Visit]:
        """The readings of the files that are included here and there, each once, and this one behind all of these."""
        found: dict[Visit, None] = {}
        waiting = [(self, False)]
        while waiting:
            visit, is_done = waiting.pop()
            if is_done:
                found[visit] = None
            elif visit not in found:
                waiting.append((visit, True))
                waiting += ((one.visit, False) for one in visit.inclusions)
        return [*found]

    @cached_property
    def words(self) -> frozenset[str]:
        """The tokens that may count of the file."""
        runs = (item.number for item, _ in self.nested if isinstance(item, Run))
        return frozenset().union(*map(self.file.tokens, runs))

    @property
    def nested(self) -> list[tuple[Item, int]]:
        """All items in order, those in branches among them, each with the depth of these."""
        found: list[tuple[Item, int]] = []
        waiting: list[tuple[Item, int]] = [(item, 0) for item in reversed(self.items)]
        while waiting:
            item, depth = waiting.pop()
            found.append((item, depth))
            if isinstance(item, Branches):
                inner = [one for branch in item.branches for one in branch]
                waiting += ((one, depth + 1) for one in reversed(inner))
        return found

    @cached_property
    def inclusions(self) -> list[Inclusion]:
        """The files that are included, in order."""
        return [item for item, _ in self.nested if isinstance(item, Inclusion)]


class Condition(NamedTuple):
    """A conditional directive that was reached, and whether it holds: None where that is unknown."""

    file: SourceFile
    directive: Directive
    holds: bool | None
    macros: MacroTable
    time: int
    """When it was reached, by that table."""


class InclusionError(Exception):
    """Files include each other without an end."""


@dataclass(slots=True)
class TranslationUnit:
    """What is read of a source and its headers."""

    macros: MacroTable
    count: int = 0
    """How many files were read, each as often as it is included."""
    conditions: list[Condition] = field(default_factory=list)
    unresolved: list[tuple[SourceFile, Directive]] = field(default_factory=list)
    """Includes that were reached, of which no file is read."""
    roots: list[Visit] = field(default_factory=list)
    """The files that nothing includes, in order."""

    @classmethod
    def read(
        cls,
        files: Mapping[str, SourceFile],
        start: Iterable[str],
        resolve: Resolve,
        macros: MacroTable,
        *,
        has_words: Callable[[str], bool] = bool,
    ) -> TranslationUnit:
        """Read the files ``start``, one by one, and all they include. Raises TextError and InclusionError.

        ``has_words`` tells, by its name, of which file more than the directives matters.
        """
        unit = cls(macros)
        reader = _UnitReader(unit, files, resolve, has_words)
        unit.roots += [reader.visit(files[name]) for name in start]
        return unit


@dataclass(frozen=True, slots=True, eq=False)
class _Trace:
    """A reading of a file and all it includes, which is the same wherever what it asks for is."""

    visit: Visit
    inclusions: Sequence[tuple[SourceFile, Directive, Sequence[SourceFile]]]
    """Each directive that includes, with the files that it stands for."""
    passed: frozenset[str]
    """Files that it does not read again."""
    read: frozenset[str]
    """Files that it reads."""
    once: Sequence[str]
    """Files that are not to be read behind it."""
    count: int
    conditions: Sequence[Condition]
    unresolved: Sequence[tuple[SourceFile, Directive]]


class _Frame(NamedTuple):
    """A file that is being read, with how much was known before."""

    file: SourceFile
    steps: Steps
    macros: Mark
    read: int
    """How many files were read."""
    lengths: tuple[int, ...]


@dataclass(eq=False)
class _UnitReader:
    _unit: TranslationUnit
    _files: Mapping[str, SourceFile]
    _resolve: Resolve
    _has_words: Callable[[str], bool]

    def __post_init__(self) -> None:
        self._key = _Trace, self._has_words, self._unit.macros.told_of
        self._once: list[dict[str, int]] = [{}]
        """Files that are not read again, wherever one is, and in each branch that is open: after how many were read."""
        self._open: dict[str, int] = {}
        """Files that are being read and may be read once."""
        self._inclusions: list[tuple[SourceFile, Directive, Sequence[SourceFile]]] = []
        self._wanted: list[tuple[str, int | None]] = []
        """Files that were to be read, and since when they are not read again."""
        self._left = _MOST_REMEMBERED
        self._onces: list[tuple[int, str]] = []
        """Files that are not to be read again, each with the depth of branches."""
        logs = self._unit.conditions, self._unit.unresolved, self._inclusions, self._wanted, self._onces
        self._logs: tuple[list[Any], ...] = logs

    def visit(self, file: SourceFile) -> Visit:
        """Read a file and all that it includes, and return what may count of it."""
        waiting = [self._frame(file)]
        result: Visit | None = None
        while waiting:
            frame = waiting[-1]
            try:
                wanted = frame.steps.send(result)
            except StopIteration as stop:
                waiting.pop()
                self._open.pop(frame.file.name, None)
                result = Visit(frame.file, self._unit.macros.since(frame.macros), tuple(stop.value))
                if waiting:
                    self._remember(frame, result)
                continue
            since = self._read_since(wanted.name)
            self._wanted.append((wanted.name, since))
            macros = self._unit.macros
            result = self._repeated(wanted) if since is None else Visit(wanted, macros.since(macros.mark()))
            if result is None:
                self._count(1, len(waiting), wanted)
                waiting.append(self._frame(wanted))
        assert result is not None  # noqa: S101 - of the first file
        return result

    def _read_since(self, name: str) -> int | None:
        """Return how many files were read when it was clear that one is not read again; None for one that is."""
        return min((one[name] for one in (self._open, *self._once) if name in one), default=None)

    def _count(self, count: int, depth: int, file: SourceFile) -> None:
        self._unit.count += count
        if depth > _DEEPEST or self._unit.count > _MOST_VISITS:
            raise InclusionError(f"{file.name}: files include each other without an end")

    def _frame(self, file: SourceFile) -> _Frame:
        steps = self._items(file, 0, len(file.directives))
        return _Frame(file, steps, self._unit.macros.mark(), self._unit.count, tuple(map(len, self._logs)))

    def _remember(self, frame: _Frame, visit: Visit) -> None:
        if self._left < 0:
            return
        known: list[_Trace] = frame.file.memory.setdefault(self._key, [])
        macros = visit.macros
        conditions, unresolved, inclusions, wanted, onces = (
            log[first:] for log, first in zip(self._logs, frame.lengths, strict=True)
        )
        passed = {name: since for name, since in wanted if since is not None and since < frame.read}
        read = {name: None for name, since in wanted if since is None}
        self._wanted[frame.lengths[3] :] = [*passed.items(), *read.items()]
        self._left -= sum(map(len, (macros.names, macros.changes, inclusions, wanted, conditions)))
        if len(known) < _MOST_TRACES:
            once = [name for depth, name in onces if depth == len(self._once)]
            count, files = self._unit.count - frame.read + 1, (frozenset(passed), frozenset(read))
            known.append(_Trace(visit, inclusions, *files, once, count, conditions, unresolved))

    def _repeated(self, file: SourceFile) -> Visit | None:
        """Return how a file was read before, by this unit or another, where that would be the same here."""
        macros = self._unit.macros
        known: list[_Trace] = file.memory.get(self._key, [])
        over = {*self._open}.union(*self._once)
        for one in known:
            visit = one.visit
            if (
                one.read.isdisjoint(over)
                and one.passed <= over
                and all(self._files_of(including, directive) == files for including, directive, files in one.inclusions)
                and macros.answers(visit.macros.asked)
                and self._means_the_same(visit)
            ):
                macros.repeat(visit.macros)
                self._count(one.count, 0, file)
                self._wanted.extend([(name, self._read_since(name)) for name in (*one.passed, *one.read)])
                for name in one.once:
                    self._read_once(name)
                self._inclusions.extend(one.inclusions)
                self._unit.conditions += one.conditions
                self._unit.unresolved += one.unresolved
                return visit
        return None

    def _means_the_same(self, visit: Visit) -> bool:
        """Return whether the words of a reading, and what ``##`` may make of them, mean here what they meant there."""
        macros, before = self._unit.macros, visit.macros
        if self._key not in visit.memory:
            meant = self._meanings(visit, before.table, before.since)
            known = {*before.made, *(one for found in meant.values() for one in found if one is not None)}
            words = frozenset().union(*(one.words for one in visit.whole if self._has_words(one.file.name)))
            making = (one for one in known if one.makes_names and not leading_to([one.name], known).isdisjoint(words))
            visit.memory[self._key] = meant, frozenset(ends for one in making for ends in one.made_names)
        meant, made = visit.memory[self._key]
        if self._meanings(visit, macros, macros.time) != meant:
            return False
        names = macros.made(made) | before.table.made(made)
        return all(macros.at(one, macros.time) == before.table.at(one, before.since) for one in names)

    def _meanings(self, visit: Visit, table: MacroTable, time: int) -> dict[str, State]:
        """Return the macros at a time among the words of a reading, and those that these lead to."""
        known = [table.names & one.words for one in visit.whole if self._has_words(one.file.name)]
        words = table.names & visit.macros.words if known else ()
        meant = table.reached(frozenset(words).union(*known), time)
        return {name: found for name, found in meant.items() if any(found)}

    def _read_once(self, name: str) -> None:
        self._once[-1].setdefault(name, self._unit.count)
        self._onces.append((len(self._once), name))

    def _files_of(self, file: SourceFile, directive: Directive) -> list[SourceFile]:
        return [self._files[name] for name in self._resolve(file, directive)]

    def _items(self, file: SourceFile, first: int, last: int) -> Steps:
        """Return what may count of a file between two directives; yield each file that it includes for its reading."""
        found: list[Item] = []
        at = first
        while at < last:
            found.append(Run(at, self._unit.macros.time))
            directive = file.directives[at]
            step = self._group(file, at) if directive.is_conditional else self._directive(file, at, directive)
            found += yield from step
            at = 1 + (file.group(at)[-1] if directive.is_conditional else at)
        found.append(Run(last, self._unit.macros.time))
        return found

    def _group(self, file: SourceFile, first: int) -> Steps:
        counting: list[tuple[int, int]] = []
        is_decided = False
        for at, end in pairwise(file.group(first)):
            holds = self._holds(file, at)
            if holds is not False:
                counting.append((at, end))
            if holds:
                is_decided = True
                break
        if is_decided and len(counting) == 1:
            at, end = counting[0]
            return (yield from self._items(file, at + 1, end))
        return (yield from self._branches(file, counting, is_whole=is_decided)) if counting else []

    def _branches(self, file: SourceFile, counting: list[tuple[int, int]], *, is_whole: bool) -> Steps:
        macros = self._unit.macros
        found: list[tuple[Item, ...]] = []
        after = []
        changed: set[str] = set()
        other: dict[str, State] = {}
        """What holds of the names that conditions ask for where none of these conditions does."""
        for at, end in counting:
            here, directive = dict(other), file.directives[at]
            asked = None if directive.word in {"elifdef", "elifndef"} else directive.tested  # which may be skipped
            if asked is not None and not macros.now(asked[0]):
                name, is_defined = asked
                states = (unknown_macro(name),), (None,)
                here[name], other[name] = states if is_defined else states[::-1]
            macros.begin_branch()
            for name, state in here.items():
                macros.set(name, state)
            self._once.append({})
            found.append(tuple((yield from self._items(file, at + 1, end))))
            self._once.pop()
            after.append(macros.end_branch())
            changed |= {name for name, state in after[-1].items() if here.get(name) != state}
        left = ({name: state for name, state in one.items() if name in changed} for one in [*after, other])
        macros.merge([*left][: len(after) + (not is_whole)])
        return [Branches(tuple(at for at, _ in counting), tuple(found))]

    def _holds(self, file: SourceFile, at: int) -> bool | None:
        directive, macros = file.directives[at], self._unit.macros
        if directive.word == "else":
            return True
        holds = evaluate(directive, macros.now)
        self._unit.conditions.append(Condition(file, directive, holds, macros, macros.time))
        return holds

    def _directive(self, file: SourceFile, at: int, directive: Directive) -> Steps:
        """Return what a directive includes, and let it change the macros."""
        if directive.word == "define":
            macro = parse_definition(directive, file)
            if macro is not None:
                self._unit.macros.define(macro)
        elif directive.word == "undef":
            for name in directive.texts[:1]:
                self._unit.macros.set(name, (None,))
        elif directive.word == "pragma" and directive.texts == ("once",):
            self._read_once(file.name)
            self._open[file.name] = self._unit.count
        elif directive.is_include:
            return (yield from self._include(file, at, directive))
        return []

    def _include(self, file: SourceFile, at: int, directive: Directive) -> Steps:
        files = self._files_of(file, directive)
        self._inclusions.append((file, directive, files))
        if not files:
            self._unit.unresolved.append((file, directive))
        found: list[Item] = []
        for wanted in files:
            visit = yield wanted
            if visit is not None:  # only the first step gets none
                found.append(Inclusion(visit, file, at))
            if directive.word == "import":
                self._read_once(wanted.name)
        if self._has_words(file.name) and not any(self._has_words(one.name) for one in files):
            self._unit.macros.pass_header(directive.header)
        return found
