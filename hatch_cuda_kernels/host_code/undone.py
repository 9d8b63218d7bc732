"""Macros that a text defines for a part of it, and undoes: elsewhere, their names are words.

``#define inline __device__ __forceinline__``, some functions, ``#undef inline``: what follows has no mark.
"""

from __future__ import annotations

import re
from bisect import bisect
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["local_macros", "without_undone"]

_LINE: Final = re.compile(r"^[ \t]*#[ \t]*(?:(define|undef)[ \t]+(\w+)|include)", re.MULTILINE)


class _Undone(NamedTuple):
    places: tuple[int, ...]
    """Where a macro is defined or undone."""
    names: tuple[frozenset[str], ...]
    """Those that are undone behind each place, and were defined before."""
    local: frozenset[str]
    """Those that are undone at the end, and that no other text could see: none is included where they are defined."""
    defined: frozenset[str]


def without_undone(part: str, text: str, place: int, local: Collection[str]) -> str:
    """Return part of a text without the names of macros that are undone at a place, or ``local`` to other texts."""
    if "undef" not in text and not local:
        return part
    known = _undone(text)
    at = bisect(known.places, place)
    gone = {*(known.names[at - 1] if at else ()), *local} - (known.defined - (known.names[at - 1] if at else set()))
    return re.sub(rf"\b(?:{'|'.join(sorted(gone))})\b", " ", part) if gone else part


def local_macros(texts: Iterable[str]) -> frozenset[str]:
    """Return the macros that mean something only in the texts that define them."""
    known = [_undone(text) for text in texts]
    local = frozenset[str]().union(*(one.local for one in known))
    return local.difference(*(one.defined - one.local for one in known))


@lru_cache(maxsize=4096)
def _undone(text: str) -> _Undone:
    if "undef" not in text:
        return _Undone((), (), frozenset(), frozenset(found[2] for found in _LINE.finditer(text) if found[2]))
    places: list[int] = []
    names: list[frozenset[str]] = []
    defined, undone, seen = set[str](), set[str](), set[str]()
    for line in _LINE.finditer(text):
        name = line[2]
        if not name:
            seen |= defined - undone
        elif line[1] == "define":
            defined.add(name)
            undone.discard(name)
        elif name in defined:
            undone.add(name)
        if name:
            places.append(line.start())
            names.append(frozenset(undone))
    return _Undone(tuple(places), tuple(names), frozenset(undone - seen), frozenset(defined))
