"""A source with its headers in the order of inclusion: what of each text may be compiled, and which macros hold there.

Only directives are read for it. A condition whose value is unknown lets all of its branches count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from hatch_cuda_kernels.cpp.conditions import evaluate
from hatch_cuda_kernels.cpp.macros import UNKNOWN_VALUE, Macro, parse_definition

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence

    from hatch_cuda_kernels.cpp.lexer import Directive, SourceFile
    from hatch_cuda_kernels.cpp.macros import MacroMark, MacroTable, State

    #: Returns the names of the files that a directive may include; none for a header that is not read.
    Resolve = Callable[[SourceFile, Directive], Sequence[str]]
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
    """The time of the macros that hold there."""


class Inclusion(NamedTuple):
    """A file that is read here, and all that is read of it."""

    visit: Visit
    file: SourceFile
    """The file that includes it."""
    directive: int
    """The index of the directive there."""
    since: int
    """The time of the macros before it."""
    until: int
    """And behind it."""


class Branches(NamedTuple):
    """The branches of a group of which it is unknown which one counts."""

    conditions: tuple[int, ...]
    """The index of the directive that begins each branch."""
    branches: tuple[tuple[Item, ...], ...]


@dataclass(frozen=True, eq=False)
class Visit:
    """One reading of a file."""

    file: SourceFile
    items: tuple[Item, ...] = ()

    @cached_property
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

    @cached_property
    def shape(self) -> tuple[object, ...]:
        """The runs, and what stands between them."""
        return tuple(
            item.number
            if isinstance(item, Run)
            else item.visit.file.name
            if isinstance(item, Inclusion)
            else (depth, item.conditions, tuple(map(len, item.branches)))
            for item, depth in self.nested
        )


class Condition(NamedTuple):
    """A conditional directive that was reached, and whether it holds: None where that is unknown."""

    file: SourceFile
    directive: Directive
    holds: bool | None
    time: int


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
        cls, files: Mapping[str, SourceFile], start: Iterable[str], resolve: Resolve, macros: MacroTable
    ) -> TranslationUnit:
        """Read the files ``start``, one by one, and all they include. Raises UnbalancedError and InclusionError."""
        unit = cls(macros)
        reader = _UnitReader(unit, files, resolve)
        unit.roots += [reader.visit(files[name]) for name in start]
        return unit


@dataclass(frozen=True, slots=True, eq=False)
class _Trace:
    """A reading of a file and all it includes, which is the same wherever what it asks for is."""

    visit: Visit
    since: int
    """The times of macros before it, and behind it."""
    until: int
    asked: Mapping[str, State]
    changes: Sequence[tuple[int, str, State]]
    inclusions: Sequence[tuple[SourceFile, Directive, Sequence[SourceFile]]]
    """Each directive that includes, with the files that it stands for."""
    passed: Collection[str]
    """Files that it does not read again."""
    read: Collection[str]
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
    macros: MacroMark
    read: int
    """How many files were read."""
    lengths: tuple[int, ...]


class _UnitReader:
    def __init__(self, unit: TranslationUnit, files: Mapping[str, SourceFile], resolve: Resolve) -> None:
        self._unit: Final = unit
        self._files: Final = files
        self._resolve: Final = resolve
        self._once: Final[list[dict[str, int]]] = [{}]
        """Files that are not read again, wherever one is, and in each branch that is open: after how many were read."""
        self._open: Final[dict[str, int]] = {}
        """Files that are being read and may be read once."""
        self._inclusions: Final[list[tuple[SourceFile, Directive, Sequence[SourceFile]]]] = []
        self._wanted: Final[list[tuple[str, int | None]]] = []
        """Files that were to be read, and since when they are not read again."""
        self._left = _MOST_REMEMBERED
        self._onces: Final[list[tuple[int, str]]] = []
        """Files that are not to be read again, each with the depth of branches."""
        logs = unit.conditions, unit.unresolved, self._inclusions, self._wanted, self._onces
        self._logs: Final[tuple[list[Any], ...]] = logs

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
                result = Visit(frame.file, tuple(stop.value))
                if waiting:
                    self._remember(frame, result)
                continue
            since = self._read_since(wanted.name)
            self._wanted.append((wanted.name, since))
            result = self._repeated(wanted) if since is None else Visit(wanted)
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
        """Remember how a file was read, for others."""
        if self._left < 0:
            return
        known: list[_Trace] = frame.file.memory.setdefault(_Trace, [])
        asked, changes = self._unit.macros.since(frame.macros)
        conditions, unresolved, inclusions, wanted, onces = (
            log[first:] for log, first in zip(self._logs, frame.lengths, strict=True)
        )
        passed = {name: since for name, since in wanted if since is not None and since < frame.read}
        read = {name: None for name, since in wanted if since is None}
        self._wanted[frame.lengths[3] :] = [*passed.items(), *read.items()]
        self._left -= sum(map(len, (asked, changes, inclusions, wanted, conditions)))
        if len(known) < _MOST_TRACES:
            known.append(
                _Trace(
                    visit=visit,
                    since=frame.macros.time,
                    until=self._unit.macros.time,
                    asked=asked,
                    changes=changes,
                    inclusions=inclusions,
                    passed=[*passed],
                    read=[*read],
                    once=[name for depth, name in onces if depth == len(self._once)],
                    count=self._unit.count - frame.read + 1,
                    conditions=conditions,
                    unresolved=unresolved,
                )
            )

    def _repeated(self, file: SourceFile) -> Visit | None:
        """Return how a file was read before, by this unit or another, where that would be the same here."""
        macros = self._unit.macros
        known: list[_Trace] = file.memory.get(_Trace, [])
        for one in known:
            if (
                one.since >= macros.time
                and all(self._read_since(name) is None for name in one.read)
                and all(self._read_since(name) is not None for name in one.passed)
                and all(self._files_of(including, directive) == files for including, directive, files in one.inclusions)
                and macros.repeat(one.asked, one.changes, one.until)
            ):
                self._count(one.count, 0, file)
                self._wanted.extend([(name, self._read_since(name)) for name in (*one.passed, *one.read)])
                for name in one.once:
                    self._read_once(name)
                self._inclusions.extend(one.inclusions)
                self._unit.conditions += one.conditions
                self._unit.unresolved += one.unresolved
                return one.visit
        return None

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
        """Return what may count of a conditional group."""
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
        other: dict[str, tuple[Macro | None, ...]] = {}
        """What holds of the names that conditions ask for where none of these conditions does."""
        for at, end in counting:
            here, directive = dict(other), file.directives[at]
            asked = None if directive.word in {"elifdef", "elifndef"} else directive.tested  # which may be skipped
            if asked is not None and not macros.now(asked[0]):
                name, is_defined = asked
                states = (Macro(name, None, False, (UNKNOWN_VALUE,)),), (None,)
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
        self._unit.conditions.append(Condition(file, directive, holds, macros.time))
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
        elif directive.word in {"include", "include_next", "import"}:
            return (yield from self._include(file, at, directive))
        return []

    def _include(self, file: SourceFile, at: int, directive: Directive) -> Steps:
        files = self._files_of(file, directive)
        self._inclusions.append((file, directive, files))
        if not files:
            self._unit.unresolved.append((file, directive))
        found: list[Item] = []
        for wanted in files:
            since = self._unit.macros.time
            visit = yield wanted
            if visit is not None:  # only the first step gets none
                found.append(Inclusion(visit, file, at, since, self._unit.macros.time))
            if directive.word == "import":
                self._read_once(wanted.name)
        return found
