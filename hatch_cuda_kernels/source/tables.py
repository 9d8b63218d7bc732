"""Whether a source has variables of its own that NVRTC would leave in every image, used or not."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from hatch_cuda_kernels.names import VIRTUAL_ROOT, base_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from hatch_cuda_kernels.source.closure import Closure

__all__ = ["defines_tables"]

_ALIGNING: Final = ("__align__", "alignas")
_ALIGNED: Final = re.compile(rf"\b(?:{'|'.join(_ALIGNING)})\s*\([^()]*\)")
_MARKS: Final = ("__constant__", "__device__", "constexpr")
#: A marked declaration up to what follows the name; nothing in parentheses, as that would be a function.
_DECLARED: Final = re.compile(rf"\b({'|'.join(_MARKS)})\b([^;{{}}()=\[]*)(.)?", re.DOTALL)
_WORD: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
#: What follows the name of a table. ``__constant__`` marks nothing but variables, in macros, too.
_FOLLOWS: Final = {"__device__": ";=[", "constexpr": "["}


def defines_tables(closure: Closure, known: Collection[str] = ()) -> bool:
    """Return whether a project file of a closure seems to define a table: a variable for device code, or an array.

    Those in ``known`` stay in the image anyway. Text decides, so it may err. Single constants do not count: each takes
    a few hundred bytes of an image, unpacked.
    """
    names = {base_name(name).rpartition("::")[2] for name in known}
    texts = (text for name, text in closure.headers if name.startswith(VIRTUAL_ROOT))
    return any(_tables(text) - names for text in (closure.source, *texts))


@lru_cache(4096)
def _tables(text: str) -> frozenset[str]:
    """Return the names of a text's tables, one of them empty where a macro hides it; modules share headers."""
    if any(word in text for word in _ALIGNING):
        text = _ALIGNED.sub(" ", text)
    return frozenset(name for declared in _declared(text) if (name := _table(*declared.groups())) is not None)


def _declared(text: str) -> Iterator[re.Match[str]]:
    """Yield what ``_DECLARED`` finds. Searching for the marks as words takes a fraction of its time."""
    end = 0
    for place in sorted(place for mark in _MARKS for place in _places(mark, text)):
        if place >= end and (found := _DECLARED.match(text, place)):
            yield found
            end = found.end()


def _places(word: str, text: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + len(word))


def _table(mark: str, middle: str, after: str | None) -> str | None:
    words = _WORD.findall(middle)
    if "operator" in words or (mark in _FOLLOWS and (not after or after not in _FOLLOWS[mark])):
        return None
    return words[-1] if words else ""
