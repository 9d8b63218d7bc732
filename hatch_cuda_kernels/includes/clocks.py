"""``__DATE__`` and its kin, which make each build another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from hatch_cuda_kernels.names import VIRTUAL_ROOT
from hatch_cuda_kernels.source.directives import find_directives
from hatch_cuda_kernels.source.guarded_parts import without_guarded
from hatch_cuda_kernels.source.lexer import SPLICE, blank_literals
from hatch_cuda_kernels.source.macros import find_macro_texts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from hatch_cuda_kernels.includes.project import Readings

__all__ = ["clocks_of_option", "find_clocks"]

_CLOCKS: Final = frozenset({"__DATE__", "__TIME__", "__TIMESTAMP__"})
_CLOCK: Final = re.compile("__(?:DATE__|TIME__|TIMESTAMP__)")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
#: What macros stand for, and whether there are some.
_UNSEEN: Final = re.compile(r"^[ \t]*#[ \t]*(?:define|undef|ifn?def)\b[^\n]*", re.MULTILINE)
#: What a clock's name may begin with, where ``##`` puts it together.
_BEGINNINGS: Final = frozenset(clock[:end] for clock in _CLOCKS for end in range(2, len(clock)))
_BEGINNING: Final = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(_BEGINNINGS))})(?!\w)")
_USE: Final = re.compile(r"\b([A-Za-z_]\w*)\s*\(([^()]*)\)")
_MOST_PIECES: Final = 3


class _Hints(NamedTuple):
    """What of a text may be about a clock."""

    spells: bool
    pastes: bool
    begins: bool


def find_clocks(texts: Mapping[str, str], readings: Readings) -> Iterator[str]:
    """Yield what of texts, by name, would make each build another, with its place; a macro must be used to do so.

    What conditions such as ``#ifndef __CUDACC_RTC__`` keep from NVRTC does not count.
    """
    hints = [readings.of(_hints, text) for text in texts.values()]
    may_paste = any(hint.pastes for hint in hints) and any(hint.begins for hint in hints)
    if not may_paste and not any(hint.spells for hint in hints):
        return
    texts = dict(zip(texts, without_guarded(texts.values()), strict=True))
    if _are_used([_joined(text) for text in texts.values()]):
        for name, text in sorted(texts.items()):
            for found in find_directives(text):
                if found.is_clock:
                    yield f"{_place(name, text, found.start)}: {found.problem}"
    elif may_paste:
        yield from _pasted(texts)


def _hints(text: str) -> _Hints:
    return _Hints(bool(_CLOCK.search(_joined(text))), "##" in text, bool(_BEGINNING.search(text)))


def _joined(text: str) -> str:
    return SPLICE.sub("", text) if "\\" in text else text


def _place(name: str, text: str, start: int) -> str:
    line = text.count("\n", 0, start) + 1
    return f"{name.removeprefix(VIRTUAL_ROOT)}:{line}"


def _are_used(texts: Sequence[str]) -> bool:
    names = _names([text for text in texts if _CLOCK.search(text)], texts)
    telling = [text for text in texts if any(name in text for name in names)]
    return any(names.intersection(_WORD.findall(_UNSEEN.sub(" ", blank_literals(text)))) for text in telling)


def _pasted(texts: Mapping[str, str]) -> Iterator[str]:
    """Yield the macros that put the name of a clock together, of their own words and those of a use."""
    every = "\n".join(map(_joined, texts.values()))
    given = {name: args for name, args in _USE.findall(every) if _BEGINNING.search(args)}
    for name, text in sorted(texts.items()):
        for macro in find_macro_texts(text) if "##" in text else ():
            own = {*_WORD.findall(macro.text)}
            if macro.kind != "define" or "##" not in macro.text or not (own & _BEGINNINGS or macro.name in given):
                continue
            uses = re.findall(rf"\b{macro.name}\s*\(([^()]*)\)", every) if macro.parameters else [""]
            made = (
                clock for args in uses for clock in sorted(_CLOCKS) if _is_made(clock, own | {*_WORD.findall(args)})
            )
            if found := next(made, None):
                yield f"{_place(name, text, macro.place)}: ## makes {found} here, which differs in each build"


def _is_made(clock: str, words: Collection[str], pieces: int = _MOST_PIECES) -> bool:
    """Return whether some words make a name, at least two and each one a part of it."""
    starts = (word for word in words if clock.startswith(word) and (pieces < _MOST_PIECES or len(word) < len(clock)))
    return any(word == clock or (pieces > 1 and _is_made(clock[len(word) :], words, pieces - 1)) for word in starts)


def _names(telling: Sequence[str], texts: Sequence[str]) -> set[str]:
    """Return the words that stand for the time, in the texts that spell it or by the macros of any."""
    users: dict[str, set[str]] = {}
    for text in texts if telling else ():
        for macro in find_macro_texts(text):
            for word in _WORD.findall(macro.text) if macro.kind == "define" else ():
                users.setdefault(word, set()).add(macro.name)
    reached = set(_CLOCKS)
    waiting = [*reached]
    while waiting:
        fresh = users.get(waiting.pop(), set()) - reached
        reached |= fresh
        waiting += fresh
    return reached


def clocks_of_option(name: str, value: str) -> Iterator[str]:
    """Yield what makes an option's macro differ in each build."""
    for directive in find_directives(value):
        if directive.problem:
            yield f"the option define {name}={value}: {directive.problem}"
