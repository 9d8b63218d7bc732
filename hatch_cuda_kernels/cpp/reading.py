"""What the files of a unit declare: each is read in the scope in which it is included, and once for all units alike."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar, cast

from hatch_cuda_kernels.cpp.declarations import Declaration
from hatch_cuda_kernels.cpp.lexer import SourceFile, TextError
from hatch_cuda_kernels.cpp.macros import MacroTable, State
from hatch_cuda_kernels.cpp.parser import DeclarationParser, FragmentError
from hatch_cuda_kernels.cpp.stream import Stream, brace_macros
from hatch_cuda_kernels.cpp.unit import Branches, Inclusion, TranslationUnit, Visit

#: A file that is to be read, and the scope in which it is included.
Scoped: TypeAlias = tuple[Visit, Declaration | None]
Found = TypeVar("Found")


@dataclass(eq=False)
class Reading:
    """One way to read a file, and what it declares."""

    stream: Stream
    declarations: list[Declaration]
    _memory: dict[object, Any] = field(default_factory=dict, init=False, repr=False)

    def remembered(self, make: Callable[[Reading], Found]) -> Found:
        """Return what a function makes of it; each function is called once, whatever units the reading is part of."""
        if make not in self._memory:
            self._memory[make] = make(self)
        return cast("Found", self._memory[make])

    @staticmethod
    def together(readings: Iterable[Reading], make: Callable[[Iterable[Declaration]], Found]) -> Found:
        """Return what a class whose attributes are sets and dictionaries notes of several, each asked once as above."""
        found = make(())
        for one in (reading.remembered(make) for reading in readings):
            for name, known in vars(found).items():
                known.update(getattr(one, name))
        return found

    def __iter__(self) -> Iterator[Declaration]:
        """Yield all declarations, those inside others among them."""
        return (one for declaration in self.declarations for one in declaration)


def _way(visit: Visit, bracing: frozenset[str]) -> Iterator[Hashable]:
    """Yield how a file is read: which runs and branches count, and with which macros. Equal ways read it alike."""
    table = visit.macros.table
    for item, depth in visit.nested:
        if isinstance(item, Inclusion):
            yield item.visit.file.name
        elif isinstance(item, Branches):
            yield (depth, item.conditions, *map(len, item.branches))
        elif not (words := table.names.intersection(visit.file.tokens(item.number))):
            yield item.number
        else:
            meant = table.reached(words, item.time)
            while ("", "") not in (ends := _ends_of_made(meant)) and (made := table.made(ends) - meant.keys()):
                meant = table.reached([*meant, *made], item.time)
            # What may make any name is not compared.
            there = visit if ("", "") in ends else frozenset(pair for pair in meant.items() if pair[1] != (None,))
            yield item.number, there, bracing.intersection(meant)


def _ends_of_made(meant: Mapping[str, State]) -> frozenset[tuple[str, str]]:
    """Return how the names begin and end that ``##`` may make in some macros."""
    known = (one for found in meant.values() for one in found if one is not None and one.makes_names)
    return frozenset(ends for one in known for ends in one.made_names)


def parse(
    unit: TranslationUnit, is_read: Callable[[str], bool] = lambda _: True
) -> tuple[list[Reading], frozenset[str]]:
    """Return what the files of a unit declare, and the names of files that stand inside declarations of others.

    Of files whose names ``is_read`` does not want, only the macros count. Raises TextError for uneven brackets.
    """
    fragments: set[str] = set()
    while True:
        try:
            return _UnitParser(unit, fragments, is_read).read()
        except FragmentError as error:
            fragments.update(error.args)


def read_alone(file: SourceFile) -> Iterator[Declaration]:
    """Yield what a file declares without its includes. Raises TextError for unbalanced text."""
    macros = MacroTable({}, lambda _: True)
    unit = TranslationUnit.read({file.name: file}, [file.name], lambda _file, _directive: (), macros)
    return (declaration for reading in parse(unit)[0] for declaration in reading)


class _UnitParser:
    def __init__(self, unit: TranslationUnit, fragments: Collection[str], is_read: Callable[[str], bool]) -> None:
        self._unit: Final = unit
        self._fragments: Final = fragments
        self._is_read: Final = is_read
        self._bracing: Final = brace_macros(unit.macros)
        self._readings: Final[list[Reading]] = []
        self._parts: Final[set[str]] = set()

    def read(self) -> tuple[list[Reading], frozenset[str]]:
        roots = {id(root) for root in self._unit.roots}
        waiting: list[Scoped] = [(root, None) for root in reversed(self._unit.roots)]
        while waiting:
            visit, scope = waiting.pop()
            if visit.items and self._is_read(visit.file.name):
                waiting += reversed([*self._visit(visit, scope, is_root=id(visit) in roots)])
        return self._readings, frozenset(self._parts)

    def _visit(self, visit: Visit, scope: Declaration | None, *, is_root: bool) -> Iterator[Scoped]:
        """Read a file in its scope, unless it was read so; yield what it includes, with the scopes of that."""
        names = {one.visit.file.name for one in visit.inclusions}
        is_shared = scope is None and not is_root and names.isdisjoint(self._fragments)
        known = self._read_before(visit) if is_shared else None
        if known is not None:
            self._readings.append(known)
            yield from ((one.visit, None) for one in visit.inclusions)
        else:
            yield from self._read(visit, scope, is_root=is_root, is_shared=is_shared)

    def _read_before(self, visit: Visit) -> Reading | None:
        """Return what a file declares, if it was read in the same way, maybe for another unit."""
        # A unit has checked that the words of a visit mean the same in it, and what ``##`` makes.
        key = _way, self._bracing & visit.words
        if key not in visit.memory and (known := visit.file.memory.get(_way)):
            visit.memory[key] = known.get((*_way(visit, self._bracing),))
        return cast("Reading | None", visit.memory.get(key))

    def _read(self, visit: Visit, scope: Declaration | None, *, is_root: bool, is_shared: bool) -> Iterator[Scoped]:
        scopes: dict[int, Declaration | None] = {}
        inside: set[int] = set()
        inclusions: dict[int, Inclusion] = {}
        streams = Stream.readings(visit, self._bracing, self._fragments)
        for stream in streams:
            try:
                found = DeclarationParser(stream, scopes, inside).scope(scope, is_open=False)
            except TextError as error:
                visits = (one.visit for one in stream.inclusions)
                uneven = [one.file.name for one in visits if not stream.is_even(stream.counting(one))]
                if is_root and not uneven:
                    raise
                raise FragmentError(*(uneven or [visit.file.name])) from error
            if found and not is_root and not found[-1].is_closed:
                raise FragmentError(stream.file.name)  # the end of its last declaration stands elsewhere
            self._readings.append(Reading(stream, found))
            if scope is not None:
                scope.included += found
            inclusions |= {id(one): one for one in stream.inclusions}
        if is_shared and len(streams) == 1 and not inside and not any(scopes.values()):
            visit.file.memory.setdefault(_way, {})[(*_way(visit, self._bracing),)] = self._readings[-1]
            visit.memory[_way, self._bracing & visit.words] = self._readings[-1]
        for key, inner in inclusions.items():
            if key in scopes and key not in inside:
                yield inner.visit, scopes[key]
            else:  # it stands inside a declaration, with all that it includes, unless it was read before
                self._parts.update(one.file.name for one in inner.visit.whole if one.items or one is not inner.visit)
