"""``__DATE__`` and its kin, which make each build another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.cpp import (
    Expander,
    ExpansionError,
    Inclusion,
    InclusionError,
    Macro,
    MacroTable,
    MacroToken,
    Run,
    UnbalancedError,
    lex,
    parse_define,
)
from hatch_cuda_kernels.includes.computed import calls
from hatch_cuda_kernels.libraries import is_toolkit_macro
from hatch_cuda_kernels.names import VIRTUAL_ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hatch_cuda_kernels.cpp import Item, SourceFile
    from hatch_cuda_kernels.includes.closure import Origin

__all__ = ["clocks_of_option", "find_clocks"]

_CLOCKS: Final = frozenset({"__DATE__", "__TIME__", "__TIMESTAMP__"})
#: What a clock's name may begin with, where ``##`` puts it together.
_BEGINNING: Final = re.compile(r"__(?<!\w__)(?:D|DA|DAT|DATE|DATE_|T|TI|TIM|TIME|TIME_|TIMES\w*)?(?!\w)")
#: The macro by which NVRTC is told from others.
_NVRTC: Final = Macro("__CUDACC_RTC__", None, is_variadic=False, body=(MacroToken("1"),))
_DIFFERS: Final = "{} differs in each build, and images must not; give such a value through define: in the manifest"


class _Counting(NamedTuple):
    """A run of tokens that may be compiled."""

    file: SourceFile
    run: Run


def find_clocks(origin: Origin, start: Iterable[str], define: Iterable[tuple[str, str | None]] = ()) -> list[str]:
    """Return what of a source and its headers would make each build another, with its place.

    A macro must be used to do so. What conditions such as ``#ifndef __CUDACC_RTC__`` keep from NVRTC does not count.
    """
    files = origin.files
    spells = any("__DATE__" in one.joined or "__TIME" in one.joined for one in files.values())
    pastes = any("##" in one.joined for one in files.values())
    if not spells and not (pastes and any(_BEGINNING.search(one.joined) for one in files.values())):
        return []
    given = {one.name: (one,) for name, value in define if (one := parse_define(name, value)) is not None}
    macros = MacroTable({_NVRTC.name: (_NVRTC,), **given}, is_toolkit_macro)
    try:
        unit = origin.read(start, macros)
    except (UnbalancedError, InclusionError):  # what is wrong with it is for NVRTC to say
        return []
    places = [place for visit in unit.roots for place in _places(visit.file, visit.items)]
    tokens = [place.file.tokens(place.run.number) for place in places]
    found = {*_spelled(files, macros, places, tokens)} if spells else set()
    return sorted(found or {*_pasted(files, macros, places, tokens)})


def _places(file: SourceFile, items: Sequence[Item]) -> Iterator[_Counting]:
    """Yield the runs that may count, in no order. Inclusions may be nested deeper than Python's calls."""
    waiting: list[tuple[SourceFile, Item]] = [(file, item) for item in items]
    while waiting:
        here, item = waiting.pop()
        if isinstance(item, Run):
            yield _Counting(here, item)
        elif isinstance(item, Inclusion):
            waiting += ((item.visit.file, one) for one in item.visit.items)
        else:
            waiting += ((here, one) for branch in item.branches for one in branch)


def _spelled(
    files: Mapping[str, SourceFile], macros: MacroTable, places: Sequence[_Counting], tokens: Sequence[list[str]]
) -> Iterator[str]:
    """Yield where clocks stand, if one is used."""
    telling = _leading_to(_CLOCKS, macros)

    def uses(place: _Counting, found: Sequence[str]) -> bool:
        return any(one in _CLOCKS or any(macros.at(one, place.run.time)) for one in telling.intersection(found))

    if not any(map(uses, places, tokens)):
        return
    for place, found in zip(places, tokens, strict=True):
        if not _CLOCKS.isdisjoint(found):
            starts = place.file.starts(place.run.number)
            for one, start in zip(found, starts, strict=True):
                if one in _CLOCKS:
                    yield _at(place.file, start, _DIFFERS.format(one))
    for macro in macros.definitions():
        if macro.file and not macro.words.isdisjoint(_CLOCKS):
            yield from _defined(files[macro.file], macro)


def _defined(file: SourceFile, macro: Macro) -> Iterator[str]:
    """Yield where clocks stand in the text of a macro."""
    directive = next(one for one in file.directives if one.start == macro.offset)
    for token in directive.tokens():
        if token.text in _CLOCKS:
            yield _at(file, file.place(token.start), _DIFFERS.format(token.text))


def _pasted(
    files: Mapping[str, SourceFile], macros: MacroTable, places: Sequence[_Counting], tokens: Sequence[list[str]]
) -> Iterator[str]:
    """Yield the macros that put the name of a clock together."""
    pasting = {one.name: one for one in macros.definitions() if any(token.text == "##" for token in one.body)}
    telling = _leading_to(pasting, macros)
    for place, found in zip(places, tokens, strict=True):
        if telling.isdisjoint(found):
            continue
        for call in calls([MacroToken(one) for one in found]):
            clock = _made(call, macros, place.run.time) if call[0].text in telling else None
            if clock is not None:
                macro = next(pasting[one] for one in _reached(call[0].text, macros) if one in pasting)
                text = f"## makes {clock} here, which differs in each build"
                yield (
                    _at(files[macro.file], macro.offset, text)
                    if macro.file
                    else f"the option define {macro.name}: {text}"
                )


def _made(call: Sequence[MacroToken], macros: MacroTable, time: int) -> str | None:
    """Return the clock that a use of a macro becomes."""
    for which in (0, -1):

        def look_up(name: str, which: int = which) -> Macro | None:
            found = [one for one in macros.at(name, time) if one is not None]
            return found[which] if found else None

        try:
            made = {token.text for token in Expander(look_up).expand(call)}
        except (ExpansionError, RecursionError):
            continue
        if not _CLOCKS.isdisjoint(made):
            return min(made & _CLOCKS)
    return None


def _leading_to(words: Iterable[str], macros: MacroTable) -> frozenset[str]:
    """Return the words, and all macros that may become one of them."""
    users: dict[str, list[str]] = {}
    for macro in macros.definitions():
        for word in macro.words:
            users.setdefault(word, []).append(macro.name)
    return _spread(words, users)


def _reached(name: str, macros: MacroTable) -> list[str]:
    """Return the macros that a macro may become, itself among them."""
    used: dict[str, list[str]] = {}
    for macro in macros.definitions():
        used.setdefault(macro.name, []).extend(macro.words)
    return sorted(_spread([name], used))


def _spread(names: Iterable[str], edges: Mapping[str, Sequence[str]]) -> frozenset[str]:
    reached = {*names}
    waiting = [*reached]
    while waiting:
        fresh = {*edges.get(waiting.pop(), ())} - reached
        reached |= fresh
        waiting += fresh
    return frozenset(reached)


def _at(file: SourceFile, offset: int, text: str) -> str:
    return f"{file.at(offset).removeprefix(VIRTUAL_ROOT)}: {text}"


def clocks_of_option(name: str, value: str) -> Iterator[str]:
    """Yield what makes an option's macro differ in each build."""
    for clock in dict.fromkeys(token for token in lex(value) if token in _CLOCKS):
        yield f"the option define {name}={value}: {_DIFFERS.format(clock)}"
